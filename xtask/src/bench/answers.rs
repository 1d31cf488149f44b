//! `cargo xtask bench answers`: what causes and advice cost beside a report without them, and `--planted` how often the first advice on a
//! simulated job names the cause that was planted in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, bail};
use serde::Serialize;

use super::child::{self, Cost};

/// Options of `cargo xtask bench answers`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Simulate jobs of 2 to 64 ranks with each cause, and count how often the first advice is right. Takes some minutes.
    #[arg(long)]
    planted: bool,
    /// Simulate this many jobs of each cause.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Begin with this seed.
    #[arg(long, default_value_t = 0)]
    first_seed: u64,
    /// Plant this cause alone, such as `slow-link`, or `none`.
    #[arg(long)]
    cause: Option<String>,
    /// Runs to report on instead of the made one.
    runs: Vec<PathBuf>,
    /// Measure this program instead of building target/release/rankscope.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// `json` for one document on stdout, anything else for a Markdown table.
    #[arg(long, default_value = "table")]
    format: String,
}

/// One report.
#[derive(Serialize)]
struct Row {
    run: String,
    answers: bool,
    /// Of the fastest of three.
    cost: Cost,
}

/// Runs what is asked for.
pub(super) fn run(args: &Args) -> Result<()> {
    if args.planted {
        return planted(args);
    }
    let (binary, folder) = super::at_hand(args.binary.as_deref())?;
    let runs = if args.runs.is_empty() { super::sides(&folder)?[..1].to_vec() } else { args.runs.clone() };
    let mut rows = Vec::new();
    for run in &runs {
        for answers in [false, true] {
            let cost = cost(&binary, run, &folder, answers)?;
            rows.push(Row { run: run.display().to_string(), answers, cost });
        }
    }
    match args.format.as_str() {
        "json" => println!("{}", serde_json::to_string(&rows)?),
        _ => print!("{}", table(&rows)),
    }
    Ok(())
}

fn cost(binary: &Path, run: &Path, folder: &Path, answers: bool) -> Result<Cost> {
    let mut command = Command::new(binary);
    command.arg("report").arg(run).args(["--no-timeline", "--out"]).arg(folder.join("answers")).stdout(Stdio::null());
    if !answers {
        command.arg("--no-answers");
    }
    child::fastest(&mut command)
}

fn table(rows: &[Row]) -> String {
    let line = |Row { run, answers, cost }: &Row| {
        let answers = if *answers { "yes" } else { "no" };
        format!("| {run} | {answers} | {:.2} | {:.2} | {:.0} |\n", cost.seconds, cost.cpu_seconds, cost.peak_mb)
    };
    let head = "| run | answers | wall s | CPU s | peak MB |\n|---|---|--:|--:|--:|\n";
    rows.iter().fold(head.to_owned(), |text, row| text + &line(row))
}

/// The table is that of a test, which has the jobs at hand.
fn planted(args: &Args) -> Result<()> {
    let mut test = Command::new(env!("CARGO"));
    test.args(["test", "--quiet", "--release", "--package", "rankscope-job", "--test", "it", "planted::planted_causes", "--"]);
    test.args(["--ignored", "--nocapture"]).env("SEEDS", args.seeds.to_string()).env("FIRST_SEED", args.first_seed.to_string());
    test.envs(args.cause.iter().map(|cause| ("CAUSE", cause)));
    let status = test.status()?;
    if !status.success() {
        bail!("the simulation ended with {status}");
    }
    Ok(())
}
