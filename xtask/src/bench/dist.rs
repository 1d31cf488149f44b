//! `cargo xtask bench dist`: what Ray adds to a task, on a cluster of its own on this machine.
//!
//! Tasks map one small trace each. A run of a few tasks and one of more differ by what tasks take once all workers have begun; what such a task
//! takes by itself, without Ray, is measured beside it and taken away. The rest, for each task and slot, is Ray's and ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::available_parallelism;

use anyhow::{Context, Result, bail};
use rankscope_testkit::{Dialect, Job};
use serde::Serialize;
use serde_json::Value;

use super::child;
use crate::engines;

/// Options of `cargo xtask bench dist`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Tasks of the shorter run; the longer one has four times as many.
    #[arg(long, default_value_t = 50)]
    tasks: u32,
    /// `json` for one document on stdout, anything else for a sentence.
    #[arg(long, default_value = "table")]
    format: String,
    /// Measure this program instead of building target/release/rankscope.
    #[arg(long)]
    binary: Option<PathBuf>,
}

#[derive(Serialize)]
struct Outcome {
    slots: usize,
    tasks: [u32; 2],
    /// From the first task to the last, of each run.
    seconds: [f64; 2],
    /// What a task takes that Ray does not start.
    alone_ms: f64,
    /// What is added for each task and slot.
    added_ms: f64,
    gate_ms: f64,
}

const LONGER: u32 = 4;
const GATE_MS: f64 = 50.0;

/// Runs the benchmark.
pub(super) fn run(args: &Args) -> Result<()> {
    let binary = super::at_hand(args.binary.as_deref())?.0;
    let python = engines::python()?;
    let folder = tempfile::tempdir()?;
    let tasks = [args.tasks.max(1), args.tasks.max(1) * LONGER];
    let slots = available_parallelism()?.get();
    let mut seconds = [0.0; 2];
    for (tasks, seconds) in tasks.iter().zip(&mut seconds) {
        eprintln!("{tasks} tasks");
        let traces = traces(&folder.path().join(format!("traces-{tasks}")), *tasks)?;
        *seconds = by_ray(&binary, &python, &traces, *tasks)?;
    }
    let alone_ms = alone_ms(&binary, &folder.path().join(format!("traces-{}", tasks[0])), tasks[0])?;
    let a_task_ms = 1e3 * (seconds[1] - seconds[0]) * slots as f64 / f64::from(tasks[1] - tasks[0]);
    let outcome = Outcome { slots, tasks, seconds, alone_ms, added_ms: a_task_ms - alone_ms, gate_ms: GATE_MS };
    match args.format.as_str() {
        "json" => println!("{}", serde_json::to_string(&outcome)?),
        _ => println!(
            "{} and {} tasks on {slots} slots took {:.2} s and {:.2} s; a task alone takes {alone_ms:.1} ms, and Ray adds {:.1} ms to each on its \
             slot (gate: {GATE_MS} ms).",
            tasks[0], tasks[1], seconds[0], seconds[1], outcome.added_ms
        ),
    }
    Ok(())
}

/// So many ranks of a small job.
fn traces(folder: &Path, ranks: u32) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let job = Job { ranks, steps: 1, ..Job::default() };
    for rank in 0..ranks {
        fs::write(folder.join(format!("rank{rank}.json")), job.rank_bytes(rank, &Dialect::default()))?;
    }
    Ok(folder.to_owned())
}

/// How long the tasks took, as the script on the cluster tells.
fn by_ray(binary: &Path, python: &Path, traces: &Path, tasks: u32) -> Result<f64> {
    let mut command = Command::new(binary);
    command.args(["dist", "ray"]).arg(traces).arg("--parts").arg(traces.with_extension("parts"));
    command
        .args(["--shards", &tasks.to_string(), "--address", "local", "--no-merge", "--progress", "json", "--python"])
        .arg(python);
    let output =
        command.env("RAY_USAGE_STATS_ENABLED", "0").stdout(Stdio::null()).output().context("failed to start the tasks")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("the tasks failed ({}): {said}", output.status);
    }
    let seconds = said.lines().rev().find_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        line["seconds"].as_f64().filter(|_| line["stage"] == "done")
    });
    seconds.with_context(|| format!("nobody said how long the tasks took: {said}"))
}

/// What such tasks take one after the other, started as Ray's are.
fn alone_ms(binary: &Path, traces: &Path, tasks: u32) -> Result<f64> {
    let parts = traces.with_extension("alone");
    let frozen = Command::new(binary)
        .arg("plan")
        .arg(traces)
        .arg("--parts")
        .arg(&parts)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !frozen.context("failed to start the plan")?.success() {
        bail!("no plan of {}", traces.display());
    }
    let mut seconds = 0.0;
    for shard in 1..=tasks {
        let mut command = Command::new(binary);
        command.arg("map").arg("--parts").arg(&parts).args(["--shard", &format!("{shard}/{tasks}"), "--format", "json"]);
        command.env("RAYON_NUM_THREADS", "1").stdout(Stdio::null()).stderr(Stdio::null());
        seconds += child::succeed(&mut command)?.seconds;
    }
    Ok(1e3 * seconds / f64::from(tasks))
}
