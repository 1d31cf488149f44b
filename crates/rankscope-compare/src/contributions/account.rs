//! The time of a step, and of each rank in it, in whole nanoseconds that add up.

use rankscope_document::Document;

use crate::common::Common;
use crate::iterations::{Iterations, share};
use crate::side::{Run, Side};
use crate::structure::{RankSide, RankStructure};
use crate::work::{Class, RankWork, Splitting};

/// What a rank's time is the mean of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The marked steps.
    Steps,
    /// The whole trace, by the iteration: no run marks steps.
    Trace,
    /// The same, because marks are lost or on one side only: what is left of the others may hold two steps.
    TraceWithoutMarks,
}

/// A rank that is in every run of both sides.
pub(super) struct RankPair<'a> {
    pub(super) number: u32,
    pub(super) base: Vec<RankRun<'a>>,
    pub(super) test: Vec<RankRun<'a>>,
    pub(super) iterations: Iterations,
    pub(super) splitting: Splitting,
    pub(super) structure: RankStructure,
}

/// It in one run.
#[derive(Clone, Copy)]
pub(super) struct RankRun<'a> {
    pub(super) work: RankWork<'a>,
    run: &'a Run,
    index: usize,
}

/// Time by class; the classes add up to the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Account([i64; 4]);

impl Account {
    pub(super) fn of(self, class: Class) -> i64 {
        self.0[class as usize]
    }

    pub(super) fn total_ns(self) -> i64 {
        self.0.iter().sum()
    }
}

/// `parts` divided among `count`: what rounding left goes to those that lost most by it, so that they add up to their rounded sum.
pub(super) fn apportioned(parts: [i64; 4], count: u64) -> [i64; 4] {
    let divisor = i128::from(count.max(1));
    let mut shares = parts.map(|part| i128::from(part).div_euclid(divisor) as i64);
    let left = share(parts.iter().sum(), count) - shares.iter().sum::<i64>();
    let mut order = [0, 1, 2, 3];
    order.sort_by_key(|index| (std::cmp::Reverse(i128::from(parts[*index]).rem_euclid(divisor)), *index));
    for index in order.into_iter().take(usize::try_from(left).unwrap_or(0)) {
        shares[index] += 1;
    }
    shares
}

/// The ranks that every run of both sides has, ascending.
pub(super) fn pairs<'a>(base: &'a Side, test: &'a Side) -> Vec<RankPair<'a>> {
    let (Some(first), Some(_)) = (base.runs.first(), test.runs.first()) else { return Vec::new() };
    let mut numbers: Vec<u32> = first.document.ranks.iter().map(|rank| rank.rank).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.into_iter().filter_map(|number| pair(number, base, test)).collect()
}

fn pair<'a>(number: u32, base_side: &'a Side, test_side: &'a Side) -> Option<RankPair<'a>> {
    let places = base_side.runs.iter().chain(&test_side.runs).map(|run| place(run, number));
    let ranks = places.collect::<Option<Vec<_>>>()?;
    let common = Common::of(ranks.iter().map(|(run, index)| (&run.document, &run.document.ranks[*index])));
    let found = |side: &'a Side| side.runs.iter().map(|run| at(run, number, common)).collect::<Option<Vec<_>>>();
    let (mut base, mut test) = (found(base_side)?, found(test_side)?);
    let iterations = Iterations::of(base[0].work.rank, test[0].work.rank);
    let first = base[0].work.rank;
    for run in base.iter_mut().chain(&mut test) {
        run.work.iterations = Iterations::of(first, run.work.rank).test;
    }
    base[0].work.iterations = iterations.base;
    let splitting = Splitting::of(base.iter().chain(&test).map(|run| run.work));
    let works = |side: &'a Side, runs: &[RankRun<'a>]| RankSide {
        label: side.label(),
        runs: runs.iter().map(|run| run.work).collect(),
    };
    let structure = RankStructure::of(&works(base_side, &base), &works(test_side, &test), &splitting, &iterations);
    Some(RankPair { number, base, test, iterations, splitting, structure })
}

