//! What runs are: the list, one of them, and whether it is whole.

use std::path::Path;

use anyhow::Result;
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format, Lines};
use rankscope_report::{bytes, columns, duration};
use rankscope_run::{Attempt, FileCheck, RunDirectory, runs_in};
use serde_json::{Value, json};

use super::moment;

pub(super) fn list(parent: &Path, format: Format) -> Result<ExitCode> {
    let found = runs_in(parent)?;
    let unreadable: Vec<String> = found.unreadable.iter().map(ToString::to_string).collect();
    match format {
        Format::Json => {
            let runs = found.runs.iter().map(row).collect::<Result<Vec<_>>>()?;
            output::answer(&json!({ "runs": runs, "unreadable": unreadable, "leftovers": found.leftovers }).to_string())?;
        }
        Format::Table if found.runs.is_empty() => output::answer(&format!("{}: no runs here", parent.display()))?,
        Format::Table => {
            let rows = found.runs.iter().map(cells).collect::<Result<Vec<_>>>()?;
            output::answer(&columns(
                &["run", "state", "start", "duration", "ranks", "size", "command"],
                rows,
                output::style(),
            ))?;
        }
    }
    if format == Format::Table {
        unreadable.iter().for_each(|error| output::remark(error));
        if !found.leftovers.is_empty() {
            output::remark(&format!(
                "{} removals were interrupted; `runs prune --execute` completes them",
                found.leftovers.len()
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn row(run: &RunDirectory) -> Result<Value> {
    let manifest = run.manifest();
    Ok(json!({
        "name": run.name(),
        "path": run.path(),
        "run_id": manifest.run_id,
        "state": manifest.state,
        "started_unix_ns": run.started_unix_ns(),
        "duration_ns": run.duration_ns(),
        "ranks": run.rank_count(),
        "attempts": manifest.attempts.len(),
        "bytes": run.total_bytes()?,
        "command": manifest.command,
    }))
}

fn cells(run: &RunDirectory) -> Result<Vec<String>> {
    let unknown = || "unknown".to_owned();
    Ok(vec![
        run.name(),
        run.manifest().state.name().to_owned(),
        moment(run.started_unix_ns()),
        run.duration_ns().map_or_else(unknown, |ns| duration(ns as f64)),
        run.rank_count().map_or_else(unknown, |ranks| ranks.to_string()),
        bytes(run.total_bytes()?),
        run.manifest().command.join(" "),
    ])
}

pub(super) fn show(directory: &Path, format: Format) -> Result<ExitCode> {
    let run = RunDirectory::open(directory)?;
    let problems: Vec<String> = run.problems().iter().map(ToString::to_string).collect();
    match format {
        Format::Json => {
            let document = json!({ "run": row(&run)?, "manifest": run.manifest(), "problems": problems });
            output::answer(&document.to_string())?;
        }
        Format::Table => {
            output::answer(&described(&run)?)?;
            problems.iter().for_each(|problem| output::remark(problem));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn described(run: &RunDirectory) -> Result<String> {
    let manifest = run.manifest();
    let mut text = Lines::default();
    text.line(format_args!("run        {} ({})", manifest.run_id, manifest.state.name()));
    text.line(format_args!("command    {}", manifest.command.join(" ")));
    for attempt in &manifest.attempts {
        text.line(format_args!("attempt {}  {}", attempt.number, told(attempt)));
    }
    if let Some(failure) = run.first_failure().filter(|failure| failure.rank.is_some()) {
        text.line(format_args!("failure    {failure}"));
    }
    for node in &manifest.nodes {
        let ranks: Vec<String> =
            manifest.ranks.iter().filter(|rank| rank.node == node.node).map(|rank| rank.rank.to_string()).collect();
        let reference = if node.node == manifest.reference_node { ", whose clock is the reference" } else { "" };
        text.line(format_args!("node {:<5} {}{reference}; ranks {}", node.node, node.host, ranks.join(" ")));
    }
    let versions: Vec<String> = manifest.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    text.line(format_args!("versions   {}", versions.join(", ")));
    text.line(format_args!("size       {}, {} files listed", bytes(run.total_bytes()?), manifest.files.len()));
    Ok(text.into_text())
}

fn told(attempt: &Attempt) -> String {
    let how = attempt.exit.map_or_else(|| "end not recorded".to_owned(), |exit| exit.to_string());
    let lasted = attempt.ended_unix_ns.map(|end| duration(end.saturating_sub(attempt.started_unix_ns) as f64));
    format!("{}{}, {how}", moment(attempt.started_unix_ns), lasted.map_or_else(String::new, |lasted| format!(", {lasted}")))
}

pub(super) fn check(directory: &Path, format: Format) -> Result<ExitCode> {
    let run = RunDirectory::open(directory)?;
    let problems: Vec<String> = run.problems().iter().map(ToString::to_string).collect();
    let files = run.check_files()?;
    let is_whole = files.is_whole() && problems.is_empty();
    match format {
        Format::Json => {
            let document = json!({
                "run_id": run.manifest().run_id,
                "state": run.manifest().state,
                "listed": run.manifest().files.len(),
                "intact": files.intact,
                "missing": files.missing,
                "changed": files.changed,
                "extra": files.extra,
                "problems": problems,
            });
            output::answer(&document.to_string())?;
        }
        Format::Table => output::answer(&compared(&run, &files, &problems))?,
    }
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(3) })
}

fn compared(run: &RunDirectory, files: &FileCheck, problems: &[String]) -> String {
    let listed = run.manifest().files.len();
    let mut text = Lines::default();
    if listed == 0 {
        text.line(format_args!("{}: no files are listed yet; they are listed when the run ends", run.manifest().state.name()));
    } else {
        text.line(format_args!("{} of {listed} files are unchanged since the run ended", files.intact));
    }
    for (what, names) in [("missing", &files.missing), ("changed", &files.changed), ("made since", &files.extra)] {
        for name in names {
            text.line(format_args!("{what}: {name}"));
        }
    }
    problems.iter().for_each(|problem| text.line(format_args!("{problem}")));
    text.into_text()
}
