//! That a late rank's GPU was slowed down while it was late, and nobody else's was.
//!
//! It is said only where each rank concerned is tied to a GPU by its UUID ([`gpus`](crate::gpus)), its GPU was watched in most of the steps in which it was
//! late, and what is said then could not be said of any other rank that is known: GPUs that all run into their power limit explain no
//! difference.

use std::collections::BTreeSet;

use crate::gpus::{GpusByUuid, HostGpu, SlowedBy};
use crate::words::percent;
use crate::{Job, JobRank};

/// The GPU of a late rank was slowed for this share of the time, at least, and those of the others for no more than that.
const SLOWED_MIN: f64 = 0.5;
const OTHERS_MAX: f64 = 0.1;

/// Steps that are looked at, at least.
const STEPS_MIN: usize = 3;

/// What is known of the GPU of the rank at index `rank` in the steps `late` in which it is late, as a sentence.
pub(super) fn said(job: &Job, rank: usize, late: &BTreeSet<i64>) -> Option<String> {
    let gpus = GpusByUuid::of(&job.gpus);
    let own = shares(&gpus, &job.ranks[rank], late)?;
    let (by, share) = own.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let others = job.ranks.iter().enumerate().filter(|(index, _)| *index != rank);
    let known: Vec<f64> = others.filter_map(|(_, other)| Some(most(&shares(&gpus, other, late)?))).collect();
    let highest = known.iter().copied().reduce(f64::max)?;
    if share < SLOWED_MIN || highest > OTHERS_MAX {
        return None;
    }
    let of = match known.len() {
        1 => "that of the other rank whose GPU is known".to_owned(),
        many => format!("those of the {many} other ranks whose GPU is known"),
    };
    let most = if highest == 0.0 { "never".to_owned() } else { format!("for {} at most", percent(highest)) };
    Some(format!("Its GPU was {} for {} of the steps in which it was late, and {of} {most}.", by.words(), percent(share)))
}

fn most(shares: &[(SlowedBy, f64)]) -> f64 {
    shares.iter().map(|(_, share)| *share).fold(0.0, f64::max)
}

/// For how much of these steps, by its own marks, the GPU of `rank` was slowed by each cause. None where its GPU is not known, or was not
/// watched in most of them.
fn shares(gpus: &GpusByUuid<'_>, rank: &JobRank, steps: &BTreeSet<i64>) -> Option<Vec<(SlowedBy, f64)>> {
    let own = rank.about.gpu.as_ref()?;
    let (gpu, ahead_ns) = (gpus.get(&own.uuid)?, own.ahead_of_counter_ns);
    let marked = rank.report.steps.iter().filter(|step| steps.contains(&step.number));
    let windows: Vec<(i64, i64)> =
        marked.map(|step| (step.start_ns.saturating_sub(ahead_ns), step.end_ns.saturating_sub(ahead_ns))).collect();
    let found: Vec<(SlowedBy, f64)> =
        SlowedBy::ALL.into_iter().filter_map(|by| Some((by, share(gpu, by, &windows, steps.len())?))).collect();
    (!found.is_empty()).then_some(found)
}

/// Over all windows in which it was watched, where these are most of `of`.
fn share(gpu: &HostGpu, by: SlowedBy, windows: &[(i64, i64)], of: usize) -> Option<f64> {
    let watched =
        windows.iter().filter_map(|window| Some((window.1.saturating_sub(window.0) as f64, gpu.slowed(by, *window)?)));
    let (mut steps, mut length, mut slowed) = (0, 0.0, 0.0);
    for (ns, share) in watched {
        steps += 1;
        length += ns;
        slowed += share * ns;
    }
    (steps >= STEPS_MIN && steps * 2 > of).then(|| slowed / length)
}
