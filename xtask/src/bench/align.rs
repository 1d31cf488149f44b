//! `cargo xtask bench align`: how fast events move to one clock, in memory and from file to file, and what that takes, beside
//! other programs that put ranks into one file.
//!
//! In memory ten million spans go through a map of two stages with as many knots as an hour of snapshots and windows has. From
//! file to file sixteen compressed ranks of together ten million events become one timeline. The peers get two of those ranks
//! and so do we: their memory would not hold more. None of them moves a clock.

mod moving;
mod peers;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Serialize;

use super::child::{self, Cost};
use super::floor::{self, Floor};
use super::inputs;

/// Options of `cargo xtask bench align`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// `json` for one document on stdout, anything else for a Markdown table.
    #[arg(long, default_value = "table")]
    format: String,
    /// Measure so many times; the median counts.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Run the peers too, where their pythons are named by RANKSCOPE_PEERS_VIZTRACER and RANKSCOPE_PEERS_TRACELENS. Takes minutes.
    #[arg(long)]
    peers: bool,
    /// Measure this program instead of building target/release/rankscope.
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// What is printed with `--format json`.
#[derive(Serialize)]
struct Outcome {
    /// Events moved in memory in a second, on all cores.
    events_per_s: f64,
    /// The same on one core.
    events_per_s_one_core: f64,
    cores: usize,
    /// Events in the sixteen files.
    events: u64,
    /// From sixteen files to one timeline.
    end_to_end: Cost,
    end_to_end_events_per_s: f64,
    /// Of the sixteen files, on one thread.
    floor: Floor,
    /// Of `end_to_end`.
    peak_mb: f64,
    /// The same in memory that does not hold all of them, so that each is read twice.
    in_little_memory: Cost,
    /// Two of the ranks into one JSON file, by each program.
    peers: BTreeMap<&'static str, Cost>,
}

/// Runs the benchmark.
pub(crate) fn run(args: &Args) -> Result<()> {
    let runs = args.runs.max(1);
    let (binary, folder) = super::at_hand(args.binary.as_deref())?;
    let ranks = inputs::sixteen(&folder);
    if !ranks.iter().all(|rank| rank.exists()) {
        super::prepare(&folder, super::SIXTEEN)?;
    }
    let out = folder.join("combined");
    std::fs::create_dir_all(&out).with_context(|| format!("failed to create {}", out.display()))?;
    eprintln!("combining {} ranks", ranks.len());
    let timeline = out.join("all.pftrace");
    let end_to_end = median(runs, || combine(&binary, &ranks, &[], &timeline))?;
    let in_little_memory = median(runs, || combine(&binary, &ranks, &LITTLE_MEMORY, &timeline))?;
    let events = count(&binary, &ranks, &out)?;
    let floor = floor::of_files(&ranks)?;
    let mut peers = BTreeMap::new();
    if args.peers {
        let two = &ranks[..2];
        peers.insert("rankscope", median(runs, || combine(&binary, two, &[], &out.join("two.json")))?);
        peers.extend(peers::measure(two, &out)?);
    }
    eprintln!("moving {} spans in memory", moving::SPANS);
    let moved = moving::measure(runs)?;
    let outcome = Outcome {
        events_per_s: moved.all_cores,
        events_per_s_one_core: moved.one_core,
        cores: moved.cores,
        events,
        end_to_end,
        end_to_end_events_per_s: events as f64 / end_to_end.seconds,
        floor,
        peak_mb: end_to_end.peak_mb,
        in_little_memory,
        peers,
    };
    match args.format.as_str() {
        "json" => println!("{}", serde_json::to_string(&outcome)?),
        _ => print!("{}", markdown(&outcome)),
    }
    Ok(())
}

/// The run of median wall clock.
fn median(runs: usize, mut run: impl FnMut() -> Result<Cost>) -> Result<Cost> {
    let mut costs = (0..runs).map(|_| run()).collect::<Result<Vec<Cost>>>()?;
    costs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Ok(costs[costs.len() / 2])
}

/// Room for a few of the ranks.
const LITTLE_MEMORY: [&str; 2] = ["--memory", "300MB"];

fn combine(binary: &Path, ranks: &[PathBuf], options: &[&str], to: &Path) -> Result<Cost> {
    let mut command = Command::new(binary);
    command.arg("combine").args(ranks).args(options).arg("-o").arg(to);
    succeed(&mut command, to)
}

/// What `command` cost; it must succeed. What it says goes beside `out`.
fn succeed(command: &mut Command, out: &Path) -> Result<Cost> {
    let log = out.with_extension("log");
    command.stdout(File::create(&log)?).stderr(File::options().append(true).open(&log)?);
    match child::run(command)? {
        (cost, 0) => Ok(cost),
        (_, code) => bail!("exit code {code}; see {}", log.display()),
    }
}

/// How many events the files hold, as an alignment counts them.
fn count(binary: &Path, ranks: &[PathBuf], out: &Path) -> Result<u64> {
    let to = out.join("alignment.json");
    let mut command = Command::new(binary);
    command.arg("align").args(ranks).args(["--as-recorded", "--format", "json"]).stdout(File::create(&to)?);
    let (_, code) = child::run(&mut command)?;
    if code != 0 {
        bail!("the ranks cannot be aligned: exit code {code}");
    }
    let document: serde_json::Value = serde_json::from_reader(File::open(&to)?)?;
    let ranks = document["ranks"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(ranks.iter().filter_map(|rank| rank["events"].as_u64()).sum())
}

fn markdown(outcome: &Outcome) -> String {
    let million = |per_s: f64| per_s / 1e6;
    let mut text = format!(
        "| what | wall s | CPU s | peak MB | million events/s |\n|---|--:|--:|--:|--:|\n\
         | moving in memory, {} cores | | | | {:.1} |\n| moving in memory, one core | | | | {:.1} |\n\
         | 16 ranks, {:.1} million events, to one timeline | {:.2} | {:.2} | {:.0} | {:.2} |\n",
        outcome.cores,
        million(outcome.events_per_s),
        million(outcome.events_per_s_one_core),
        outcome.events as f64 / 1e6,
        outcome.end_to_end.seconds,
        outcome.end_to_end.cpu_seconds,
        outcome.peak_mb,
        million(outcome.end_to_end_events_per_s),
    );
    let Cost { seconds, cpu_seconds, peak_mb } = outcome.in_little_memory;
    text.push_str(&format!("| the same with --memory 300MB | {seconds:.2} | {cpu_seconds:.2} | {peak_mb:.0} | |\n"));
    let Floor { inflate_seconds, skip_seconds, .. } = outcome.floor;
    text.push_str(&format!("| inflating alone, one thread | {inflate_seconds:.2} | | | |\n"));
    text.push_str(&format!("| passing over the JSON alone, one thread | {skip_seconds:.2} | | | |\n"));
    for (name, cost) in &outcome.peers {
        let Cost { seconds, cpu_seconds, peak_mb } = cost;
        text.push_str(&format!("| two ranks to one JSON, {name} | {seconds:.2} | {cpu_seconds:.2} | {peak_mb:.0} | |\n"));
    }
    text
}
