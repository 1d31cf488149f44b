//! `cargo xtask bench devices`: what the plugin of NCCL costs the job that loads it, by calling it as NCCL does, and what it takes to sample the
//! counters of a node.
//!
//! A program in C plays collectives and channels of kernels into the release build, without a run (the ring alone) and with one.
//! Its best round counts: what is asked is what a callback takes, not what else the machine does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::cargo;

/// Options of `cargo xtask bench devices`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Collectives a round.
    #[arg(long, default_value_t = 200_000)]
    rounds: u64,
    /// Measure this library instead of building target/release/librankscope_nccl.so.
    #[arg(long)]
    library: Option<PathBuf>,
    /// Seconds for which counters are sampled.
    #[arg(long, default_value_t = 20)]
    seconds: u32,
    /// `json` for one document on stdout, anything else for a Markdown table.
    #[arg(long, default_value = "table")]
    format: String,
}

/// What a collective that starts and stops may take, and the same with four channels, on one thread.
const BUDGET_NS: (f64, f64) = (120.0, 600.0);
/// What the process may have more than before.
const BUDGET_KB: u64 = 8 << 10;

/// What the program prints.
#[derive(Deserialize, Serialize)]
struct Measured {
    #[serde(default)]
    recording: bool,
    threads: u32,
    start_stop_ns: f64,
    with_four_channels_ns: f64,
    before_kb: u64,
    after_kb: u64,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let library = match &args.library {
        Some(library) => library.canonicalize().with_context(|| library.display().to_string())?,
        None => built()?,
    };
    let folder = cargo::root().join("target/bench/devices");
    fs::create_dir_all(&folder)?;
    let program = folder.join("cost");
    let source = cargo::root().join("crates/rankscope-nccl/tests/c/cost.c");
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-O2"])
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .args(["-lpthread", "-ldl"])
        .status();
    if !compiled.context("cc is needed for the program that calls the plugin")?.success() {
        bail!("{} does not compile", source.display());
    }
    let mut all = Vec::new();
    for (recording, threads) in [(false, 1), (false, 4), (true, 1)] {
        all.push(measure(&program, &library, &folder, (recording, threads), args.rounds)?);
    }
    let counters = [1, 10, 100].map(|hz| counted(&folder, args.seconds, hz));
    let counters = counters.into_iter().collect::<Result<Vec<_>>>()?;
    if args.format == "json" {
        println!("{}", serde_json::to_string_pretty(&serde_json::json!({ "nccl": all, "counters": counters }))?);
    } else {
        print_table(&all);
        print_counters(&counters);
    }
    Ok(())
}

/// What sampling at 10 Hz may take.
const BUDGET_CORE_PERCENT: f64 = 0.1;

/// What the process that samples prints.
#[derive(Deserialize, Serialize)]
struct Counted {
    hz: u32,
    cost_us: u64,
    core_percent: f64,
    /// To start and to end.
    around_us: u64,
}

fn counted(folder: &Path, seconds: u32, hz: u32) -> Result<Counted> {
    let mut command = cargo::command(["run", "--release", "--locked", "--quiet", "--package", "rankscope-counters"]);
    command.args(["--example", "sample_node", "--"]).arg(folder.join("counters")).args([seconds.to_string(), hz.to_string()]);
    let output = command.output()?;
    if !output.status.success() {
        bail!("counters: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn print_counters(counters: &[Counted]) {
    println!("\n| counters of a node, Hz | processor time, % of a core | its start and end, ms |");
    println!("|--:|--:|--:|");
    for Counted { hz, core_percent, around_us, .. } in counters {
        println!("| {hz} | {core_percent:.3} | {:.1} |", *around_us as f64 / 1e3);
    }
    println!("| budget at 10 | {BUDGET_CORE_PERCENT} | |");
}

fn built() -> Result<PathBuf> {
    if !cargo::command(["build", "--release", "--locked", "--package", "rankscope-nccl"]).status()?.success() {
        bail!("the plugin does not build");
    }
    Ok(cargo::root().join("target/release/librankscope_nccl.so"))
}

fn measure(program: &Path, library: &Path, folder: &Path, (recording, threads): (bool, u32), rounds: u64) -> Result<Measured> {
    let mut command = Command::new(program);
    command.arg(library).arg(threads.to_string()).arg(rounds.to_string()).env("RANKSCOPE_NCCL_RING", folder);
    command.env_remove("RANKSCOPE_RAW_DIR").env_remove("RANKSCOPE_RUN_DIR");
    if recording {
        command.env("RANKSCOPE_RUN_DIR", folder.join("run"));
    }
    let output = command.output()?;
    if !output.status.success() {
        bail!("{}: {}", program.display(), String::from_utf8_lossy(&output.stderr));
    }
    Ok(Measured { recording, ..serde_json::from_slice(&output.stdout)? })
}

fn print_table(all: &[Measured]) {
    println!("| sink | threads | start and stop, ns | with four channels, ns | memory more, KiB |");
    println!("|---|--:|--:|--:|--:|");
    for measured in all {
        let sink = if measured.recording { "ring and recording" } else { "ring" };
        let more_kb = measured.after_kb.saturating_sub(measured.before_kb);
        println!(
            "| {sink} | {} | {:.0} | {:.0} | {more_kb} |",
            measured.threads, measured.start_stop_ns, measured.with_four_channels_ns
        );
    }
    println!("| budget | 1 | {:.0} | {:.0} | {BUDGET_KB} |", BUDGET_NS.0, BUDGET_NS.1);
}
