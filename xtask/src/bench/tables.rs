//! `cargo xtask bench tables`: what tables of operators and kernels cost beside a report without them, and what the workbook adds; with
//! `--peers`, beside those who make such tables too.
//!
//! The inputs are those of `bench ingest`. A report without tables is measured in the same run: tables must not make it slower.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use super::child::Cost;
use super::inputs::Input;
use super::table::push;
use super::{OfTraces, events, peers, report};

/// What is printed with `--format json`.
#[derive(Serialize)]
struct Outcome {
    inputs: Vec<Measured>,
}

#[derive(Serialize)]
struct Measured {
    file: String,
    events: u64,
    /// The median run of each, by what was asked for.
    rankscope: BTreeMap<&'static str, Cost>,
    peers: BTreeMap<&'static str, Cost>,
}

/// What is asked for: a report as JSON, the same with all tables, and those in a workbook, too.
const ASKED: [(&str, &[&str]); 3] = [
    ("1 report without tables", &[]),
    ("2 with all tables", &["--tables", "all"]),
    ("3 with all tables and the workbook", &["--tables", "all", "--xlsx"]),
];

/// Runs the benchmark.
pub(super) fn run(args: &OfTraces) -> Result<()> {
    let (binary, folder, inputs) = args.prepared()?;
    let mut outcome = Outcome { inputs: Vec::new() };
    for input in &inputs {
        eprintln!("measuring {}", input.path.display());
        let mut measured = measure(input, &binary, args.runs.max(1), &folder)?;
        if args.peers {
            measured.peers = peers::measure(&peers::TABLES, input, &folder)?;
        }
        outcome.inputs.push(measured);
    }
    match args.format.as_str() {
        "json" => println!("{}", serde_json::to_string(&outcome)?),
        _ => print!("{}", markdown(&outcome)),
    }
    Ok(())
}

fn measure(input: &Input, binary: &Path, runs: usize, folder: &Path) -> Result<Measured> {
    let mut measured = Measured { file: input.name.clone(), events: 0, rankscope: BTreeMap::new(), peers: BTreeMap::new() };
    for (name, options) in ASKED {
        let workbook = folder.join("tables.xlsx").display().to_string();
        let mut options = options.to_vec();
        if options.last() == Some(&"--xlsx") {
            options.push(&workbook);
        }
        let mut costs = Vec::new();
        for _ in 0..runs {
            let (cost, document) = report(binary, &input.path, folder, &options)?;
            measured.events = events(&document.map_err(anyhow::Error::msg)?);
            costs.push(cost);
        }
        costs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        measured.rankscope.insert(name, costs[costs.len() / 2]);
    }
    Ok(measured)
}

fn markdown(outcome: &Outcome) -> String {
    let mut text = String::from("| input | events | program | wall s | CPU s | peak MB |\n|---|--:|---|--:|--:|--:|\n");
    for input in &outcome.inputs {
        for (name, Cost { seconds, cpu_seconds, peak_mb }) in input.rankscope.iter().chain(&input.peers) {
            let (file, events) = (&input.file, input.events);
            let name = name.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ' ');
            push(&mut text, format_args!("| {file} | {events} | {name} | {seconds:.2} | {cpu_seconds:.2} | {peak_mb:.0} |"));
        }
    }
    text
}
