//! `rankscope runs prune`: says which runs would go and why; with `--execute` they do.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ArgGroup;
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_config::size;
use rankscope_report::{bytes, columns};
use rankscope_run::{Pruned, RetentionPlan, RetentionRules, Runs, now_unix_ns, plan, runs_in};
use serde_json::json;

use super::moment;

/// List which runs in a folder can be pruned, and why; delete them with --execute.
///
/// Removes the runs that none of --keep-last, --keep-days, --keep-failed and --keep selects; with --max-bytes, oldest first and
/// only until all runs together fit. The newest run and runs that are still being written are always kept. Files in a removed
/// run's folder that are not part of it (other files, other runs, mounted file systems) are kept and listed.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("rule").required(true).multiple(true).args(["keep_last", "keep_days", "max_bytes"]))]
pub(super) struct Args {
    /// The folder that holds the run directories
    #[arg(value_name = "PARENT", default_value = "runs")]
    parent: PathBuf,
    /// Keep the newest N runs
    #[arg(long, value_name = "N")]
    keep_last: Option<usize>,
    /// Keep runs that ended in the last D days
    #[arg(long, value_name = "D")]
    keep_days: Option<u32>,
    /// Remove only as many runs as needed for all to fit into SIZE, such as 100GiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_bytes: Option<u64>,
    /// Keep runs that did not finish
    #[arg(long)]
    keep_failed: bool,
    /// Keep the runs with these names
    #[arg(long, value_name = "NAME", num_args = 1..)]
    keep: Vec<String>,
    /// Delete; without it nothing is removed
    #[arg(long)]
    execute: bool,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let found = runs_in(&args.parent)?;
    if let Some(name) = args.keep.iter().find(|name| found.runs.iter().all(|run| run.name() != **name)) {
        bail!(
            "{}: no run here is called {name}, so --keep {name} would keep nothing. Nothing was deleted",
            args.parent.display()
        );
    }
    let rules = RetentionRules {
        keep_last: args.keep_last,
        keep_days: args.keep_days,
        bytes_max: args.max_bytes,
        keep_failed: args.keep_failed,
        keep_named: args.keep.clone(),
    };
    let stored = found.runs.iter().map(|run| run.stored()).collect::<Result<Vec<_>, _>>()?;
    let plan = plan(stored, &rules, now_unix_ns()?);
    let done = match args.execute {
        true => Pruned::execute(&args.parent, &plan, &found),
        false => Pruned::look(&args.parent, &plan),
    };
    output::answer(&match args.format {
        Format::Json => document(args, &plan, &found, &done),
        Format::Table => drawn(args, &plan, &found)?,
    })?;
    if args.format == Format::Table {
        done.stays.iter().for_each(|(path, left)| output::remark(&format!("stays: {}: {}", path.display(), left.why)));
        found.unreadable.iter().for_each(|error| output::remark(&format!("not touched: {error}")));
        done.failed.iter().for_each(|error| output::remark(&format!("not removed: {error}")));
    }
    Ok(if done.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn document(args: &Args, plan: &RetentionPlan, found: &Runs, done: &Pruned) -> String {
    let row = |(run, verdict): &(rankscope_run::StoredRun, rankscope_run::Verdict)| {
        json!({
            "name": run.name,
            "state": run.state,
            "started_unix_ns": run.started_unix_ns,
            "bytes": run.bytes,
            "verdict": if verdict.removes() { "remove" } else { "keep" },
            "reason": verdict.reason(),
        })
    };
    let stays = done.stays.iter().map(|(path, left)| json!({ "path": path, "reason": left.why.to_string() }));
    let unreadable: Vec<String> = found.unreadable.iter().map(ToString::to_string).collect();
    json!({
        "executed": args.execute,
        "runs": plan.runs.iter().map(row).collect::<Vec<_>>(),
        "remove_bytes": removed_bytes(plan),
        "over_bytes": plan.over_bytes,
        "leftovers": found.leftovers,
        "unreadable": unreadable,
        "failed": done.failed.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "stays": stays.collect::<Vec<_>>(),
    })
    .to_string()
}

fn drawn(args: &Args, plan: &RetentionPlan, found: &Runs) -> Result<String> {
    let rows = plan.runs.iter().map(|(run, verdict)| {
        let what = if verdict.removes() { "remove" } else { "keep" };
        vec![what.to_owned(), run.name.clone(), moment(run.started_unix_ns), bytes(run.bytes), verdict.reason().to_owned()]
    });
    let mut text = columns(&["", "run", "start", "size", "because"], rows.collect(), output::style());
    let (count, size) = (plan.removals().count(), bytes(removed_bytes(plan)));
    match args.execute {
        true => writeln!(text, "pruned {count} of {} runs, {size}", plan.runs.len())?,
        false => {
            writeln!(text, "would prune {count} of {} runs, {size}; nothing is deleted without --execute", plan.runs.len())?
        }
    }
    if plan.over_bytes > 0 {
        writeln!(text, "the runs that the rules keep exceed --max-bytes by {}", bytes(plan.over_bytes))?;
    }
    if !found.leftovers.is_empty() {
        let verb = if args.execute { "were ended" } else { "would be ended" };
        writeln!(text, "{} interrupted removals {verb}", found.leftovers.len())?;
    }
    Ok(text)
}

fn removed_bytes(plan: &RetentionPlan) -> u64 {
    plan.removals().map(|run| run.bytes).sum()
}
