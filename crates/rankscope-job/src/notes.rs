//! What the reader should know, in sentences: the answers first, then the limits, then what was wrong with the input.

mod cautions;
mod clocks;
mod verdict;

use rankscope_analyze::{Finding, Side};
use rankscope_document::{CautionKind, Note, NoteLevel, spelling};

use crate::JobRank;
use crate::document::Source;
use crate::words::{percent, time};
pub(crate) use cautions::cautions;
pub(crate) use clocks::clock_notes;

/// Everything, in the order in which it matters: what stands in the way of an answer before the answers, the rest after them.
pub(crate) fn notes(source: &Source<'_>) -> Vec<Note> {
    let note = |level: NoteLevel| move |text: String| Note { level, text };
    let cautions = cautions(source).into_iter().filter(|caution| caution.kind != CautionKind::Crash);
    let cautions = cautions.map(|caution| caution.text).map(note(NoteLevel::Caution));
    // Nothing else matters as much to whoever looks at a job that failed.
    let failed = cautions::failed(source).map(note(NoteLevel::Finding)).into_iter();
    let problems = problems(source).into_iter().map(note(NoteLevel::Problem));
    // Between traces that are not of one job there is nothing to find, nor in one that is of no training job.
    if !source.job.doubts.is_empty() || !source.is_training() {
        return failed.chain(cautions).chain(problems).collect();
    }
    let mut findings: Vec<String> = verdict::sentences(source);
    findings.extend(source.analysis.findings.iter().map(|finding| sentence(source, finding)));
    findings.extend(clocks::finding(source.job));
    let findings = findings.into_iter().map(note(NoteLevel::Finding));
    failed.chain(findings).chain(cautions).chain(problems).collect()
}

fn sentence(source: &Source<'_>, finding: &Finding) -> String {
    match finding {
        Finding::Split { computation, exposed_comm, exposed_memcpy, idle } => {
            let whose = if source.job.ranks.iter().any(|rank| rank.report.side == Side::Device) { "device" } else { "host" };
            format!(
                "Of the {whose} time {} is computation, {} communication not overlapped by compute, {} exposed copies, and {} idle.",
                percent(*computation),
                percent(*exposed_comm),
                percent(*exposed_memcpy),
                percent(*idle)
            )
        }
        Finding::MostExposed { row, exposed_ns, share, waiting } => {
            let row = &source.analysis.collectives.rows[*row];
            let waiting = waiting.map_or_else(String::new, |waiting| {
                format!("; {} of its time is spent waiting for the last rank", percent(waiting))
            });
            let ranks = source.analysis.ranks.len() as i64;
            format!(
                "The most exposed collective is {} ({}): {} a rank, {} of all exposed communication{waiting}.",
                spelling::collective(&row.name, row.kind),
                describe(&spelling::dtype(&row.dtype), row.in_elements, &row.group),
                time(*exposed_ns / ranks.max(1)),
                percent(*share)
            )
        }
    }
}

fn describe(dtype: &str, elements: Option<u64>, group: &str) -> String {
    let size = elements.map(|elements| format!("{elements} elements"));
    let parts = [Some(dtype.to_owned()), size, Some(format!("group {group}"))];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

fn problems(source: &Source<'_>) -> Vec<String> {
    let ranks = &source.job.ranks;
    let problem = |rank: &JobRank| {
        let found: Vec<_> = rank.about.problems.iter().map(ToString::to_string).collect();
        let missing = missing_share(ranks, rank).map_or_else(String::new, |share| {
            format!(" About {} of rank {} is missing, judging by the other ranks' files.", percent(share), rank.rank)
        });
        (!found.is_empty()).then(|| format!("{}: {}.{missing}", rank.about.file, found.join("; ")))
    };
    ranks.iter().filter_map(problem).collect()
}

/// How much of `cut`, a trace that breaks off, is not there: ranks of one job leave files of about one size.
fn missing_share(ranks: &[JobRank], cut: &JobRank) -> Option<f64> {
    let breaks_off = |rank: &JobRank| rank.about.problems.iter().any(|problem| problem.kind.cuts_off());
    if !breaks_off(cut) {
        return None;
    }
    let mut whole: Vec<u64> = ranks.iter().filter(|rank| !breaks_off(rank)).map(|rank| rank.about.bytes).collect();
    whole.sort_unstable();
    let usual = *whole.get(whole.len() / 2)?;
    let missing = 1.0 - cut.about.bytes as f64 / usual as f64;
    (missing >= 0.01).then_some(missing)
}
