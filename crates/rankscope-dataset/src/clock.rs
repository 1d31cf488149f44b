//! The table `clock`: how each rank's clock is known. And how far a stamp may be off.

use rankscope_align::{Method, RankAlignment, RankMap};
use rankscope_job::Job;
use rankscope_time::Instant;

use crate::{Frame, Table};

/// The rows of `job`.
pub fn clock(job: &Job) -> Frame {
    let clocks = &job.clocks.ranks;
    let number = |of: fn(&RankAlignment) -> i64| clocks.iter().map(of);
    Frame::of(Table::Clock)
        .numbers("rank", job.ranks.iter().map(|rank| rank.rank.0.into()))
        .maybe_numbers("node", job.nodes.iter().map(|node| node.map(i64::from)))
        .texts("method", clocks.iter().map(|clock| clock.method.name()))
        .numbers("at_ns", number(|clock| clock.at_ns))
        .numbers("offset_ns", number(|clock| clock.offset_ns))
        .numbers("drift_ppb", number(|clock| clock.drift_ppb))
        .maybe_numbers("offset_min_ns", clocks.iter().map(|clock| clock.bound.lo_ns))
        .maybe_numbers("offset_max_ns", clocks.iter().map(|clock| clock.bound.hi_ns))
}

/// Whether anything bounds how far a rank's stamps may be off on the job's clock.
pub fn is_bounded(clock: &RankAlignment) -> bool {
    clock.method != Method::AsRecorded
}

/// How far the stamp `ns` of a rank may be off on the job's clock, where that is known and fits the column.
pub(crate) fn err_ns(clock: &RankAlignment, ns: i64) -> Option<i64> {
    within_ns(&clock.map, is_bounded(clock), ns, 0)
}

/// The same by the rank's `map`, if that is bounded, of a stamp that may be off by `own_ns` on the rank's own clock.
pub(crate) fn within_ns(map: &RankMap, is_bounded: bool, ns: i64, own_ns: i64) -> Option<i64> {
    let err_ns = is_bounded.then(|| map.uncertainty_ns(Instant::from_nanos_since_epoch(ns)))?;
    i32::try_from(err_ns.saturating_add_signed(own_ns)).ok().map(i64::from)
}
