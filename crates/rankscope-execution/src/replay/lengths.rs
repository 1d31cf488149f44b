//! [`Lengths`]: what changes make of the length of a piece and of the transfer of a collective.

use super::medians::{Among, ToMedian, Work};
use super::names::{self, TargetError};
use super::{Change, Factor, NoLags, Reach, Scene, lags};
use crate::{Activity, Execution, Key, LaneKind, MeetingId, PieceId};

/// The changes of a replay, looked up for the job it is of.
#[derive(Debug)]
pub(super) struct Lengths<'a> {
    scene: &'a Scene<'a>,
    /// By rank.
    ranks: Vec<OfRank>,
    /// The work of all, where any rank is put at a median.
    work: Option<&'a Work>,
    /// Factors of transfers by meeting; none where no link changes.
    links: Vec<f64>,
    no_lags: NoLags,
    /// By rank, the last wait for a device of each step, in order, where the others are dropped.
    last_waits: Vec<Vec<PieceId>>,
    /// By rank, the copies that the host would have waited for in those others, in order.
    fetched: Vec<Vec<PieceId>>,
    pub(super) overlap: bool,
}

/// What changes on one rank; nothing where a list is empty.
#[derive(Clone, Debug, Default)]
struct OfRank {
    /// Factors by key.
    keys: Vec<f64>,
    /// Factors by collective.
    collectives: Vec<f64>,
    to_median: Option<ToMedian>,
}

impl<'a> Lengths<'a> {
    /// Those that `changes` make in `scene`; `work` gives the work of all ranks, which takes a pass over the job, where it is asked for.
    pub(super) fn of(scene: &'a Scene<'a>, changes: &[Change], work: impl Fn() -> &'a Work) -> Result<Self, TargetError> {
        let ranks = vec![OfRank::default(); scene.job.ranks.len()];
        let mut lengths = Self {
            scene,
            ranks,
            work: None,
            links: Vec::new(),
            no_lags: NoLags::default(),
            last_waits: Vec::new(),
            fetched: Vec::new(),
            overlap: false,
        };
        let together = together(scene, changes);
        for change in changes {
            lengths.add(change, &together, &work)?;
        }
        Ok(lengths)
    }

    fn add(&mut self, change: &Change, together: &[usize], work: &impl Fn() -> &'a Work) -> Result<(), TargetError> {
        let scene = self.scene;
        match change {
            Change::Operator { name, factor } => {
                let name = names::operator(scene, name)?;
                self.times(*factor, |_, key| names::is_of_operator(key, name));
            }
            Change::Kernel { name, factor } => {
                let name = names::kernel(scene, name)?;
                self.times(*factor, |_, key| names::is_of_kernel(key, name));
            }
            Change::Host { name, factor } => {
                let name = names::host(scene, name)?;
                self.times(*factor, |_, key| names::is_of_host(key, name));
            }
            Change::AllHost { factor } => self.times(*factor, |_, key| key.activity.is_host()),
            Change::Within { place, factor } => {
                let place = names::place(scene, place)?;
                self.times(*factor, |_, key| key.place == place);
            }
            Change::NoSynchronization => {
                self.no_lags.synchronization = true;
                self.last_waits = (0..self.ranks.len()).map(|at| last_waits(self.scene, at)).collect();
                self.fetched =
                    (0..self.ranks.len()).map(|at| fetched(self.scene.job.ranks[at], &self.last_waits[at])).collect();
            }
            Change::RankTimes { rank, factor } => {
                let at = names::rank(scene, *rank)?;
                self.times(*factor, |rank, key| rank == at && key.activity != Activity::Communication);
            }
            Change::RankAtMedian { rank } => {
                let at = names::rank(scene, *rank)?;
                if self.ranks.len() < 2 {
                    return Err(TargetError::NoOtherRank { rank: *rank });
                }
                // Ranks that are changed together are no measure for each other, unless there are no others. The first one brings all.
                if together.len() == self.ranks.len() {
                    self.at_median(&[at], Among::Without(&[at]), work());
                } else if together.first() == Some(&at) {
                    self.at_median(together, Among::Without(together), work());
                }
            }
            Change::PerfectBalance => {
                let all: Vec<usize> = (0..self.ranks.len()).collect();
                self.at_median(&all, Among::All, work());
            }
            Change::Collective { kind, group, factor } => {
                let found = names::collectives(scene, kind, group.as_deref())?;
                for (at, own) in found.iter().enumerate() {
                    let factors = &mut self.ranks[at].collectives;
                    factors.resize(scene.collectives[at].collectives.len(), 1.0);
                    own.iter().for_each(|one| factors[*one] *= factor.value());
                }
            }
            Change::Link { reach, speed } => self.speed(*reach, *speed)?,
            Change::PerfectOverlap => self.overlap = true,
            Change::NoLaunchLag => self.no_lags.launches = true,
            Change::NoLag => self.no_lags.all = true,
        }
        Ok(())
    }

