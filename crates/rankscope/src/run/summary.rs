//! What is said at the end of a run: why it failed, where it lies, what is missing, and what the report found, in this order and
//! in short.

use rankscope_cli::output::{self, Format};
use rankscope_job::list;
use rankscope_launch::{Caution, Left, Outcome, Reported, Summary};
use rankscope_run::{Exit, FirstFailure};
use rankscope_time::Rank;
use serde_json::{Value, json};

use super::profiled;

/// The rest is in the report.
const FINDINGS_MAX: usize = 5;

const NO_TRACES: &str = "the job left no traces: profile with torch.profiler or jax.profiler, record with rankscope-record, or name the files with --collect";

const REMOVED: &str = "its directory was removed while the job ran, so the run is lost";

pub(super) fn say(summary: &Summary<'_>, format: Format) {
    if format == Format::Json {
        // Nobody may be reading any more; the run is complete all the same.
        let _nobody_reads = output::answer(&document(summary).to_string());
        return;
    }
    if matches!(summary.reported, Reported::Removed) {
        return output::remark(&format!("rankscope: {}: {REMOVED}", summary.run.display()));
    }
    if let Some(failed) = &summary.failed {
        output::remark(&format!("rankscope: {failed}"));
    }
    output::remark(&format!("rankscope: the run is in {} ({})", summary.run.display(), sentence(&summary.left)));
    cautions(summary).into_iter().for_each(|caution| output::remark(&format!("  {caution}")));
    for finding in summary.found().into_iter().flat_map(|found| &found.findings).take(FINDINGS_MAX) {
        output::remark(&format!("  {finding}"));
    }
    profiled::told(summary).into_iter().for_each(|line| output::remark(&format!("  {line}")));
    if let Some(problem) = problem(&summary.reported, summary.outcome) {
        output::remark(&format!("  {problem}"));
    }
    if let Some(page) = summary.page() {
        output::remark(&format!("  report    {}", page.display()));
        if let Some(timeline) = summary.timeline() {
            output::remark(&format!("  timeline  {}  (for https://ui.perfetto.dev)", timeline.display()));
        }
    }
}

fn document(summary: &Summary<'_>) -> Value {
    let page = summary.page().map(|path| path.display().to_string());
    json!({
        "run": summary.run.display().to_string(),
        "run_id": summary.run_id,
        "exit_code": summary.outcome.code(),
        "failed": summary.failed.as_ref().map(failure),
        "traces": summary.left.files,
        "world_size": summary.left.world_size,
        "missing_ranks": summary.left.missing,
        "report": page,
        "timeline": page.and(summary.timeline()).map(|path| path.display().to_string()),
        "profiled": summary.profiled,
        "cautions": cautions(summary),
        "findings": summary.found().map(|found| &found.findings),
        "problem": problem(&summary.reported, summary.outcome),
    })
}

fn failure(failed: &FirstFailure) -> Value {
    let (code, signal) = match failed.exit {
        Some(Exit::Code(code)) => (Some(code), None),
        Some(Exit::Signal(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    json!({
        "rank": failed.rank,
        "host": failed.host,
        "exit_code": code,
        "signal": signal,
        "after_step": failed.after_step,
        "message": failed.message,
    })
}

fn cautions(summary: &Summary<'_>) -> Vec<String> {
    let words = |caution| match caution {
        Caution::Told(text) => text.to_owned(),
        Caution::MissingRanks(missing) => {
            format!("There is no trace of {}, which may be the slow one: the other traces cannot rule it out.", ranks(missing))
        }
    };
    summary.cautions().into_iter().map(words).collect()
}

/// Why there is no report.
fn problem(reported: &Reported, outcome: &Outcome) -> Option<String> {
    match reported {
        Reported::Found(_) | Reported::NotWanted => None,
        Reported::Failed(why) => Some(format!("there is no report: {}", output::told_of(why))),
        // Who never profiled wants to know how; whose job failed wants to know why.
        Reported::NoTraces if !outcome.started => None,
        Reported::NoTraces if !outcome.exit.is_success() => Some("the job wrote no traces into it".to_owned()),
        Reported::NoTraces => Some(NO_TRACES.to_owned()),
        Reported::Removed => Some(REMOVED.to_owned()),
    }
}

/// `3 of 4 traces; rank 2 left none`.
fn sentence(left: &Left) -> String {
    let plural = if left.files == 1 { "" } else { "s" };
    match (left.world_size, left.missing.as_slice()) {
        (_, []) | (None, _) => format!("{} trace{plural}", left.files),
        (Some(world), _) if left.files == 0 => format!("0 of {world} traces"),
        (Some(world), missing) => format!("{} of {world} traces; {} left none", left.files, ranks(missing)),
    }
}

/// `rank 2`, `ranks 2, 5`.
pub(crate) fn ranks(ranks: &[u32]) -> String {
    let listed: Vec<Rank> = ranks.iter().copied().map(Rank).collect();
    format!("rank{} {}", if ranks.len() == 1 { "" } else { "s" }, list(&listed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_left_no_trace_is_said() {
        let said = |files, world_size, missing: &[u32]| sentence(&Left { files, world_size, missing: missing.to_vec() });
        assert_eq!(said(0, None, &[]), "0 traces");
        assert_eq!(said(0, Some(2), &[0, 1]), "0 of 2 traces");
        assert_eq!(said(1, Some(1), &[]), "1 trace");
        assert_eq!(said(2, Some(4), &[1, 2]), "2 of 4 traces; ranks 1, 2 left none");
        assert_eq!(said(3, Some(4), &[2]), "3 of 4 traces; rank 2 left none");
    }
}
