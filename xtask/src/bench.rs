//! `cargo xtask bench ingest`: what a user waits and pays for, from file to finished report, beside inflating the same bytes,
//! passing over their JSON, and the peers. `cargo xtask bench clock`: how well clocks are synchronised. `cargo xtask bench
//! record`: what a span costs. `cargo xtask bench align`: how fast ranks come on to one clock. `cargo xtask bench dispatch`: what
//! plans for context-parallel attention cost. `cargo xtask bench overhead`: what a job pays for being watched. `cargo xtask bench
//! scale`: what a report of many ranks and many collectives costs, by the row. `cargo xtask bench merge`: the same of parts that
//! are merged. `cargo xtask bench tables`: what tables of operators and kernels add to a report. `cargo xtask bench dataset`:
//! what a dataset adds, and what a row takes. `cargo xtask bench compare`: how often comparisons are wrong. `cargo xtask bench
//! live`: how good alarms about running jobs are. `cargo xtask bench devices`: what a callback of NCCL's plugin takes, and what
//! it takes to sample a node's counters. `cargo xtask bench page`: how large pages are, and how fast they are shown and served.
//! `cargo xtask bench stores`: what a store costs beside the disk. `cargo xtask bench dist`: what Ray adds to a task.
//!
//! Every program runs as a child and is judged by its wall clock, its processor time and its peak memory. The inputs are made
//! once and kept in `target/bench`: with a corpus, a real trace repeated in time; without, a synthetic job of the same size.

mod align;
mod answers;
mod child;
mod clock;
mod compare;
mod dataset;
mod devices;
mod dispatch;
mod dist;
mod floor;
mod inputs;
mod live;
mod merge;
mod overhead;
mod page;
mod peers;
mod record;
mod repeat;
mod scale;
mod stores;
mod table;
mod tables;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::Value;

use crate::cargo;
use child::Cost;
use floor::Floor;
use inputs::Input;

/// Options of `cargo xtask bench`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Time complete reports of large traces.
    Ingest(OfTraces),
    /// Judge the clock synchronisation against clocks whose truth is known.
    Clock(clock::Args),
    /// Time the recorder, beside the floor of this machine and beside other recorders.
    Record(record::Args),
    /// Time callbacks of the plugin of NCCL, as NCCL calls it.
    Devices(devices::Args),
    /// Time putting ranks on one clock and into one file, beside other programs that make one file of ranks.
    Align(align::Args),
    /// Time plans for context-parallel attention, and weigh them against the original's.
    Dispatch(dispatch::Args),
    /// Run jobs bare and under rankscope, and tell what that costs them.
    Overhead(overhead::Args),
    /// Report on jobs of many ranks and many collectives, and tell what one rank's part in one collective costs.
    Scale(scale::Args),
    /// Merge parts of as many ranks as one likes, made for it, and tell what a row costs.
    Merge(merge::Args),
    /// Time reports with tables of operators and kernels, and with the workbook.
    Tables(OfTraces),
    /// Time reports that also write a dataset of Parquet files, and weigh its rows.
    Dataset(OfTraces),
    /// Weigh pages of jobs of 8 to 1,024 ranks, and time how a browser shows them and how runs are served.
    Page(page::Args),
    /// Simulate comparisons whose truth is known, and tell how often they are wrong.
    Compare(compare::Args),
    /// Time reports with and without answers about causes, and tell how often the first advice is right.
    Answers(answers::Args),
    /// Simulate running jobs whose truth is known, and tell how often alarms are wrong and how long they take.
    Live(live::Args),
    /// Report on traces in a store on this machine, beside the same files.
    Stores(stores::Args),
    /// Map small traces by tasks of Ray on this machine, and tell what it adds to each.
    Dist(dist::Args),
    /// Write the benchmark's inputs. In a process of its own, because a child's peak memory begins with its parent's.
    #[command(hide = true)]
    Prepare { folder: PathBuf, which: String },
}

