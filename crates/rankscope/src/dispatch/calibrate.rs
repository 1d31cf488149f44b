//! `rankscope dispatch calibrate`: what a network costs, out of what benchmarks measured on it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use rankscope_dispatch::network::calibrate::{Calibration, Errors, Operation, Sample, Samples, calibrate, read};
use rankscope_dispatch::network::{Level, Network, Topology};
use rankscope_plan_files::network;
use rankscope_report::{bytes, columns, duration};
use rankscope_run::{SideFile, read_side, write_file};
use serde_json::{Value, json};

use super::{calibrate_trace, paths};
use crate::output::{self, Format};

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
    let calibrated = Calibrated::from_files(&args.files, &args.trace, &args.reading, onto)?;
    if let Some(path) = &args.output {
        let text = network::text(&calibrated.network, calibrated.source());
        write_file(path, |file| Ok::<(), anyhow::Error>(file.write_all(text.as_bytes())?))
            .with_context(|| path.display().to_string())?;
    }
    output::answer(&match args.format {
        Format::Json => calibrated.document()?.to_string(),
        Format::Table => calibrated.drawn(),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A network whose costs were measured.
#[derive(Debug)]
pub(crate) struct Calibrated {
    pub(crate) network: Network,
    /// By level, what was fitted.
    levels: Vec<(Level, Calibration)>,
    files: Vec<(String, Samples)>,
}

impl Calibrated {
    /// Fits every level that `files` and `runs` measured; the others are `onto`'s, or like the nearest that was.
    pub(crate) fn from_files(files: &[PathBuf], runs: &[PathBuf], reading: &Reading, onto: Option<Network>) -> Result<Self> {
        let mut samples: Vec<(String, Samples)> = Vec::new();
        for file in files {
            let name = file.display().to_string();
            let text = read_side(file, SideFile::Dispatch)?;
            let text = String::from_utf8_lossy(&text);
            samples.push((name.clone(), read(&text, reading.operation, reading.benchmark_ranks).with_context(|| name)?));
        }
        for run in runs {
            let name = run.display().to_string();
            let measured = calibrate_trace::samples(run).with_context(|| name.clone())?;
            samples.extend(measured.into_iter().map(|measured| (name.clone(), measured)));
        }
        let mut levels = Vec::new();
        for level in Level::ALL {
            let of_level = samples.iter().filter(|(_, samples)| level_of(samples, reading.level) == level);
            let rows: Vec<Sample> = of_level.flat_map(|(_, samples)| samples.rows.iter().copied()).collect();
            if !rows.is_empty() {
                levels.push((level, calibrate(&rows).with_context(|| format!("level {}", level.as_str()))?));
            }
        }
        let Some(network) = fitted(&levels, &samples, onto) else { bail!("no file was given") };
        Ok(Self { network, levels, files: samples })
    }

    fn source(&self) -> String {
        let files: Vec<&str> = self.files.iter().map(|(name, _)| name.as_str()).collect();
        format!("calibrated from {}", files.join(", "))
    }

    fn document(&self) -> Result<Value> {
        let network = network::value(&self.network, self.source());
        let errors = |errors: &Errors| json!({"rows": errors.rows, "mean": errors.mean, "worst": errors.worst, "worst_line": errors.worst_place});
        let level = |(level, fit): &(Level, Calibration)| {
            json!({
                "level": level.as_str(),
                "base_ns": fit.base.as_nanos(),
                "alpha_ns": fit.cost.alpha.as_nanos(),
                "bytes_per_second": fit.cost.bytes_per_second,
                "bulk_bytes": fit.bulk_bytes,
                "fitted": errors(&fit.fitted),
                "held_out": fit.held_out.as_ref().map(errors),
                "held_out_small": fit.held_out_small.as_ref().map(errors),
                "outliers": fit.outliers.iter().map(|row| json!({
                    "line": row.place, "size_bytes": row.size_bytes, "error": row.error,
                })).collect::<Vec<_>>(),
            })
        };
        let file = |(name, samples): &(String, Samples)| json!({"file": name, "operation": samples.operation.as_str(), "ranks": samples.ranks, "hosts": samples.hosts, "rows": samples.rows.len()});
        Ok(json!({
            "schema": 1,
            "files": self.files.iter().map(file).collect::<Vec<_>>(),
            "levels": self.levels.iter().map(level).collect::<Vec<_>>(),
            "network": network,
        }))
    }

    fn drawn(&self) -> String {
        let style = output::style();
        let files = self.files.iter().map(|(name, samples)| {
            let hosts = samples.hosts.map_or_else(|| "?".to_owned(), |hosts| hosts.to_string());
            let (ranks, rows) = (samples.ranks.to_string(), samples.rows.len().to_string());
            vec![name.clone(), samples.operation.as_str().to_owned(), ranks, hosts, rows]
        });
        let mut text = columns(&["file", "operation", "ranks", "hosts", "rows"], files.collect(), style);
        let percent = |errors: &Errors| format!("{:.1} %, {:.1} %", 100.0 * errors.mean, 100.0 * errors.worst);
        let levels = self.levels.iter().map(|(level, fit)| {
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
        for (level, fit) in &self.levels {
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
}

fn level_of(samples: &Samples, told: Option<LevelArg>) -> Level {
    match told {
        Some(LevelArg::Node) => Level::Node,
        Some(LevelArg::Rail) => Level::Rail,
        Some(LevelArg::Spine) => Level::Spine,
        None if samples.hosts.is_some_and(|hosts| hosts > 1) => Level::Rail,
        None => Level::Node,
    }
}

fn fitted(levels: &[(Level, Calibration)], samples: &[(String, Samples)], onto: Option<Network>) -> Option<Network> {
    let (_, first) = levels.first()?;
    let mut network = onto.unwrap_or_else(|| {
        // Ranks of a node are known from a benchmark that ran on several.
        let several = samples.iter().find_map(|(_, one)| one.hosts.filter(|hosts| *hosts > 1).map(|hosts| one.ranks / hosts));
        let ranks_per_node = several.unwrap_or(Topology::ONE_NODE.ranks_per_node).max(1);
        let cost = || first.cost.clone();
        let topology = Topology { ranks_per_node, ..Topology::ONE_NODE };
        Network { topology, base: first.base, node: cost(), rail: cost(), spine: cost() }
    });
    for (level, fit) in levels {
        match level {
            Level::Node => network.node = fit.cost.clone(),
            Level::Rail => (network.rail, network.spine) = (fit.cost.clone(), fit.cost.clone()),
            Level::Spine => network.spine = fit.cost.clone(),
        }
    }
    network.base = levels.iter().map(|(_, fit)| fit.base).max()?;
    Some(network)
}
