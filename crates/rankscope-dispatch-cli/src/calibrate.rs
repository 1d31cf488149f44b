//! `rankscope dispatch calibrate`: what a network costs, out of what benchmarks measured on it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rankscope_cli::ExitCode;
use rankscope_cli::job::{Bar, MeasuredArgs, request_by};
use rankscope_cli::output::{self, Format};
use rankscope_dispatch::network::calibrate::{Calibrated, Errors, Operation, Samples, read};
use rankscope_dispatch::network::{Level, Network};
use rankscope_job::{ClockChoice, Job};
use rankscope_pipeline::judged;
use rankscope_plan_files::{calibrated, network};
use rankscope_report::{bytes, columns, duration};
use rankscope_run::{SideFile, read_side, write_file};

use crate::paths;

/// Fit a network's costs to nccl-tests or OSU output
///
/// Each file is the whole output of one benchmark (all_reduce_perf, all_gather_perf, alltoall_perf, sendrecv_perf; osu_alltoallv,
/// osu_latency, osu_bw), header included. A benchmark on one host tells what the node costs, on several hosts the network
/// between them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Outputs of benchmarks
    #[arg(value_name = "FILE", required_unless_present = "trace")]
    files: Vec<PathBuf>,
    /// A run whose collectives were recorded: its traces, or its run directory
    #[arg(long, value_name = "RUN")]
    trace: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// The network that provides the levels that were not measured, and the placement of ranks: a preset or a network file
    #[arg(long, value_name = "NETWORK")]
    onto: Option<String>,
    /// Write the network to a file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// What a benchmark's header may leave open.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Reading {
    /// The operation that was measured, where the files do not say: all_reduce, all_gather, reduce_scatter, all_to_all or send_receive
    #[arg(long, value_name = "NAME", value_parser = operation)]
    operation: Option<Operation>,
    /// Number of ranks that took part, where the files do not say
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    benchmark_ranks: Option<u32>,
    /// The level that was measured [default: node on one host, rail on several]
    #[arg(long, value_enum)]
    level: Option<LevelArg>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LevelArg {
    /// Within a node
    Node,
    /// Through one leaf switch
    Rail,
    /// Between leaf switches
    Spine,
}

fn operation(name: &str) -> Result<Operation, String> {
    Operation::of_name(name)
        .ok_or_else(|| "the names are all_reduce, all_gather, reduce_scatter, all_to_all, send_receive".to_owned())
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let onto = args.onto.as_deref().map(paths::network).transpose()?.map(|known| known.network);
    let (files, calibrated) = calibrated(&args.files, &args.trace, &args.reading, onto)?;
    if let Some(path) = &args.output {
        let text = network::text(&calibrated.network, calibrated::source(&files));
        write_file(path, |file| Ok::<(), anyhow::Error>(file.write_all(text.as_bytes())?))
            .with_context(|| path.display().to_string())?;
    }
    output::answer(&match args.format {
        Format::Json => calibrated::document(&files, &calibrated).to_string(),
        Format::Table => drawn(&files, &calibrated),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// What `files` and `runs` measured, and the network that follows; levels that were not measured are `onto`'s.
pub(crate) fn calibrated(
    files: &[PathBuf],
    runs: &[PathBuf],
    reading: &Reading,
    onto: Option<Network>,
) -> Result<(Vec<(String, Samples)>, Calibrated)> {
    let mut samples: Vec<(String, Samples)> = Vec::new();
    for file in files {
        let name = file.display().to_string();
        let text = read_side(file, SideFile::Dispatch)?;
        let text = String::from_utf8_lossy(&text);
        samples.push((name.clone(), read(&text, reading.operation, reading.benchmark_ranks).with_context(|| name)?));
    }
    for run in runs {
        let name = run.display().to_string();
        let measured = rankscope_plan_traces::samples(&job_of(run)?).with_context(|| name.clone())?;
        samples.extend(measured.into_iter().map(|measured| (name.clone(), measured)));
    }
    let measured: Vec<&Samples> = samples.iter().map(|(_, samples)| samples).collect();
    let calibrated = Calibrated::fit(&measured, reading.level.map(Level::from), onto)?;
    Ok((samples, calibrated))
}

/// The job whose run is at `path`, each rank on its own clock.
fn job_of(path: &Path) -> Result<Job> {
    let mut request = request_by(&[path.to_owned()], true, &MeasuredArgs::default(), ClockChoice::AsRecorded);
    request.judging.one_file_a_rank = true;
    Ok(judged(&request, &Bar::default()).with_context(|| path.display().to_string())?.job)
}

impl From<LevelArg> for Level {
    fn from(level: LevelArg) -> Self {
        match level {
            LevelArg::Node => Self::Node,
            LevelArg::Rail => Self::Rail,
            LevelArg::Spine => Self::Spine,
        }
    }
}

fn drawn(files: &[(String, Samples)], calibrated: &Calibrated) -> String {
    let style = output::style();
    let rows = files.iter().map(|(name, samples)| {
        let hosts = samples.hosts.map_or_else(|| "?".to_owned(), |hosts| hosts.to_string());
        let (ranks, rows) = (samples.ranks.to_string(), samples.rows.len().to_string());
        vec![name.clone(), samples.operation.as_str().to_owned(), ranks, hosts, rows]
    });
    let mut text = columns(&["file", "operation", "ranks", "hosts", "rows"], rows.collect(), style);
    let percent = |errors: &Errors| format!("{:.1} %, {:.1} %", 100.0 * errors.mean, 100.0 * errors.worst);
    let levels = calibrated.levels.iter().map(|(level, fit)| {
        vec![
            level.as_str().to_owned(),
            duration(fit.base.as_nanos() as f64),
            duration(fit.cost.alpha.as_nanos() as f64),
            format!("{:.1} GB/s", fit.cost.bytes_per_second as f64 / 1e9),
            bytes(fit.bulk_bytes),
            percent(&fit.fitted),
            fit.held_out.as_ref().map_or_else(|| "–".to_owned(), percent),
        ]
    });
    text.push('\n');
    let head = ["level", "an exchange", "a message", "a port", "from", "error mean, worst", "on rows held out"];
    text.push_str(&columns(&head, levels.collect(), style));
    for (level, fit) in &calibrated.levels {
        for row in &fit.outliers {
            let _ = write!(
                text,
                "\nlevel {}: line {} ({}) is {:.0} % off the line and was left out",
                level.as_str(),
                row.place,
                bytes(row.size_bytes),
                100.0 * row.error.abs()
            );
        }
    }
    text
}
