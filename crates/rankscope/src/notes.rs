//! What the reader should know, in sentences: the answers first, then the limits, then what was wrong with the input.

mod cautions;
mod clocks;
mod verdict;

use rankscope_analyze::{Finding, Side};
use rankscope_document::{CautionKind, Note, NoteLevel};
use rankscope_report::spelling;
use rankscope_trace::Trace;

use crate::document::Source;
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
            let whose = if source.analysis.ranks.iter().any(|rank| rank.side == Side::Device) { "device" } else { "host" };
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
    let traces = &source.job.loaded.traces;
    traces
        .iter()
        .filter_map(|trace| {
            let about = &trace.provenance;
            let found: Vec<_> = about.problems.iter().map(ToString::to_string).collect();
            let missing = missing_share(traces, trace).map_or_else(String::new, |share| {
                let whose = about.rank.map_or_else(|| "it".to_owned(), |(rank, _)| format!("rank {rank}"));
                format!(" About {} of {whose} is missing, judging by the other ranks' files.", percent(share))
            });
            (!found.is_empty()).then(|| format!("{}: {}.{missing}", about.file, found.join("; ")))
        })
        .collect()
}

/// How much of `cut`, a trace that breaks off, is not there: ranks of one job leave files of about one size.
fn missing_share(traces: &[Trace], cut: &Trace) -> Option<f64> {
    let breaks_off = |trace: &Trace| trace.provenance.problems.iter().any(|problem| problem.kind.cuts_off());
    let mut whole: Vec<u64> = traces.iter().filter(|trace| !breaks_off(trace)).map(|trace| trace.provenance.bytes).collect();
    whole.sort_unstable();
    let usual = *whole.get(whole.len() / 2).filter(|_| breaks_off(cut))?;
    let missing = 1.0 - cut.provenance.bytes as f64 / usual as f64;
    (missing >= 0.01).then_some(missing)
}

fn percent(share: f64) -> String {
    format!("{:.1}\u{a0}%", share * 100.0)
}

pub(crate) fn time(ns: i64) -> String {
    let ns = ns as f64;
    match ns.abs() {
        s if s >= 1e9 => format!("{:.2} s", ns / 1e9),
        ms if ms >= 1e6 => format!("{:.2} ms", ns / 1e6),
        us if us >= 1e3 => format!("{:.1} us", ns / 1e3),
        _ => format!("{ns} ns"),
    }
}