/// Options of `cargo xtask bench ingest`, `tables` and `dataset`.
#[derive(clap::Args)]
struct OfTraces {
    /// Traces, or directories of traces, to use instead of the made ones.
    files: Vec<PathBuf>,
    /// `json` for one document on stdout, anything else for a Markdown table.
    #[arg(long, default_value = "table")]
    format: String,
    /// Measure each input this many times; the median counts.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Run the peers too, where their pythons are named by RANKSCOPE_PEERS_TRACELENS and RANKSCOPE_PEERS_HTA. Takes minutes.
    #[arg(long)]
    peers: bool,
    /// Measure this program instead of building target/release/rankscope.
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// What is printed with `--format json`.
#[derive(Serialize)]
pub(crate) struct Outcome {
    pub(crate) inputs: Vec<Measured>,
}

/// One input, measured.
#[derive(Serialize)]
pub(crate) struct Measured {
    pub(crate) file: String,
    /// What no reader does without.
    #[serde(flatten)]
    pub(crate) floor: Floor,
    /// As the report counts them; absent where there was no report.
    pub(crate) events: Option<u64>,
    /// Wall clock of the median run.
    pub(crate) seconds: Option<f64>,
    pub(crate) seconds_min: Option<f64>,
    /// Processor time of the median run, all threads.
    pub(crate) cpu_seconds: Option<f64>,
    /// Of the hungriest run, in decimal megabytes.
    pub(crate) peak_mb: Option<f64>,
    pub(crate) runs: usize,
    /// Why there is no report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    pub(crate) peers: BTreeMap<&'static str, Cost>,
}

/// Runs the benchmark.
pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.what {
        What::Prepare { folder, which } if which == SIXTEEN => inputs::make_sixteen(folder),
        What::Prepare { folder, which } if which == SIDES => inputs::make_sides(folder).map(drop),
        What::Prepare { folder, which } if which == WIDE => compare::wide::make(folder),
        What::Prepare { folder, .. } => inputs::make(folder),
        What::Align(args) => align::run(args),
        What::Dispatch(args) => dispatch::run(args),
        What::Overhead(args) => overhead::run(args),
        What::Scale(args) => scale::run(args),
        What::Merge(args) => merge::run(args),
        What::Tables(args) => tables::run(args),
        What::Dataset(args) => dataset::run(args),
        What::Compare(args) => compare::run(args),
        What::Answers(args) => answers::run(args),
        What::Live(args) => live::run(args),
        What::Ingest(args) => ingest(args),
        What::Clock(args) => clock::run(args),
        What::Record(args) => record::run(args),
        What::Devices(args) => devices::run(args),
        What::Page(args) => page::run(args),
        What::Stores(args) => stores::run(args),
        What::Dist(args) => dist::run(args),
    }
}

/// The program to measure, built unless it is `given`, and the folder for inputs.
fn at_hand(given: Option<&Path>) -> Result<(PathBuf, PathBuf)> {
    let target = cargo::metadata()?.target_directory;
    let binary = match given {
        Some(binary) => binary.to_owned(),
        None => cargo::release_binary(&target)?,
    };
    let folder = target.join("bench");
    fs::create_dir_all(&folder).with_context(|| format!("failed to create {}", folder.display()))?;
    Ok((binary, folder))
}

impl OfTraces {
    /// The program to measure, the folder for what it writes, and the inputs.
    fn prepared(&self) -> Result<(PathBuf, PathBuf, Vec<Input>)> {
        let (binary, folder) = at_hand(self.binary.as_deref())?;
        let given = || self.files.iter().map(|file| Input::given(file)).collect();
        let inputs = if self.files.is_empty() { made(&folder)? } else { given() };
        Ok((binary, folder, inputs))
    }
}

