//! `cargo xtask bench compare --wide`: what it costs to compare two runs of a thousand ranks, from parts and from saved reports, and of half as many:
//! what grows with the square of the ranks would take four times as long.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use rankscope_testkit::Dialect;
use rankscope_testkit::simulated::Job;
use serde::Serialize;

use super::super::child::{self, Cost};
use super::super::inputs::once;

/// Ranks of the jobs.
const RANKS: [u32; 2] = [500, 1_000];

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
    [1, 2].map(|seed| folder.join(format!("wide-{ranks}ranks-{seed}")))
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
    let compared = || -> Result<Cost> {
        let mut command = Command::new(binary);
        command.arg("compare").args(sides).args(["--format", "json"]).stdout(File::create(&out)?).stderr(Stdio::null());
        child::succeed(&mut command)
    };
    let mut costs = [compared()?, compared()?, compared()?];
    costs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Ok(Row { ranks, from, megabytes: fs::metadata(&out)?.len() as f64 / 1e6, cost: costs[0] })
}

/// Makes the traces that are not there: of jobs that are simulated.
pub(in crate::bench) fn make(folder: &Path) -> Result<()> {
    for ranks in RANKS {
        for (seed, traces) in (1..).zip(runs(folder, ranks)) {
            once(&traces, |unfinished| simulate(ranks, seed, unfinished))?;
        }
    }
    Ok(())
}

fn simulate(ranks: u32, seed: u64, traces: &Path) -> Result<()> {
    fs::create_dir_all(traces).with_context(|| format!("failed to create {}", traces.display()))?;
    let job = Job::drawn_of(None, seed, ranks);
    let run = job.run();
    for rank in 0..ranks {
        let mut to = BufWriter::new(File::create(traces.join(format!("rank{rank}.json")))?);
        run.rank_json(rank, &Dialect::default(), &mut to)?;
        to.flush()?;
    }
    Ok(())
}
