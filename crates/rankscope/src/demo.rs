//! `rankscope demo`: a distributed job on this machine, on clocks that are wrong in a known way, and what becomes of it.
//!
//! Ranks and clock agents are processes of their own, on the real recorder, the real network stack and real time; only the
//! hosts' clocks are bent, by this process, which therefore knows the truth and tells how far everything is from it.

#[path = "../../rankscope-demo/src/clocks.rs"]
mod clocks;
#[path = "../../rankscope-demo/src/comm.rs"]
mod comm;
#[path = "../../rankscope-demo/src/document.rs"]
mod document;
#[path = "../../rankscope-demo/src/fleet.rs"]
mod fleet;
#[path = "../../rankscope-demo/src/folder.rs"]
mod folder;
#[path = "../../rankscope-demo/src/hosts.rs"]
mod hosts;
#[path = "../../rankscope-demo/src/rank.rs"]
pub(crate) mod rank;
#[path = "../../rankscope-demo/src/ring.rs"]
mod ring;
#[path = "../../rankscope-demo/src/job.rs"]
mod stage;
mod terminal;
#[path = "../../rankscope-demo/src/truth.rs"]
mod truth;
#[path = "../../rankscope-demo/src/verdict.rs"]
mod verdict;
#[path = "../../rankscope-demo/src/work.rs"]
mod work;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::clock::watch;
use crate::output::{self, Format};
use clocks::Clocks;
use folder::Folder;
use hosts::{Host, hosts};
use stage::{Cast, Stage};
use truth::Watch;

/// Try it out: four ranks with skewed clocks on this machine, checked against the truth.
///
/// Each rank is a process that acts as a host of its own: it computes, all-reduces over the loopback and records itself. Its
/// clock is milliseconds off and drifts, as drawn from --seed, and one rank is slow. Clock agents measure the offsets, and all
/// traces are put on one clock. The true clocks are known here, so the error of every event is printed next to the guaranteed
/// bound. The demo needs no cluster, GPU or privileges, and leaves a run directory for you to explore.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of ranks, each on a simulated host of its own
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=16))]
    ranks: u32,
    /// How long to train
    #[arg(long, default_value_t = 7.0)]
    seconds: f64,
    /// Seed of the clocks, the work and the choice of the slow rank
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The run directory; replaces an older demo there [default: rankscope-demo-SEED]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Where each rank runs, in their order: network namespace, interface and address
    #[arg(long = "host", value_name = "NETNS,IF,ADDRESS", hide = true)]
    hosts: Vec<Host>,
}

/// Shorter, and no clock is measured twice; longer, and nobody waits for it.
const SECONDS: std::ops::RangeInclusive<f64> = 2.0..=600.0;

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    ensure!(SECONDS.contains(&args.seconds), "--seconds {}: between {} and {}", args.seconds, SECONDS.start(), SECONDS.end());
    let begun = Instant::now();
    let interrupted = watch::stop_signals()?;
    let path = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("rankscope-demo-{}", args.seed)));
    let hosts = hosts(&args.hosts, args.ranks)?;
    let cast = Cast::draw(hosts, args.seed, Duration::from_secs_f64(args.seconds));
    let mut folder = Folder::create(&path, &cast)?;
    if args.format == Format::Table {
        let ranks = args.ranks;
        output::remark(&format!(
            "{ranks} ranks train for {} s, each on its own clock; {ranks} agents measure the clocks ...",
            args.seconds
        ));
    }
    let clocks = Clocks::draw(args.ranks, args.seed)?;
    let watch = Watch::start()?;
    let recorded = Stage::set(&folder, &cast, &clocks, &interrupted)?.play(&mut folder)?;
    let truth = watch.end(clocks)?;
    let findings = folder.conclude()?;
    let verdict = verdict::judge(folder.path(), recorded, truth).context("the demo cannot check its own run")?;
    let story = document::Story::new(&cast, verdict, findings, &folder, begun.elapsed());
    folder.keep(&story)?;
    output::answer(&match args.format {
        Format::Json => serde_json::to_string(&story)?,
        Format::Table => terminal::draw(&story, output::style()),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// What the host of a rank is called.
fn host_name(rank: u32) -> String {
    format!("demo-host-{rank}")
}
