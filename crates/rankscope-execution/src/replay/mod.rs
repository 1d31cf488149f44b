//! What-if: the graph of a job run again under other durations.
//!
//! Every piece starts when the last of what it depends on has ended and its lag is over; a collective ends when the last one that is
//! waited for has come and the transfer is over. Both are delays against what was observed, so that the job without changes comes
//! back as it was. What a change cannot reach stays: a replay has the same pieces in the same order, and knows of no
//! resource that was never scarce in the recording.
//!
//! As that would hide what the graph does not explain, the job is also run with what delays are on average in the place of those that
//! were observed ([`Replay::modelled`]). What that makes of the unchanged job is off by what a replay has wrong about it. Delays that are
//! far out of their sort stay, and are told apart ([`Replay::stalls`]).
//!
//! Times are integers in each rank's own clock; only who waits for whom in a collective is asked on the job's. A replay takes one
//! pass over the pieces, and one number for each of them.

mod candidates;
mod change;
mod changes;
mod fence;
mod lags;
mod lengths;
mod medians;
mod meetings;
mod names;
mod parse;
mod programs;
mod run;
mod scene;
mod usual;
mod windows;

#[cfg(test)]
mod tests;

use std::sync::OnceLock;

pub use change::{Change, Factor, Reach};
pub use changes::{COMBINATIONS_MOST, Changes};
pub use names::{TargetError, TargetSort};
pub use parse::{ChangeError, parse};
pub use scene::Scene;
pub use usual::Stalls;

use lags::{Lags, NoLags};
use lengths::Lengths;
use medians::Work;
use windows::Bounds;

/// A job that is ready to be run again, any number of times.
#[derive(Debug)]
pub struct Replay<'a> {
    scene: Scene<'a>,
    lags: Vec<Lags>,
    bounds: Bounds,
    /// The work of all ranks, which only medians ask for.
    work: OnceLock<Work>,
    /// What each step took, as it was observed.
    observed_ns: (i64, Vec<i64>),
    unchanged: OnceLock<Replayed>,
    /// The lags of the modelled job, and the stalls of the rank that has most of them.
    usual: OnceLock<(Vec<Lags>, Stalls)>,
    modelled: OnceLock<Replayed>,
}

/// The job, run again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replayed {
    /// What a step of the job takes, in nanoseconds: the mean of the steps, each from the start to the end of its window on the rank
    /// that ends it last.
    pub step_ns: i64,
    /// What each step takes, in order of their numbers.
    pub steps_ns: Vec<i64>,
    /// Collectives in which ranks waited for each other in a circle, as orders or clocks contradict each other. Each was broken up.
    pub cycles: u64,
}

impl<'a> Replay<'a> {
    /// That of `scene`.
    pub fn of(scene: Scene<'a>) -> Self {
        let lags = scene.job.ranks.iter().map(|rank| Lags::of(rank)).collect();
        let bounds = Bounds::of(&scene);
        let observed_ns = bounds.steps_ns(None);
        let (work, unchanged, usual, modelled) = Default::default();
        Self { scene, lags, bounds, work, observed_ns, unchanged, usual, modelled }
    }

    /// Steps that figures are means of; none where the job has none, and they are of the whole recording.
    pub fn steps(&self) -> u64 {
        self.bounds.steps
    }

    /// The number of the rank at index `at`.
    pub fn rank(&self, at: usize) -> rankscope_time::Rank {
        self.scene.rank(at)
    }

    /// What a step of the job took, as it was observed, in nanoseconds.
    pub fn observed_step_ns(&self) -> i64 {
        self.observed_ns.0
    }

    /// What each of its steps took, in order of their numbers.
    pub fn observed_steps_ns(&self) -> &[i64] {
        &self.observed_ns.1
    }

    /// The job run again without a change: as it was observed, with the number of circles in which its ranks wait for each other.
    pub fn unchanged(&self) -> &Replayed {
        // Without a change there is no target that could be missing.
        self.unchanged.get_or_init(|| self.run(&[]).unwrap_or_default())
    }

    /// The job run again without a change and without its observed delays: every piece starts when what it depends on has ended and
    /// the average delay of such pieces is over. What threads do between two pieces stays, as that is their program, and so do transfers
    /// and [stalls](Self::stalls).
    pub fn modelled(&self) -> &Replayed {
        // Without a change there is no target that could be missing.
        self.modelled.get_or_init(|| self.run_modelled(&[]).unwrap_or_default())
    }

    /// Delays of the rank that has most of them which are far longer than others of their sort: by more than three times the range of the
    /// middle half of them (Tukey's outer fence), and on a device by more than a millisecond. Nothing that is recorded explains them, so
    /// the modelled job has them where they were.
    pub fn stalls(&self) -> Stalls {
        self.usual().1
    }

    fn usual(&self) -> &(Vec<Lags>, Stalls) {
        self.usual.get_or_init(|| {
            let ranks = self.lags.iter().zip(&self.scene.job.ranks);
            let (lags, stalls): (_, Vec<Stalls>) = ranks.map(|(own, rank)| own.modelled(rank)).unzip();
            (lags, stalls.into_iter().max_by_key(|own| own.ns).unwrap_or_default())
        })
    }

    /// The job with `changes`, all of them together, and without its observed delays.
    ///
    /// # Errors
    /// [`TargetError`] for the first that changes what is not there.
    pub fn run_modelled(&self, changes: &[Change]) -> Result<Replayed, TargetError> {
        self.run_with(&self.usual().0, changes)
    }

    /// Collectives that are matched with none of another rank, and all.
    pub fn unmatched(&self) -> (u64, u64) {
        let job = self.scene.job;
        let pieces = |at: usize| (0..).map_while(move |nth| job.ranks[at].nth_collective(nth));
        let all = (0..job.ranks.len()).flat_map(|at| pieces(at).map(move |(_, collective)| job.seat(at, collective)));
        all.fold((0, 0), |(lone, all), seat| (lone + u64::from(seat.is_none()), all + 1))
    }

    /// The job with `changes`, all of them together.
    ///
    /// # Errors
    /// [`TargetError`] for the first that changes what is not there.
    pub fn run(&self, changes: &[Change]) -> Result<Replayed, TargetError> {
        self.run_with(&self.lags, changes)
    }

    fn run_with(&self, lags: &[Lags], changes: &[Change]) -> Result<Replayed, TargetError> {
        let work = || self.work.get_or_init(|| Work::of(&self.scene));
        let lengths = Lengths::of(&self.scene, changes, work)?;
        let delays = run::run(&self.scene, lags, &lengths, &self.bounds.wanted);
        let (step_ns, steps_ns) = self.bounds.steps_ns(Some((&self.scene, &delays, lengths.overlap)));
        Ok(Replayed { step_ns, steps_ns, cycles: delays.cycles })
    }

    /// Single changes that are worth trying on any job: the operators with most time at half of it, each rank that works longer or
    /// shorter than the others at their median, each sort of collective without its transfer, perfect overlap, and no lag of launches.
    pub fn candidates(&self) -> Vec<Change> {
        let several = self.scene.job.ranks.len() > 1;
        let work = several.then(|| self.work.get_or_init(|| Work::of(&self.scene)));
        candidates::candidates(&self.scene, work)
    }
}
