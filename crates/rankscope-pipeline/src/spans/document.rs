//! From what analysis found to the document that is printed. Translates; decides nothing.

use rankscope_analyze::spans::{SpanStats, SpanTable, counts};
use rankscope_document::{Note, NoteLevel, SpansBy, SpansDocument, SpansProcess, SpansRow, SpansSort};
use rankscope_job::problem;
use rankscope_trace::{ProblemKind, Trace};

use super::ReadSpans;

/// Layout version of the document.
const SCHEMA: u32 = 1;

/// The first `top` rows of each part of `table`, of what `read` holds, called `title`.
pub fn spans_document(
    read: &ReadSpans,
    table: SpanTable,
    (by, sort): (SpansBy, SpansSort),
    top: usize,
    title: &str,
) -> SpansDocument {
    let left_out = |rows: &[SpanStats]| rows.len().saturating_sub(top) as u64;
    let (spans_left_out, async_spans_left_out) = (left_out(&table.spans), left_out(&table.asynchronous));
    let rows = |rows: Vec<SpanStats>| rows.into_iter().take(top).map(row).collect();
    SpansDocument {
        schema: SCHEMA,
        rankscope_version: env!("CARGO_PKG_VERSION").to_owned(),
        title: title.to_owned(),
        by,
        sort,
        notes: notes(read),
        processes: processes(read),
        spans: rows(table.spans),
        spans_left_out,
        async_spans: rows(table.asynchronous),
        async_spans_left_out,
    }
}

fn row(stats: SpanStats) -> SpansRow {
    SpansRow {
        name: stats.name,
        category: stats.category,
        process: stats.process,
        thread: stats.thread,
        count: stats.count,
        unfinished: stats.unfinished,
        total_ns: stats.total_ns,
        self_ns: stats.self_ns,
        p50_ns: stats.p50_ns,
        p99_ns: stats.p99_ns,
        max_ns: stats.max_ns,
        threads: stats.threads,
    }
}

fn processes(read: &ReadSpans) -> Vec<SpansProcess> {
    let process = |((trace, nesting), name): ((&Trace, _), &String)| {
        let about = &trace.provenance;
        let (threads, spans, async_spans) = counts(nesting);
        let (start_ns, end_ns) = trace.bounds_ns().unwrap_or_default();
        SpansProcess {
            name: name.clone(),
            file: about.file.clone(),
            format: about.format.name().into(),
            rank: trace.provenance.own_rank().map(|rank| rank.0),
            host: about.host.clone(),
            start_ns,
            end_ns,
            threads,
            spans,
            async_spans,
            unfinished: trace.unfinished.len() as u64,
            problems: about.problems.iter().map(problem).collect(),
        }
    };
    read.traces().iter().zip(&read.nestings).zip(&read.names).map(process).collect()
}

/// What is missing, and what was wrong with the files.
fn notes(read: &ReadSpans) -> Vec<Note> {
    let note = |level: NoteLevel| move |text: String| Note { level, text };
    let cautions = read.traces().iter().flat_map(|trace| {
        let file = &trace.provenance.file;
        let open = trace.unfinished.len();
        let (has, lasts) = if open == 1 { ("span has", "it lasts") } else { ("spans have", "they last") };
        let open = (open > 0).then(|| {
            format!("{file}: {open} {has} no end there; {lasts} to where the recording, or what is there of the thread, ends.")
        });
        let lost = trace.provenance.problems.iter().filter(|problem| problem.kind == ProblemKind::LostPackets);
        let lost = lost.map(move |problem| match problem.detail.as_str() {
            "" => format!("{file}: {problem}."),
            detail => format!("{file}: {detail}."),
        });
        open.into_iter().chain(lost)
    });
    let skipped = read.skipped().iter().map(|skipped| format!("Skipped {skipped}."));
    let problems = read.traces().iter().filter_map(|trace| {
        let about = &trace.provenance;
        let unfinished = trace.unfinished.len() as u64;
        let said_above = |problem: &&rankscope_trace::Problem| match problem.kind {
            ProblemKind::LostPackets => true,
            ProblemKind::UnbalancedSpan => problem.count <= unfinished,
            _ => false,
        };
        let found: Vec<String> =
            about.problems.iter().filter(|problem| !said_above(problem)).map(ToString::to_string).collect();
        (!found.is_empty()).then(|| format!("{}: {}.", about.file, found.join("; ")))
    });
    let cautions = cautions.chain(skipped).map(note(NoteLevel::Caution));
    cautions.chain(problems.map(note(NoteLevel::Problem))).collect()
}
