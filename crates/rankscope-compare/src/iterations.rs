//! How many iterations a rank's tables are of.
//!
//! Tables are sums over a whole trace, so they are compared by the iteration. Marks of steps tell how many there were, unless one is lost:
//! where nearly every operator ran equally often on both sides, there were equally many iterations, however many are marked.

use std::collections::BTreeMap;

use rankscope_document::Rank;
use rustc_hash::FxHashMap;

/// The iterations of one rank of both sides, and the marks that one of them lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Iterations {
    pub(crate) base: u64,
    pub(crate) test: u64,
    pub(crate) lost: Option<Lost>,
}

/// Marks that one side of a rank has and the other lacks, though it did the same work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    /// Their numbers.
    pub(crate) steps: Vec<i64>,
    /// Whether it is the test that lacks them.
    pub(crate) in_test: bool,
}

/// Of how many things in common the counts have to be equal, in percent.
const ALIKE_PERCENT: usize = 60;

impl Iterations {
    pub(crate) fn of(base: &Rank, test: &Rank) -> Self {
        let marks = [base, test].map(|rank| rank.steps.len() as u64);
        let trusted = |lost| Self { base: marks[0].max(1), test: marks[1].max(1), lost };
        if marks[0] == marks[1] || !work_is_equal(base, test) {
            return trusted(None);
        }
        let in_test = marks[1] < marks[0];
        let (full, fewer) = if in_test { (base, test) } else { (test, base) };
        let Some(steps) = lost(full, fewer) else { return trusted(None) };
        let most = marks[0].max(marks[1]);
        Self { base: most, test: most, lost: Some(Lost { steps, in_test }) }
    }
}

/// The marks of `full` that `fewer` lost; none where it did the same work in fewer, longer steps.
fn lost(full: &Rank, fewer: &Rank) -> Option<Vec<i64>> {
    let mut left: FxHashMap<i64, usize> = FxHashMap::default();
    for step in &full.steps {
        *left.entry(step.step).or_default() += 1;
    }
    for step in &fewer.steps {
        let left = left.get_mut(&step.step)?;
        *left = left.checked_sub(1)?;
    }
    let (most, least) = (full.steps.len(), fewer.steps.len());
    let is_few = most - least <= 1.max(most / 4);
    let mut lengths: Vec<i64> = full.steps.iter().map(|step| step.time_ns.total).collect();
    lengths.sort_unstable();
    let shortest = fewer.steps.iter().map(|step| step.time_ns.total).min();
    let grew =
        shortest.is_some_and(|shortest| 2.0 * shortest as f64 >= lengths[most / 2] as f64 * (1.0 + most as f64 / least as f64));
    let mut steps: Vec<i64> = left.into_iter().flat_map(|(step, count)| std::iter::repeat_n(step, count)).collect();
    steps.sort_unstable();
    (is_few || !grew).then_some(steps)
}

/// Whether nearly all that both sides have ran equally often on both.
fn work_is_equal(base: &Rank, test: &Rank) -> bool {
    let (base, test) = (counts(base), counts(test));
    let common: Vec<bool> = base.iter().filter_map(|(key, count)| Some(test.get(key)? == count)).collect();
    let equal = common.iter().filter(|equal| **equal).count();
    !common.is_empty() && equal * 100 >= common.len() * ALIKE_PERCENT
}

/// How often each operator ran; without operators, each kernel.
fn counts(rank: &Rank) -> BTreeMap<&str, u64> {
    let operators = rank.tables.as_ref().and_then(|tables| tables.ops_summary.as_ref()).filter(|rows| !rows.is_empty());
    let mut counts = BTreeMap::new();
    match operators {
        Some(rows) => rows.iter().for_each(|row| *counts.entry(row.name.as_str()).or_default() += row.count),
        None => rank.kernels.iter().for_each(|row| *counts.entry(row.name.as_str()).or_default() += row.count),
    }
    counts
}

/// `sum` divided among `count`, to the nearest; halves away from zero, so that signs do not matter.
pub(crate) fn share(sum: i64, count: u64) -> i64 {
    let (sum, count) = (i128::from(sum), i128::from(count.max(1)));
    let doubled = 2 * sum.abs() + count;
    (sum.signum() * (doubled / (2 * count))) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankscope_document::{Kernel, Step, Time};

    fn rank(steps: &[(i64, i64)], calls: u64) -> Rank {
        let step = |(step, total): &(i64, i64)| Step {
            step: *step,
            window_ns: [0, 0],
            time_ns: Time { total: *total, ..Time::default() },
        };
        let kernel = |name: &str| Kernel { name: name.to_owned(), count: calls, ..Kernel::default() };
        Rank { steps: steps.iter().map(step).collect(), kernels: vec![kernel("a"), kernel("b")], ..Rank::default() }
    }

    #[test]
    fn a_lost_mark_is_no_lost_iteration() {
        let base = rank(&[(4, 10), (5, 10), (6, 10)], 6);
        for (left, lost) in [(vec![(5, 10), (6, 10)], 4), (vec![(4, 20), (6, 10)], 5), (vec![(4, 10), (5, 9)], 6)] {
            let iterations = Iterations::of(&base, &rank(&left, 6));
            assert_eq!((iterations.base, iterations.test), (3, 3));
            assert_eq!(iterations.lost, Some(Lost { steps: vec![lost], in_test: true }));
            let turned = Iterations::of(&rank(&left, 6), &base);
            assert_eq!(turned.lost, Some(Lost { steps: vec![lost], in_test: false }));
        }
    }

    #[test]
    fn fewer_steps_with_fewer_calls_are_fewer_iterations() {
        let base = rank(&[(0, 10), (1, 10), (2, 10), (3, 10)], 8);
        let half = Iterations::of(&base, &rank(&[(0, 10), (1, 10)], 4));
        assert_eq!(half, Iterations { base: 4, test: 2, lost: None });
        // As many calls in half as many steps, each twice as long: another way to work.
        let longer = Iterations::of(&base, &rank(&[(0, 20), (1, 20)], 8));
        assert_eq!(longer, Iterations { base: 4, test: 2, lost: None });
        assert_eq!(Iterations::of(&rank(&[], 8), &rank(&[], 8)), Iterations { base: 1, test: 1, lost: None });
        let none = Iterations::of(&base, &rank(&[], 8));
        assert_eq!((none.base, none.test, none.lost.map(|lost| lost.steps.len())), (4, 4, Some(4)));
    }

    #[test]
    fn shares_are_rounded_alike_on_both_sides_of_zero() {
        assert_eq!([7, -7, 8, -8, i64::MAX, i64::MIN].map(|sum| share(sum, 2)), [4, -4, 4, -4, 1 << 62, -(1 << 62)]);
        assert_eq!(share(5, 0), 5);
    }
}
