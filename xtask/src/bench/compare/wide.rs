//! `cargo xtask bench compare --wide`: what it costs to compare two runs of a thousand ranks, from parts and from saved reports, and of half as many:
//! what grows with the square of the ranks would take four times as long.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use rankscope_testkit::{Job, Straggler};
use serde::Serialize;

use super::super::child::{self, Cost};
use super::super::inputs::once;

/// Ranks of the jobs.
const RANKS: [u32; 2] = [500, 1_000];

/// As few as have evidence.
const STEPS: u32 = 13;

/// What is printed with `--format json`: a row for each size and way in.
#[derive(Serialize)]
pub(super) struct Row {
    ranks: u32,
    from: &'static str,
    /// Of the document that is printed.
    megabytes: f64,
    /// Of the fastest of three.
    cost: Cost,
}

/// Makes what is missing of the runs, and measures `binary`.
pub(super) fn measured(binary: &Path, folder: &Path) -> Result<Vec<Row>> {
    super::super::prepare(folder, super::super::WIDE)?;
    let mut rows = Vec::new();
    for ranks in RANKS {
        let parts = runs(folder, ranks).map(|traces| traces.with_extension("parts"));
        for (traces, parts) in runs(folder, ranks).iter().zip(&parts) {
            let mut command = Command::new(binary);
            command.arg("map").arg(traces).args(["--tables", "--parts"]).arg(parts).stdout(Stdio::null()).stderr(Stdio::null());
            child::succeed(&mut command)?;
        }
        rows.push(row(binary, folder, ranks, "parts", &parts)?);
        let reports = runs(folder, ranks).map(|traces| traces.with_extension("report"));
        for (parts, report) in parts.iter().zip(&reports) {
            let mut command = Command::new(binary);
            command
                .arg("report")
                .arg(parts)
                .args(["--tables", "all", "--no-timeline", "--out"])
                .arg(report)
                .stdout(Stdio::null());
            child::succeed(&mut command)?;
        }
        rows.push(row(binary, folder, ranks, "saved reports", &reports.map(|report| report.join("report.json")))?);
    }
    Ok(rows)
}

/// The traces of both runs of so many ranks.
fn runs(folder: &Path, ranks: u32) -> [PathBuf; 2] {
    ["base", "test"].map(|side| folder.join(format!("wide-{ranks}ranks-{side}")))
}

/// As Markdown.
pub(super) fn table(rows: &[Row]) -> String {
    let line = |Row { ranks, from, megabytes, cost }: &Row| {
        format!("| {ranks} | {from} | {megabytes:.0} | {:.2} | {:.2} | {:.0} |\n", cost.seconds, cost.cpu_seconds, cost.peak_mb)
    };
    let head = "| ranks a side | from | MB of JSON | wall s | CPU s | peak MB |\n|--:|---|--:|--:|--:|--:|\n";
    rows.iter().fold(head.to_owned(), |text, row| text + &line(row))
}

fn row(binary: &Path, folder: &Path, ranks: u32, from: &'static str, sides: &[PathBuf; 2]) -> Result<Row> {
    let out = folder.join("wide.json");
    let cost = child::fastest_of(|| {
        let mut command = Command::new(binary);
        command.arg("compare").args(sides).args(["--format", "json"]).stdout(File::create(&out)?).stderr(Stdio::null());
        child::succeed(&mut command)
    })?;
    Ok(Row { ranks, from, megabytes: fs::metadata(&out)?.len() as f64 / 1e6, cost })
}

/// Makes the traces that are not there: of small jobs, in the second of which one rank is slow.
pub(in crate::bench) fn make(folder: &Path) -> Result<()> {
    for ranks in RANKS {
        let straggler = Some(Straggler { rank: 3, factor: 1.5 });
        for (traces, straggler) in runs(folder, ranks).iter().zip([None, straggler]) {
            let job = Job { ranks, steps: STEPS, layers: 2, ops_per_step: 6, python_frames: 0, straggler, ..Job::default() };
            once(traces, |unfinished| write(&job, unfinished))?;
        }
    }
    Ok(())
}

fn write(job: &Job, traces: &Path) -> Result<()> {
    fs::create_dir_all(traces).with_context(|| format!("failed to create {}", traces.display()))?;
    for rank in 0..job.ranks {
        let mut to = BufWriter::new(File::create(traces.join(format!("rank{rank}.json")))?);
        job.rank_json(rank, &mut to)?;
        to.flush()?;
    }
    Ok(())
}
