//! `cargo xtask bench dataset`: what a dataset costs beside the report it is of, and what a row of it takes on the disk.
//!
//! The inputs are those of `bench ingest`. The program has the feature `parquet`, whose release is built if none is given.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use super::child::Cost;
use super::inputs::Input;
use super::table::push;
use super::{OfTraces, report};
use crate::cargo;

/// What is printed with `--format json`.
#[derive(Serialize)]
struct Outcome {
    inputs: Vec<Measured>,
}

#[derive(Serialize)]
struct Measured {
    file: String,
    /// The median run of each, by what was asked for.
    rankscope: BTreeMap<&'static str, Cost>,
    /// Rows and bytes of each table; of events, with and without their arguments.
    tables: BTreeMap<String, (u64, u64)>,
}

const ASKED: [(&str, &[&str]); 3] = [
    ("report", &["--no-timeline"]),
    ("with a dataset", &["--no-timeline"]),
    ("with all arguments", &["--no-timeline", "--parquet-args"]),
];

/// Runs the benchmark.
pub(super) fn run(args: &OfTraces) -> Result<()> {
    let target = cargo::metadata()?.target_directory;
    let binary = match &args.binary {
        Some(binary) => binary.clone(),
        None => cargo::release_with(&target, "parquet")?,
    };
    let args = OfTraces { binary: Some(binary), files: args.files.clone(), format: args.format.clone(), ..*args };
    let (binary, folder, inputs) = args.prepared()?;
    let measured = inputs.iter().map(|input| {
        eprintln!("measuring {}", input.path.display());
        measure(input, &binary, args.runs.max(1), &folder)
    });
    let outcome = Outcome { inputs: measured.collect::<Result<_>>()? };
    match args.format.as_str() {
        "json" => println!("{}", serde_json::to_string(&outcome)?),
        _ => print!("{}", markdown(&outcome)),
    }
    Ok(())
}

fn measure(input: &Input, binary: &Path, runs: usize, folder: &Path) -> Result<Measured> {
    let mut measured = Measured { file: input.name.clone(), rankscope: BTreeMap::new(), tables: BTreeMap::new() };
    let dataset = folder.join("dataset");
    let place = dataset.display().to_string();
    for (number, (name, options)) in ASKED.into_iter().enumerate() {
        let mut options = options.to_vec();
        if number > 0 {
            options.extend(["--parquet", &place]);
        }
        let mut costs = Vec::new();
        for _ in 0..runs {
            if dataset.exists() {
                fs::remove_dir_all(&dataset).context("the dataset of the run before cannot be removed")?;
            }
            let (cost, document) = report(binary, &input.path, folder, &options)?;
            document.map_err(anyhow::Error::msg)?;
            costs.push(cost);
        }
        costs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        measured.rankscope.insert(name, costs[costs.len() / 2]);
        if number > 0 {
            tables(&dataset, number > 1, &mut measured.tables)?;
        }
    }
    Ok(measured)
}

/// Adds what the manifest in `dataset` lists; of one with arguments, only the events.
fn tables(dataset: &Path, arguments: bool, to: &mut BTreeMap<String, (u64, u64)>) -> Result<()> {
    let manifest: Value = serde_json::from_reader(File::open(dataset.join("_rankscope_manifest.json"))?)?;
    let all = manifest["runs"].as_array().into_iter().flatten().flat_map(|run| run["tables"].as_array().into_iter().flatten());
    for table in all {
        let name = table["table"].as_str().unwrap_or_default();
        let files = table["files"].as_array().into_iter().flatten();
        let bytes = files.filter_map(|file| file["bytes"].as_u64()).sum();
        let rows = table["rows"].as_u64().unwrap_or(0);
        match (arguments, name) {
            (true, "events") => to.insert("events with all arguments".to_owned(), (rows, bytes)),
            (true, _) => None,
            (false, _) => to.insert(name.to_owned(), (rows, bytes)),
        };
    }
    Ok(())
}

fn markdown(outcome: &Outcome) -> String {
    let mut text = String::from("| input | program | wall s | CPU s | peak MB |\n|---|---|--:|--:|--:|\n");
    for input in &outcome.inputs {
        for (name, Cost { seconds, cpu_seconds, peak_mb }) in &input.rankscope {
            push(&mut text, format_args!("| {} | {name} | {seconds:.2} | {cpu_seconds:.2} | {peak_mb:.0} |", input.file));
        }
    }
    text.push_str("\n| input | table | rows | bytes | bytes a row |\n|---|---|--:|--:|--:|\n");
    for input in &outcome.inputs {
        for (name, (rows, bytes)) in &input.tables {
            let each = *bytes as f64 / (*rows).max(1) as f64;
            push(&mut text, format_args!("| {} | {name} | {rows} | {bytes} | {each:.2} |", input.file));
        }
    }
    text
}