fn ingest(args: &OfTraces) -> Result<()> {
    let (binary, folder, inputs) = args.prepared()?;
    let mut measured = Vec::new();
    for input in &inputs {
        eprintln!("measuring {}", input.path.display());
        let mut result = measure(input, &binary, args.runs.max(1), &folder)?;
        if args.peers {
            result.peers = peers::measure(&peers::REPORTS, input, &folder)?;
        }
        measured.push(result);
    }
    let outcome = Outcome { inputs: measured };
    if args.format == "json" {
        println!("{}", serde_json::to_string(&outcome)?);
    } else {
        print!("{}", table::markdown(&outcome));
    }
    let failed = outcome.inputs.iter().filter(|input| input.error.is_some()).count();
    if failed > 0 {
        bail!("{failed} of {} inputs gave no report", outcome.inputs.len());
    }
    Ok(())
}

/// The made inputs, in a child process if they are not there yet.
fn made(folder: &Path) -> Result<Vec<Input>> {
    let inputs = inputs::all(folder);
    if inputs.iter().any(|input| !input.path.exists()) {
        prepare(folder, REPORTED)?;
    }
    Ok(inputs)
}

/// The traces that are reported on.
const REPORTED: &str = "reported";
/// The ranks that are combined.
const SIXTEEN: &str = "sixteen";
/// The two runs that are compared.
const SIDES: &str = "sides";
/// Those of a thousand ranks.
const WIDE: &str = "wide";

/// Two runs of eight ranks, made in `folder` if they are not there.
fn sides(folder: &Path) -> Result<[PathBuf; 2]> {
    prepare(folder, SIDES)?;
    inputs::make_sides(folder)
}

/// Makes inputs in a process of its own.
fn prepare(folder: &Path, which: &str) -> Result<()> {
    let status = Command::new(crate::cargo::myself()?).args(["bench", "prepare"]).arg(folder).arg(which).status();
    if !status.context("failed to start the input maker")?.success() {
        bail!("the benchmark's inputs could not be made in {}", folder.display());
    }
    Ok(())
}

fn measure(input: &Input, binary: &Path, runs: usize, folder: &Path) -> Result<Measured> {
    let floor = floor::of(input)?;
    let mut costs = Vec::new();
    let mut document = Err("not run".to_owned());
    for _ in 0..runs {
        let (cost, outcome) = report(binary, &input.path, folder, &[])?;
        document = outcome;
        if document.is_err() {
            break;
        }
        costs.push(cost);
    }
    costs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let median = costs.get(costs.len() / 2);
    Ok(Measured {
        file: input.name.clone(),
        floor,
        events: document.as_ref().ok().map(events),
        seconds: median.map(|cost| cost.seconds),
        seconds_min: costs.first().map(|cost| cost.seconds),
        cpu_seconds: median.map(|cost| cost.cpu_seconds),
        peak_mb: costs.iter().map(|cost| cost.peak_mb).max_by(f64::total_cmp),
        runs: costs.len(),
        error: document.err(),
        peers: BTreeMap::new(),
    })
}

/// One report with more `options`: what it cost, and its document or the last thing it said.
fn report(binary: &Path, input: &Path, folder: &Path, options: &[&str]) -> Result<(Cost, Result<Value, String>)> {
    let (out, stdout, stderr) = (folder.join("report"), folder.join("report.stdout"), folder.join("report.stderr"));
    let mut command = Command::new(binary);
    command.arg("report").arg(input).arg("--out").arg(&out).args(["--format", "json"]).args(options);
    command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
    let (cost, status) = child::run(&mut command).with_context(|| format!("failed to run {}", binary.display()))?;
    let said = fs::read_to_string(&stderr).unwrap_or_default();
    let last = said.lines().last().unwrap_or("nothing on stderr").to_owned();
    let document = match status {
        0 => serde_json::from_reader(File::open(&stdout)?).map_err(|error| format!("the report is no JSON: {error}")),
        code => Err(format!("exit code {code}: {last}")),
    };
    Ok((cost, document))
}

fn events(document: &Value) -> u64 {
    let ranks = document["ranks"].as_array().map(Vec::as_slice).unwrap_or_default();
    ranks.iter().filter_map(|rank| rank["events"].as_u64()).sum()
}
