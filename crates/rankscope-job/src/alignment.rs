//! From a job that was moved to its document. Translates; decides nothing.

use rankscope_align::{Method, RankAlignment, measure};
use rankscope_document::{AlignmentDocument, RankAlignment as RankRow, TracerAlignment};

use crate::notes::clock_notes;
use crate::{Job, SettledTracer};

/// Layout version of the document.
const SCHEMA: u32 = 1;

/// How the ranks of `job` came on to one clock. What that does to events is told from the first and the last span of each rank.
pub fn alignment(title: String, job: &Job) -> AlignmentDocument {
    let clocks = &job.clocks;
    let ranks: Vec<RankRow> = clocks.ranks.iter().enumerate().map(|(index, clock)| rank(job, index, clock)).collect();
    let complete = job.matched.instances.iter().filter(|instance| instance.complete).count() as u64;
    AlignmentDocument {
        schema: SCHEMA,
        title,
        method: clocks.method.name().into(),
        weaker: clocks.method == Method::FromTraces,
        reference: reference(job, &ranks),
        matched: complete,
        unmatched: job.matched.instances.len() as u64 - complete,
        notes: clock_notes(job),
        ranks,
    }
}

fn reference(job: &Job, ranks: &[RankRow]) -> String {
    match job.clocks.method {
        Method::Measured | Method::Mixed => format!("node {}", job.reference_node),
        _ => ranks.first().map_or_else(|| "nothing".to_owned(), |rank| format!("rank {}", rank.rank)),
    }
}

fn rank(job: &Job, index: usize, clock: &RankAlignment) -> RankRow {
    let about = &job.ranks[index].about;
    let moved = measure(&clock.map, about.events, about.bounds_ns);
    let tracer = |settled: &SettledTracer| TracerAlignment {
        clock: settled.clock.clone(),
        knots: settled.knots,
        passed_over: settled.passed_over,
        steps: settled.steps,
        events: settled.events,
        extrapolated: settled.extrapolated,
    };
    RankRow {
        rank: job.ranks[index].rank.0,
        node: job.nodes[index],
        method: clock.method.name().into(),
        stages: clock.stages.iter().map(|stage| (*stage).into()).collect(),
        applied: !clock.map.is_identity(),
        at_ns: clock.at_ns,
        offset_ns: clock.offset_ns,
        drift_ppb: clock.drift_ppb,
        bound_lo_ns: clock.bound.lo_ns,
        bound_hi_ns: clock.bound.hi_ns,
        degraded: clock.degraded,
        events: moved.events,
        extrapolated: moved.extrapolated_by_stage,
        correction_min_ns: moved.correction_min_ns,
        correction_max_ns: moved.correction_max_ns,
        uncertainty_max_ns: Some(moved.uncertainty_max_ns).filter(|ns| clock.method != Method::AsRecorded && *ns < u64::MAX),
        tracers: job.ranks[index].tracers.iter().map(tracer).collect(),
    }
}