    /// Multiplies the time of all keys that are `wanted`.
    fn times(&mut self, factor: Factor, wanted: impl Fn(usize, &Key) -> bool) {
        for (at, (own, rank)) in self.ranks.iter_mut().zip(&self.scene.job.ranks).enumerate() {
            for (place, _) in rank.keys().iter().enumerate().filter(|(_, key)| wanted(at, key)) {
                own.keys.resize(rank.keys().len(), 1.0);
                own.keys[place] *= factor.value();
            }
        }
    }

    fn at_median(&mut self, ranks: &[usize], among: Among<'_>, work: &'a Work) {
        for (at, to_median) in ranks.iter().zip(work.to_medians(self.scene, ranks, among)) {
            self.ranks[*at].to_median = Some(to_median);
        }
        self.work = Some(work);
    }

    fn speed(&mut self, reach: Reach, speed: Factor) -> Result<(), TargetError> {
        let meetings = &self.scene.job.meetings;
        let uses: Vec<Option<bool>> = meetings.iter().map(|meeting| self.scene.uses(meeting, reach)).collect();
        if !uses.contains(&Some(true)) {
            let is_unknown = self.scene.nodes.iter().all(Option::is_none);
            return Err(if is_unknown { TargetError::UnknownNodes { reach } } else { TargetError::UnusedLink { reach } });
        }
        let times = if speed == Factor::ZERO { 0.0 } else { 1.0 / speed.value() };
        self.links.resize(meetings.len(), 1.0);
        let changed = self.links.iter_mut().zip(&uses).filter(|(_, uses)| **uses == Some(true));
        changed.for_each(|(factor, _)| *factor *= times);
        Ok(())
    }

    /// What lags the piece `id` of the rank at index `at` loses.
    pub(super) fn no_lags(&self, at: usize, id: PieceId) -> NoLags {
        let is_last = self.last_waits.get(at).is_some_and(|last| last.binary_search(&id).is_ok());
        let (synchronization, all) = (self.no_lags.synchronization && !is_last, self.no_lags.all || self.is_gone(at, id));
        NoLags { synchronization, all, ..self.no_lags }
    }

    /// Whether the piece `id` is a copy of what nobody fetches any more.
    fn is_not_fetched(&self, at: usize, id: PieceId) -> bool {
        self.fetched.get(at).is_some_and(|fetched| fetched.binary_search(&id).is_ok())
    }

    /// Whether the piece `id` is work of a device that takes no time any more, and so is not there.
    fn is_gone(&self, at: usize, id: PieceId) -> bool {
        if self.is_not_fetched(at, id) {
            return true;
        }
        let (execution, keys) = (self.scene.job.ranks[at], &self.ranks[at].keys);
        let factor = || keys.get(execution.key_of(id).0 as usize);
        let is_none = !keys.is_empty() && factor().is_some_and(|factor| *factor == 0.0);
        is_none && execution.lane_kind(id) == LaneKind::Stream
    }

