//! `cargo xtask bench compare --sides`: what a comparison of two runs of eight ranks costs, from traces and from saved reports to all workbooks
//! and the page. The second run is the first with one operator half as slow again on one rank.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;
use serde::Serialize;

use super::super::child::{self, Cost};
use super::super::inputs::Input;
use super::super::peers;

/// What is printed with `--format json`: a row for each way in.
#[derive(Serialize)]
pub(super) struct Row {
    from: &'static str,
    /// Of all inputs.
    megabytes: f64,
    /// Of the fastest of three.
    cost: Cost,
}

/// Makes what is missing of the runs, and measures `binary`, and where `with_peers` says so others that compare them.
pub(super) fn measured(binary: &Path, folder: &Path, with_peers: bool) -> Result<Vec<Row>> {
    let traces = super::super::sides(folder)?;
    let reports = traces.clone().map(|run| run.join("report"));
    for (run, report) in traces.iter().zip(&reports) {
        let mut command = Command::new(binary);
        command.arg("report").arg(run).args(["--tables", "all", "--no-timeline", "--out"]).arg(report).stdout(Stdio::null());
        child::succeed(&mut command)?;
    }
    let reports = reports.map(|report| report.join("report.json"));
    let mut rows = vec![
        Row { from: "traces", megabytes: megabytes(&traces)?, cost: cost(binary, &traces, folder)? },
        Row { from: "saved reports", megabytes: megabytes(&reports)?, cost: cost(binary, &reports, folder)? },
    ];
    if with_peers {
        // It takes both runs' files one after the other.
        let mut both = Input::given(&traces[0]);
        both.ranks.extend(Input::given(&traces[1]).ranks);
        both.ranks.retain(|path| path.is_file());
        let costs = peers::measure(&peers::COMPARISONS, &both, folder)?;
        let megabytes = megabytes(&traces)?;
        rows.extend(costs.into_values().map(|cost| Row { from: "traces, by HTA", megabytes, cost }));
    }
    Ok(rows)
}

/// As Markdown.
pub(super) fn table(rows: &[Row]) -> String {
    let line = |Row { from, megabytes, cost }: &Row| {
        format!("| {from} | {megabytes:.0} | {:.2} | {:.2} | {:.0} |\n", cost.seconds, cost.cpu_seconds, cost.peak_mb)
    };
    let head = "| two runs of 8 ranks, from | MB | wall s | CPU s | peak MB |\n|---|--:|--:|--:|--:|\n";
    rows.iter().fold(head.to_owned(), |text, row| text + &line(row))
}

/// A comparison of `sides` that writes everything.
fn cost(binary: &Path, sides: &[PathBuf; 2], folder: &Path) -> Result<Cost> {
    let out = folder.join("compared");
    let mut command = Command::new(binary);
    command.arg("compare").args(sides).arg("--out").arg(&out).args(["--layout", "aorta", "--xlsx"]);
    command
        .arg(out.join("compared.xlsx"))
        .arg("--tracelens")
        .arg(out.join("tracelens"))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    child::fastest(&mut command)
}

/// Bytes of the files at `paths`, or of the traces in folders.
fn megabytes(paths: &[PathBuf; 2]) -> Result<f64> {
    let mut bytes = 0;
    for path in paths {
        if path.is_file() {
            bytes += fs::metadata(path)?.len();
            continue;
        }
        for entry in fs::read_dir(path)? {
            let about = entry?.metadata()?;
            bytes += if about.is_file() { about.len() } else { 0 };
        }
    }
    Ok(bytes as f64 / 1e6)
}
