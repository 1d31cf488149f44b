//! What the reader should know, in sentences: the answers first, then the limits, then what was wrong with the input.

use rankscope_align::Method;
use rankscope_analyze::{Finding, Side};
use rankscope_report::{Note, NoteLevel};

use crate::document::Source;
use crate::job::{Job, list, rank_of};

pub(crate) fn notes(source: &Source<'_>) -> Vec<Note> {
    let of = |level: NoteLevel| move |text: String| Note { level, text };
    let findings = source.analysis.findings.iter().map(|finding| sentence(source, finding)).map(of(NoteLevel::Finding));
    let cautions = cautions(source).into_iter().map(of(NoteLevel::Caution));
    let (good, clocks): (Vec<Note>, Vec<Note>) =
        clock_notes(source.job).into_iter().partition(|note| note.level == NoteLevel::Finding);
    let skipped = source.job.loaded.skipped.iter().map(|skipped| format!("Passed over {skipped}.")).map(of(NoteLevel::Caution));
    let problems = problems(source).into_iter().map(of(NoteLevel::Problem));
    findings.chain(good).chain(cautions).chain(clocks).chain(skipped).chain(problems).collect()
}

fn sentence(source: &Source<'_>, finding: &Finding) -> String {
    match finding {
        Finding::Split { computation, exposed_comm, exposed_memcpy, idle } => {
            let whose = if source.analysis.ranks.iter().any(|rank| rank.side == Side::Device) { "device" } else { "host" };
            format!(
                "Of the {whose} time {} is computation, {} communication that nothing hides, {} exposed copies and {} idle.",
                percent(*computation),
                percent(*exposed_comm),
                percent(*exposed_memcpy),
                percent(*idle)
            )
        }
        Finding::Late { rank, last, of, delay_ns, certain, uncertainty_ns } => {
            let rank = source.rank(*rank);
            let late = format!(
                "Rank {rank} is late: last to {last} of {of} matched collectives, costing the others {}.",
                time(*delay_ns)
            );
            match (*certain, *uncertainty_ns) {
                (true, _) => late,
                (false, i64::MAX) => {
                    format!("{late} The clocks of the ranks are not bounded by anything, so this may be their difference.")
                }
                (false, open) => {
                    format!(
                        "{late} Its mean lead is within the {} that ends of one collective differ by, so it may be a clock.",
                        time(open)
                    )
                }
            }
        }
        Finding::NobodyLate { of } => format!("No rank stands out as late over {of} matched collectives."),
        Finding::MostExposed { row, exposed_ns, share, waiting } => {
            let row = &source.analysis.collectives.rows[*row];
            let waiting = waiting
                .map_or_else(String::new, |waiting| format!("; {} of its stay is waiting for the last rank", percent(waiting)));
            format!(
                "The most exposed collective is {} ({}), {} over all ranks, {} of all exposed communication{waiting}.",
                row.name,
                describe(&row.dtype, row.in_elements, &row.group),
                time(*exposed_ns),
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

fn cautions(source: &Source<'_>) -> Vec<String> {
    let mut cautions = Vec::new();
    let on_host: Vec<_> = source.analysis.ranks.iter().filter(|rank| rank.side == Side::Host).map(|rank| rank.rank).collect();
    // Where no rank shows any, the views say so at their top.
    if !on_host.is_empty() && on_host.len() < source.analysis.ranks.len() {
        cautions.push(format!("No device activity on rank {}: the times there are of the host.", list(&on_host)));
    }
    if !source.job.completeness.missing.is_empty() {
        let world = source.job.completeness.world_size.unwrap_or(0);
        let missing = list(&source.job.completeness.missing);
        cautions.push(format!(
            "{} of {world} ranks reported; there is no trace of rank {missing}.",
            source.job.loaded.traces.len()
        ));
    }
    let table = &source.analysis.collectives;
    let (matched, all) = (table.arrivals.len(), table.arrivals.len() + table.lacking.len());
    if matched < all {
        let why = if source.job.loaded.traces.len() == 1 { ", as there is one rank only" } else { "" };
        cautions.push(format!("{matched} of {all} collectives matched across ranks{why}; waits and bandwidths are of those."));
    }
    cautions
}

/// What the times between ranks rest on.
pub(crate) fn clock_notes(job: &Job) -> Vec<Note> {
    let caution = |text| Note { level: NoteLevel::Caution, text };
    let clocks = &job.clocks;
    let ranks = || clocks.ranks.iter().zip(job.loaded.traces.iter().map(rank_of));
    let largest = || clocks.ranks.iter().map(|clock| clock.offset_ns.saturating_abs()).max().unwrap_or(0);
    let mut notes = Vec::new();
    match clocks.method {
        Method::Measured => notes.push(Note { level: NoteLevel::Finding, text: format!(
            "The clocks were measured: they differ by up to {}, and every rank's is known to {}.",
            time(largest()),
            guaranteed(job)
        ) }),
        Method::OneHost | Method::AsRecorded => {}
        Method::Mixed => {
            let left = ranks().filter(|(clock, _)| clock.method == Method::AsRecorded).map(|(_, rank)| rank);
            notes.push(caution(format!(
                "Clocks were measured for some ranks only; rank {} stays as recorded, so times between it and the others are not to be \
                 trusted.",
                list(&left.collect::<Vec<_>>())
            )));
        }
        Method::FromTraces => notes.push(caution(format!(
            "The ranks' clocks differ: corrected by up to {} from the ends of the collectives, which then agree to {}; causality alone \
             guarantees {}. Measured clocks would be stronger.",
            time(largest()),
            time(clocks.estimate.agreement_ns.unwrap_or(0)),
            guaranteed(job)
        ))),
    }
    if clocks.estimate.bounds.contradiction().is_some() && !matches!(clocks.method, Method::Measured | Method::OneHost) {
        notes.push(caution(
            "The stamps of the ranks contradict causality whatever their clocks; no clock was corrected.".to_owned(),
        ));
    }
    for (clock, rank) in ranks() {
        notes.extend(clock.notes.iter().map(|note| caution(format!("Rank {rank}: {note}."))));
    }
    notes.extend(job.notes.iter().map(|note| caution(format!("Clocks: {note}."))));
    notes
}

/// The widest half interval that is left to any rank's clock.
fn guaranteed(job: &Job) -> String {
    let halves = job.clocks.ranks.iter().map(|clock| clock.bound.width_ns().map(|width| width / 2));
    match halves.collect::<Option<Vec<_>>>() {
        Some(halves) => format!("±{}", time(halves.into_iter().max().unwrap_or(0))),
        None => "nothing".to_owned(),
    }
}

fn problems(source: &Source<'_>) -> Vec<String> {
    let traces = &source.job.loaded.traces;
    traces
        .iter()
        .filter_map(|trace| {
            let about = &trace.provenance;
            let found: Vec<_> = about
                .problems
                .iter()
                .map(|problem| format!("{} {} (first at byte {})", problem.count, problem.kind, problem.offset))
                .collect();
            (!found.is_empty()).then(|| format!("{}: {}.", about.file, found.join(", ")))
        })
        .collect()
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