    /// How long the piece `id` of the rank at index `at` takes.
    pub(super) fn piece_ns(&self, at: usize, execution: &Execution, id: PieceId) -> i64 {
        let own = &self.ranks[at];
        if self.is_not_fetched(at, id) {
            return 0;
        }
        if own.keys.is_empty() && own.to_median.is_none() {
            return execution.dur_ns(id);
        }
        let shares = execution.shares(id);
        shares.fold(0, |sum: i64, share| sum.saturating_add(scaled(share.ns, self.share(at, id, share.key.0))))
    }

    /// The factor of time that goes to `key`, in the piece `id` of the rank at index `at`.
    fn share(&self, at: usize, id: PieceId, key: u32) -> f64 {
        let own = &self.ranks[at];
        let mut factor = own.keys.get(key as usize).copied().unwrap_or(1.0);
        if let (Some(to_median), Some(work)) = (&own.to_median, &self.work) {
            factor *= work.factor(to_median, at, id, key);
        }
        factor
    }

    /// The factor of the transfer of a collective, the piece `id` of the rank at index `at`: its part in `meeting`, if it is matched.
    pub(super) fn transfer(&self, at: usize, id: PieceId, collective: impl Fn() -> usize, meeting: Option<MeetingId>) -> f64 {
        let own = &self.ranks[at];
        let key = || own.keys.get(self.scene.job.ranks[at].key_of(id).0 as usize).copied().unwrap_or(1.0);
        let key = if own.keys.is_empty() { 1.0 } else { key() };
        let all = || own.collectives.get(collective()).copied().unwrap_or(1.0);
        let all = if own.collectives.is_empty() { 1.0 } else { all() };
        let link = meeting.and_then(|meeting| self.links.get(meeting.0 as usize)).copied().unwrap_or(1.0);
        key * all * link
    }
}

/// Indices of the ranks that `changes` put at the median, in order.
fn together(scene: &Scene<'_>, changes: &[Change]) -> Vec<usize> {
    let index = |change: &Change| match change {
        Change::RankAtMedian { rank } => scene.index(*rank),
        _ => None,
    };
    let mut ranks: Vec<usize> = changes.iter().filter_map(index).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// The last piece of each step in which the host waits for a device; without steps the last of all.
fn last_waits(scene: &Scene<'_>, at: usize) -> Vec<PieceId> {
    let execution = scene.job.ranks[at];
    let steps = scene.windows(at);
    let step = |id: PieceId| steps.partition_point(|step| step.start_ns <= execution.start_ns(id));
    let waits = execution.ids().filter(|id| lags::waits_for_device(execution, *id));
    let mut last: Vec<(usize, PieceId)> = Vec::new();
    for id in waits {
        match last.last_mut().filter(|(known, _)| *known == step(id)) {
            Some((_, known)) => *known = id,
            None => last.push((step(id), id)),
        }
    }
    last.into_iter().map(|(_, id)| id).collect()
}

/// Copies to the host for which it waits, but where that wait is one of `last`, in order.
fn fetched(execution: &Execution, last: &[PieceId]) -> Vec<PieceId> {
    let is_fetch = |id: PieceId| {
        let key = execution.key(execution.key_of(id));
        key.activity == Activity::Copy && names::is_to_host(&key.name)
    };
    let waits = execution.ids().filter(|id| lags::waits_for_device(execution, *id) && last.binary_search(id).is_err());
    let mut fetched: Vec<PieceId> = waits.filter_map(|id| execution.piece(id).waits_for).filter(|id| is_fetch(*id)).collect();
    fetched.sort_unstable();
    fetched.dedup();
    fetched
}

/// `ns` times `factor`, to the nearest; a factor of one changes nothing, however long it is.
pub(super) fn scaled(ns: i64, factor: f64) -> i64 {
    if factor == 1.0 { ns } else { (ns as f64 * factor).round() as i64 }
}
