//! `cargo xtask bench compare --history`: what it costs to follow 500 runs of eight ranks, from saved reports to the page.
//!
//! The reports are one of the product's own, tables and all, with the ranks and steps of each run put in their place. They are made once
//! and kept in `target/bench`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use rankscope_testkit::Rng;
use rankscope_testkit::steps::{Shape, Steps};
use serde::Serialize;
use serde_json::{Value, json};

use super::super::child::{self, Cost};
use crate::cargo;

const RUNS: u64 = 500;
const RANKS: u64 = 8;
const STEPS: usize = 30;

/// What is printed with `--format json`.
#[derive(Serialize)]
pub(super) struct Measured {
    runs: u64,
    /// Of all reports.
    megabytes: f64,
    /// Of the fastest of three.
    cost: Cost,
}

/// Makes what is missing of the reports, and measures `binary`.
pub(super) fn measured(binary: &Path, folder: &Path) -> Result<Measured> {
    let runs = folder.join("history-500");
    if !runs.exists() {
        let unfinished = folder.join("history-500.part");
        make(binary, &unfinished)?;
        fs::rename(&unfinished, &runs)?;
    }
    let page = folder.join("history.html");
    let mut command = Command::new(binary);
    command.args(["compare", "--history"]).arg(&runs).arg("--html").arg(&page).stdout(Stdio::null());
    let cost = child::fastest(&mut command)?;
    let sizes = fs::read_dir(&runs)?.map(|entry| Ok(entry?.metadata()?.len())).collect::<Result<Vec<u64>>>()?;
    Ok(Measured { runs: RUNS, megabytes: sizes.iter().sum::<u64>() as f64 / 1e6, cost })
}

/// As Markdown.
pub(super) fn table(measured: &Measured) -> String {
    let Measured { runs, megabytes, cost } = measured;
    format!(
        "| history | MB | wall s | CPU s | peak MB |\n|---|--:|--:|--:|--:|\n| {runs} saved reports of {RANKS} ranks | {megabytes:.0} | {:.2} | {:.2} | {:.0} |\n",
        cost.seconds, cost.cpu_seconds, cost.peak_mb
    )
}

fn make(binary: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
    let mut command = Command::new(binary);
    command.current_dir(cargo::root()).args(["report", "fixtures/torch-gloo-4ranks", "--format", "json", "--tables", "all"]);
    let report: Value = serde_json::from_slice(&command.output().context("failed to start the program")?.stdout)
        .context("the report is no JSON")?;
    for run in 0..RUNS {
        let file = File::create(folder.join(format!("run{run:03}.json")))?;
        let mut to = BufWriter::new(file);
        serde_json::to_writer(&mut to, &of_run(&report, run))?;
        to.flush()?;
    }
    Ok(())
}

/// The report of one run, a day after the one before; from half of them on a step takes 3 % longer.
fn of_run(like: &Value, run: u64) -> Value {
    let mut rng = Rng::new(run + 1);
    let start = 1_700_000_000_000_000_000 + run as i64 * 86_400_000_000_000;
    let level = 1e8 * (1.0 + 0.003 * rng.normal()) * if run < RUNS / 2 { 1.0 } else { 1.03 };
    let mut report = like.clone();
    report["windows"] =
        json!([{ "start_ns": start, "end_ns": start + 4_000_000_000_i64, "first_step": 0, "last_step": STEPS - 1 }]);
    let ranks = (0..RANKS).map(|number| {
        let mut rank = like["ranks"][(number % 4) as usize].clone();
        let lengths = Steps { level, ..Steps::new(Shape::Spikes, 0.3) }.run(STEPS, &mut rng);
        rank["rank"] = number.into();
        rank["steps"] = lengths.iter().enumerate().map(|(step, length)| of_step(step, *length as i64, start)).collect();
        rank
    });
    report["ranks"] = ranks.collect();
    report
}

fn of_step(step: usize, total: i64, start: i64) -> Value {
    let (computation, comm) = (total / 2, total / 4);
    let account = json!({
        "computation": computation, "exposed_comm": comm, "exposed_memcpy": 0, "busy": computation + comm,
        "idle": total - computation - comm, "total": total, "total_comm": comm, "total_memcpy": 0,
    });
    json!({ "step": step, "window_ns": [start, start + total], "time_ns": account })
}
