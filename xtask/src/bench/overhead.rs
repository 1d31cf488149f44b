//! `cargo xtask bench overhead`: what `rankscope run` and the recorder cost a job.
//!
//! Jobs of four ranks run bare, under `rankscope run`, and recorded, there and back again, round after round, so that whatever
//! else the machine does meets all of them. Every run says how long its own steps took and what they cost; each is compared with
//! the bare one of its round, and the rounds give an interval that assumes no distribution ([`interval`]). Where that is too wide
//! to tell, it is said. System calls are counted, not timed, and do not depend on the load ([`calls`]).

mod calls;
mod interval;
mod job;
mod table;

use anyhow::Result;
use serde::Serialize;

use crate::cargo;
use calls::Calls;
use interval::Interval;
use job::{Figures, Job, Way};

/// Options of `cargo xtask bench overhead`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// `json` for one document on stdout, anything else for a Markdown table.
    #[arg(long, default_value = "table")]
    format: String,
    /// Rounds; each runs every job once in every way.
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// Measure this rankscope instead of building target/release/rankscope.
    #[arg(long)]
    binary: Option<std::path::PathBuf>,
}

/// What is printed with `--format json`.
#[derive(Serialize)]
struct Outcome {
    rounds: usize,
    jobs: Vec<Measured>,
    /// Jobs that could not be run here, and why.
    skipped: Vec<String>,
}

/// One job in all its ways.
#[derive(Serialize)]
struct Measured {
    job: &'static str,
    /// Of the bare runs, medians.
    bare: Figures,
    ways: Vec<Cost>,
    /// Of a rank's own thread, a step; or why they could not be counted.
    calls: Result<Vec<Calls>, String>,
}

/// One way to run a job, against running it bare.
#[derive(Serialize)]
struct Cost {
    way: Way,
    /// Of a step of the first rank, in the middle of all steps.
    step: Interval,
    /// From the first step to the last.
    whole_loop: Interval,
    /// Processor time of all ranks in it.
    cpu: Interval,
    /// Processor time of everything else, from start to end, in the middle of all runs, in seconds.
    beside_cpu_s: f64,
}

/// Runs the benchmark.
pub(crate) fn run(args: &Args) -> Result<()> {
    let target = cargo::metadata()?.target_directory;
    let binary = match &args.binary {
        Some(binary) => binary.clone(),
        None => cargo::release_binary(&target)?,
    };
    let mut outcome = Outcome { rounds: args.rounds, jobs: Vec::new(), skipped: Vec::new() };
    for job in [Ok(Job::rust(&binary, &target)?), Job::torch(&binary, &target)] {
        match job {
            Err(why) => outcome.skipped.push(why),
            Ok(job) => outcome.jobs.push(measure(&job, args.rounds.max(1))?),
        }
    }
    match args.format.as_str() {
        "json" => println!("{}", serde_json::to_string(&outcome)?),
        _ => print!("{}", table::markdown(&outcome)),
    }
    Ok(())
}

fn measure(job: &Job, rounds: usize) -> Result<Measured> {
    let ways = job.ways;
    let mut runs: Vec<Vec<Figures>> = vec![Vec::new(); ways.len()];
    for round in 0..rounds {
        eprintln!("{}: round {} of {rounds}", job.name, round + 1);
        let mut order: Vec<usize> = (0..ways.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for at in order {
            runs[at].push(job.run(ways[at])?);
        }
    }
    let (bare, others) = runs.split_first().map_or((&[][..], &[][..]), |(bare, others)| (&bare[..], others));
    let costs = ways[1..].iter().zip(others).map(|(&way, runs)| cost(way, bare, runs));
    eprintln!("{}: counting system calls", job.name);
    Ok(Measured { job: job.name, bare: Figures::medians(bare), ways: costs.collect(), calls: calls::count(job) })
}

fn cost(way: Way, bare: &[Figures], runs: &[Figures]) -> Cost {
    let ratios = |of: fn(&Figures) -> f64| -> Interval {
        Interval::of_ratios(bare.iter().zip(runs).map(|(bare, run)| of(run) / of(bare)))
    };
    Cost {
        way,
        step: ratios(|figures| figures.step_ms),
        whole_loop: ratios(|figures| figures.loop_s),
        cpu: ratios(|figures| figures.cpu_s),
        beside_cpu_s: Figures::medians(runs).beside_cpu_s,
    }
}
