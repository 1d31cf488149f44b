//! The run's clocks and causality against the truth, through the same door as every other job.

use std::fs::File;
use std::path::Path;

use anyhow::{Result, ensure};
use rankscope_job::Job;
use rankscope_pipeline::judged;
use rankscope_time::{Instant, RankClock};

use super::truth::{Errors, Stamp, Truth, stamps};
use crate::job::{Bar, ClockArgs, request};

/// What came out.
pub(super) struct Verdict {
    pub(super) ranks: Vec<RankVerdict>,
    pub(super) errors: Errors,
    /// Collectives that every rank must have entered before any left, as far as they were found on all.
    pub(super) collectives: usize,
    /// Those of them that a rank left before another entered, by the clocks as recorded.
    pub(super) violations_before: usize,
    /// And by the aligned ones.
    pub(super) violations_after: usize,
    pub(super) steps: usize,
}

/// One rank's clock where its trace begins: what it is ahead of the reference, truly and as measured.
#[derive(Clone, Copy)]
pub(super) struct RankVerdict {
    pub(super) true_offset_ns: i64,
    pub(super) true_drift_ppb: i64,
    pub(super) estimated_offset_ns: i64,
    pub(super) estimated_drift_ppb: i64,
    pub(super) bound_ns: (Option<i64>, Option<i64>),
}

/// Reads the run at `path` as anybody would, and holds it against the truth. `recorded` are the ranks' live recordings.
pub(super) fn judge(path: &Path, recorded: Vec<File>, mut truth: Truth) -> Result<Verdict> {
    let job = judged(&request(&[path.to_owned()], false, &ClockArgs::default()), &Bar::default())?.job;
    ensure!(job.clocks.ranks.len() == recorded.len(), "{} traces of {} ranks", job.clocks.ranks.len(), recorded.len());
    let (mut errors, mut ranks) = (Errors::default(), Vec::with_capacity(recorded.len()));
    for (rank, live) in recorded.into_iter().enumerate() {
        let stamps = stamps(live)?;
        errors.add(&stamps, &job.clocks.ranks[rank].map, &mut truth);
        ranks.push(of_rank(&job, rank, &stamps, &mut truth)?);
    }
    let (collectives, violations_before) = violations(&job, |_, ns| ns);
    let (_, violations_after) = violations(&job, |rank, ns| {
        job.clocks.ranks[rank].map.map(Instant::<RankClock>::from_nanos_since_epoch(ns)).nanos_since_epoch()
    });
    let steps = job.ranks.first().map_or(0, |rank| rank.about.marked_steps.len());
    Ok(Verdict { ranks, errors: errors.finish(), collectives, violations_before, violations_after, steps })
}

fn of_rank(job: &Job, rank: usize, stamps: &[Stamp], truth: &mut Truth) -> Result<RankVerdict> {
    let alignment = &job.clocks.ranks[rank];
    let first = stamps.iter().min_by_key(|stamp| stamp.shown_ns);
    let last = stamps.iter().max_by_key(|stamp| stamp.shown_ns);
    let (Some(first), Some(last)) = (first, last) else { anyhow::bail!("rank {rank} recorded nothing") };
    ensure!(first.shown_ns == alignment.at_ns, "the trace of rank {rank} begins elsewhere than its recording");
    let mut ahead_ns = |tick| truth.host_ns(rank, tick) - truth.reference_ns(tick);
    let gained_ns = ahead_ns(last.tick) - ahead_ns(first.tick);
    let elapsed_ns = (last.shown_ns - first.shown_ns).max(1);
    Ok(RankVerdict {
        true_offset_ns: first.shown_ns - truth.reference_ns(first.tick),
        true_drift_ppb: (i128::from(gained_ns) * 1_000_000_000 / i128::from(elapsed_ns)) as i64,
        estimated_offset_ns: alignment.offset_ns,
        estimated_drift_ppb: alignment.drift_ppb,
        bound_ns: (alignment.bound.lo_ns, alignment.bound.hi_ns),
    })
}

/// How many collectives need everybody, and how many of them somebody left before somebody else entered, if `place` says when
/// stamps of a rank were.
fn violations(job: &Job, place: impl Fn(usize, i64) -> i64) -> (usize, usize) {
    let (mut judged, mut violated) = (0, 0);
    for instance in job.matched.instances.iter().filter(|instance| instance.complete && instance.members.len() > 1) {
        let stays =
            instance.members.iter().map(|member| (member.rank, &job.collectives[member.rank].collectives[member.collective]));
        if !stays.clone().all(|(_, stay)| stay.kind.needs_all()) {
            continue;
        }
        let latest_start = stays.clone().map(|(rank, stay)| place(rank, stay.start_ns)).max();
        let earliest_end = stays.map(|(rank, stay)| place(rank, stay.end_ns)).min();
        judged += 1;
        violated += usize::from(latest_start >= earliest_end);
    }
    (judged, violated)
}
