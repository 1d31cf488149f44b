//! The run's clocks and causality against the truth.

use std::fs::File;

use rankscope_time::{Instant, RankClock};

use crate::error::Error;
use crate::product::{AlignedJob, AlignedRank, CollectiveSpan};
use crate::truth::{Errors, Stamp, Truth, stamps};

/// What came out.
pub(crate) struct Verdict {
    pub(crate) ranks: Vec<RankVerdict>,
    pub(crate) errors: Errors,
    /// Collectives that every rank must have entered before any left, as far as they were found on all.
    pub(crate) collectives: usize,
    /// Those of them that a rank left before another entered, by the clocks as recorded.
    pub(crate) violations_before: usize,
    /// And by the aligned ones.
    pub(crate) violations_after: usize,
    pub(crate) steps: usize,
}

/// One rank's clock where its trace begins: what it is ahead of the reference, truly and as measured.
#[derive(Clone, Copy)]
pub(crate) struct RankVerdict {
    pub(crate) true_offset_ns: i64,
    pub(crate) true_drift_ppb: i64,
    pub(crate) estimated_offset_ns: i64,
    pub(crate) estimated_drift_ppb: i64,
    pub(crate) bound_ns: (Option<i64>, Option<i64>),
}

/// Holds `job`, read as any job is, against the truth. `recorded` are the ranks' live recordings.
pub(crate) fn judge(job: &AlignedJob, recorded: Vec<File>, mut truth: Truth) -> Result<Verdict, Error> {
    if job.ranks.len() != recorded.len() {
        return Err(Error::Traces { traces: job.ranks.len(), ranks: recorded.len() });
    }
    let (mut errors, mut ranks) = (Errors::default(), Vec::with_capacity(recorded.len()));
    for (rank, (live, aligned)) in recorded.into_iter().zip(&job.ranks).enumerate() {
        let stamps = stamps(live)?;
        errors.add(&stamps, &aligned.map, &mut truth);
        ranks.push(of_rank(aligned, rank, &stamps, &mut truth)?);
    }
    let aligned_ns =
        |rank: usize, ns| job.ranks[rank].map.map(Instant::<RankClock>::from_nanos_since_epoch(ns)).nanos_since_epoch();
    Ok(Verdict {
        ranks,
        errors: errors.finish(),
        collectives: job.collectives.len(),
        violations_before: violations(job, |_, ns| ns),
        violations_after: violations(job, aligned_ns),
        steps: job.steps,
    })
}

fn of_rank(aligned: &AlignedRank, rank: usize, stamps: &[Stamp], truth: &mut Truth) -> Result<RankVerdict, Error> {
    let first = stamps.iter().min_by_key(|stamp| stamp.shown_ns);
    let last = stamps.iter().max_by_key(|stamp| stamp.shown_ns);
    let (Some(first), Some(last)) = (first, last) else { return Err(Error::NothingRecorded { rank }) };
    if first.shown_ns != aligned.begin_ns {
        return Err(Error::OtherBeginning { rank });
    }
    let mut ahead_ns = |tick| truth.host_ns(rank, tick) - truth.reference_ns(tick);
    let gained_ns = ahead_ns(last.tick) - ahead_ns(first.tick);
    let elapsed_ns = (last.shown_ns - first.shown_ns).max(1);
    Ok(RankVerdict {
        true_offset_ns: first.shown_ns - truth.reference_ns(first.tick),
        true_drift_ppb: (i128::from(gained_ns) * 1_000_000_000 / i128::from(elapsed_ns)) as i64,
        estimated_offset_ns: aligned.offset_ns,
        estimated_drift_ppb: aligned.drift_ppb,
        bound_ns: aligned.bound_ns,
    })
}

/// How many collectives somebody left before somebody else entered, if `place` says when stamps of a rank were.
fn violations(job: &AlignedJob, place: impl Fn(usize, i64) -> i64) -> usize {
    let is_violated = |spans: &&Vec<CollectiveSpan>| {
        let latest_start = spans.iter().map(|span| place(span.rank, span.start_ns)).max();
        let earliest_end = spans.iter().map(|span| place(span.rank, span.end_ns)).min();
        latest_start >= earliest_end
    };
    job.collectives.iter().filter(is_violated).count()
}

#[cfg(test)]
mod tests {
    use rankscope_time::{ClockMap, Span};

    use super::*;

    #[test]
    fn a_collective_is_violated_when_somebody_leaves_before_somebody_enters() {
        let rank = |ahead_ns: i64| AlignedRank {
            map: ClockMap::from_offset(Span::from_nanos(-ahead_ns), 0),
            begin_ns: 0,
            offset_ns: ahead_ns,
            drift_ppb: 0,
            bound_ns: (None, None),
        };
        // Rank 1 is 100 ns ahead; both truly are in it from 10 to 20, and from 210 to 350.
        let both = |start_ns: i64, end_ns: i64| {
            let of = |(rank, ahead_ns)| CollectiveSpan { rank, start_ns: start_ns + ahead_ns, end_ns: end_ns + ahead_ns };
            [(0, 0), (1, 100)].map(of).to_vec()
        };
        let job = AlignedJob { ranks: vec![rank(0), rank(100)], collectives: vec![both(10, 20), both(210, 350)], steps: 1 };
        let aligned_ns =
            |rank: usize, ns| job.ranks[rank].map.map(Instant::<RankClock>::from_nanos_since_epoch(ns)).nanos_since_epoch();
        assert_eq!((violations(&job, |_, ns| ns), violations(&job, aligned_ns)), (1, 0));
    }
}