fn place(run: &Run, number: u32) -> Option<(&Run, usize)> {
    Some((run, run.document.ranks.iter().position(|rank| rank.rank == number)?))
}

fn at(run: &Run, number: u32, common: Common) -> Option<RankRun<'_>> {
    let (_, index) = place(run, number)?;
    let document: &Document = &run.document;
    Some(RankRun { work: RankWork { document, rank: &document.ranks[index], common, iterations: 1 }, run, index })
}

impl Mode {
    pub(super) fn of(pairs: &[RankPair<'_>], base: &Side, test: &Side) -> Self {
        let is_lost = pairs.iter().any(|pair| pair.iterations.lost.is_some());
        let unmarked = |run: &&Run| run.steps.is_whole() || run.steps.len() == 0;
        let runs = || base.runs.iter().chain(&test.runs);
        let unmarked = runs().filter(unmarked).count();
        match (is_lost, unmarked) {
            (false, 0) => Self::Steps,
            (false, count) if count == runs().count() => Self::Trace,
            _ => Self::TraceWithoutMarks,
        }
    }
}

impl RankPair<'_> {
    pub(super) fn base_account(&self, mode: Mode) -> Account {
        account(&self.base, mode)
    }

    pub(super) fn test_account(&self, mode: Mode) -> Account {
        account(&self.test, mode)
    }

    pub(super) fn wait_delta_ns(&self) -> i64 {
        mean_wait(&self.test) - mean_wait(&self.base)
    }

    /// How long it waited on both sides together.
    pub(super) fn wait_ns(&self) -> i64 {
        mean_wait(&self.test).saturating_add(mean_wait(&self.base))
    }
}

fn mean_wait(runs: &[RankRun<'_>]) -> i64 {
    share(runs.iter().map(|run| run.work.wait_ns()).sum(), runs.len() as u64)
}

fn account(runs: &[RankRun<'_>], mode: Mode) -> Account {
    let mut sums = [0; 4];
    for run in runs {
        let own = run.account(mode);
        sums.iter_mut().zip(own.0).for_each(|(sum, part)| *sum += part);
    }
    Account(apportioned(sums, runs.len() as u64))
}

impl RankRun<'_> {
    fn account(&self, mode: Mode) -> Account {
        if mode != Mode::Steps {
            return Account(apportioned(Class::ALL.map(|class| class.of(&self.work.rank.time_ns)), self.work.iterations));
        }
        let mut sums = [0; 4];
        for time in self.run.steps.accounts(&self.run.document, self.index) {
            Class::ALL.iter().zip(&mut sums).for_each(|(class, sum)| *sum += class.of(time));
        }
        Account(apportioned(sums, self.run.steps.len() as u64))
    }
}

/// The mean time of a step of the job, over the steps of each run and then over runs.
pub(super) fn step_ns(side: &Side) -> i64 {
    share(side.runs.iter().map(of_run).sum(), side.runs.len() as u64)
}

fn of_run(run: &Run) -> i64 {
    let ranks = &run.document.ranks;
    if run.steps.len() == 0 {
        return ranks.iter().map(|rank| rank.time_ns.total).max().unwrap_or(0);
    }
    let by_rank: Vec<Vec<i64>> =
        (0..ranks.len()).map(|index| run.steps.accounts(&run.document, index).map(|time| time.total).collect()).collect();
    let slowest = |step: usize| by_rank.iter().map(|rank| rank[step]).max().unwrap_or(0);
    share((0..run.steps.len()).map(slowest).sum(), run.steps.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_their_rounded_sum() {
        for (parts, count) in
            [([1, 1, 1, 0], 3), ([10, 11, 12, 13], 7), ([0, 0, 0, 5], 2), ([-7, 3, 1, 1], 5), ([4, 4, 4, 4], 1)]
        {
            assert_eq!(apportioned(parts, count).iter().sum::<i64>(), share(parts.iter().sum(), count), "{parts:?} {count}");
        }
        assert_eq!(apportioned([10, 11, 12, 13], 7), [1, 2, 2, 2]);
    }
}
