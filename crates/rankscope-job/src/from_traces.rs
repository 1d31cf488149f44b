//! `rankscope align --from-traces`: what the collectives alone say about the clocks, and which answers hang on it.
//!
//! This is the weakest of all ways to know a clock, and every form of the answer says so: the interval is the result, and where
//! it is wide enough to change who is late, that is in the answer too.

use rankscope_align::{ClockEstimate, DRIFT_MAX, IntervalEnd, RankMap, Side};
use rankscope_analyze::{Flip, Ranking};
use rankscope_collectives::RankCollectives;
use rankscope_document::{BoundEnd, ClockFlip, ClockMethod, EstimatedClock, FlippedAnswer, FromTracesDocument};
use rankscope_time::Instant;

use crate::Job;
use crate::words::list;

/// The answer about `job`, whatever else was measured of its clocks.
pub fn from_traces(job: &Job) -> FromTracesDocument {
    let estimate = &job.clocks.estimate;
    let ranks = &job.collectives;
    let number = |index: usize| ranks[index].rank.0;
    let rows = estimate.clocks.iter().enumerate().map(|(index, clock)| EstimatedClock {
        rank: number(index),
        offset_ns: clock.offset_ns,
        drift_ppb: clock.drift_ppb,
        bound_lo_ns: clock.bound.lo_ns,
        bound_hi_ns: clock.bound.hi_ns,
        applied: clock.applied,
    });
    let matched = job.matched.instances.iter().filter(|instance| instance.complete).count();
    let flips = flips(estimate, job);
    FromTracesDocument {
        ranks: rows.collect(),
        matched,
        unmatched: job.matched.instances.len() - matched,
        method: if estimate.corrected { ClockMethod::Collectives } else { ClockMethod::AsRecorded },
        at_ns: estimate.at_ns,
        agreement_ns: estimate.agreement_ns,
        hosts_known: estimate.hosts_known,
        drift_max_ppb: DRIFT_MAX.as_ppb(),
        shared_clocks: estimate.shared.iter().map(|clock| clock.iter().map(|index| number(*index)).collect()).collect(),
        notes: notes(estimate, ranks, &flips),
        flips,
    }
}

/// From the first start to the last end of any rank, on the reference clock.
fn recorded_ns(job: &Job) -> i64 {
    let bounds = || {
        let ranks = job.ranks.iter().zip(&job.clocks.ranks);
        ranks.filter_map(|(rank, clock)| {
            let mapped = |ns| clock.map.map(Instant::from_nanos_since_epoch(ns)).nanos_since_epoch();
            rank.about.bounds_ns.map(|(from, to)| (mapped(from), mapped(to)))
        })
    };
    let (from, to) = (bounds().map(|own| own.0).min(), bounds().map(|own| own.1).max());
    to.unwrap_or(0).saturating_sub(from.unwrap_or(0))
}

/// What changes about who is late when clocks are at the ends of their bounds.
fn flips(estimate: &ClockEstimate, job: &Job) -> Vec<ClockFlip> {
    let (ranks, recorded_ns) = (&job.collectives, recorded_ns(job));
    let number = |index: usize| ranks[index].rank.0;
    let ranking = |clocks: &[rankscope_align::RankClocks]| {
        let maps: Vec<RankMap> = clocks.iter().map(|clock| clock.map(estimate.at_ns)).collect();
        Ranking::of(ranks, &job.matched, &maps.iter().collect::<Vec<_>>(), recorded_ns, job.side())
    };
    let here = ranking(&estimate.clocks);
    let rows = |end: IntervalEnd| {
        let moved: Vec<u32> = end.moved.iter().map(|index| number(*index)).collect();
        let side = if end.side == Side::Lo { BoundEnd::Lo } else { BoundEnd::Hi };
        let row = |flip: Flip| {
            let index = |index: usize| u64::from(number(index));
            let (conclusion, from, to, rank) = match flip {
                Flip::Late { from, to } => (FlippedAnswer::Late, from.map(index), to.map(index), None),
                Flip::MostOftenLast { from, to } => (FlippedAnswer::MostOftenLast, Some(index(from)), Some(index(to)), None),
                Flip::Last { rank, from, to } => (FlippedAnswer::TimesLast, Some(from), Some(to), Some(number(rank))),
            };
            ClockFlip { moved: moved.clone(), end: side.clone(), conclusion, from, to, rank }
        };
        here.flips(&ranking(&end.clocks)).into_iter().map(row).collect::<Vec<_>>()
    };
    estimate.interval_ends().into_iter().flat_map(rows).collect()
}

fn notes(estimate: &ClockEstimate, ranks: &[RankCollectives], flips: &[ClockFlip]) -> Vec<String> {
    let mut notes = vec!["Estimated from the collectives alone; measured clocks would be more certain.".to_owned()];
    let mut note = |text: String| notes.push(text);
    let unbounded: Vec<_> = ranks.iter().zip(&estimate.clocks).filter(|(_, clock)| clock.bound.width_ns().is_none()).collect();
    if let Some(rank) = estimate.bounds.contradiction() {
        let rank = ranks[rank].rank;
        note(format!("The timestamps of rank {rank} contradict causality with any clock offset; nothing was corrected."));
    } else if !unbounded.is_empty() {
        let unbounded: Vec<_> = unbounded.into_iter().map(|(rank, _)| rank.rank).collect();
        note(format!("No collective bounds the clock of rank {} on both sides.", list(&unbounded)));
    }
    if !estimate.corrected && !estimate.hosts_known && ranks.len() > 1 && estimate.bounds.contradiction().is_none() {
        note("The clocks may well be equal and no two hosts are known to differ, so no timestamp was corrected.".to_owned());
    }
    if flips.iter().any(|flip| flip.conclusion == FlippedAnswer::Late) {
        note("Which rank is late depends on where the clocks lie within their bounds.".to_owned());
    }
    notes
}
