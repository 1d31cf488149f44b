//! Both sides of the pacing rank's step, split into the same parts.

use std::collections::BTreeMap;

use rankscope_document::ClassChange;

use super::account::{Mode, RankPair, RankRun};
use crate::iterations::share;
use crate::structure::steps;
use crate::work::{Class, Leaf, Sum};

/// A part of a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Leaf(Leaf),
    /// How much more the sums of tables are than the class: a part that is less than nothing.
    Overlap(Class),
    /// What the marked steps have more of a class than an iteration of the whole trace.
    Outside(Class),
    /// What the slowest rank of each step is slower than the pacing one.
    OtherRanks,
    /// What marks that are lost, or on one side only, make of the mean step.
    Marks,
}

/// One part on both sides: base first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Amounts {
    pub(super) ns: [i64; 2],
    /// The amount in each run.
    pub(super) runs: [Vec<i64>; 2],
    /// Time and number in the first run, over the whole trace.
    pub(super) sums: [Sum; 2],
}

impl Amounts {
    pub(super) fn delta_ns(&self) -> i64 {
        self.ns[1] - self.ns[0]
    }
}

/// The split.
#[derive(Clone, Debug, Default)]
pub(super) struct Split {
    pub(super) parts: BTreeMap<(Option<Class>, Part), Amounts>,
    /// Marks that are lost: what they are called, whose they are where they are one rank's, and whether the test lacks them.
    pub(super) lost: Option<(String, Option<u32>, bool)>,
}

pub(super) fn of(paced: Option<&RankPair<'_>>, pairs: &[RankPair<'_>], mode: Mode, step_ns: [i64; 2]) -> Split {
    let mut split = Split { parts: BTreeMap::new(), lost: lost(pairs) };
    let mut rest = step_ns;
    if let Some(pair) = paced {
        let accounts = [pair.base_account(mode), pair.test_account(mode)];
        for class in Class::ALL {
            split.put_class(class, pair, mode, accounts.map(|account| account.of(class)));
        }
        rest = [0, 1].map(|side| step_ns[side] - accounts[side].total_ns());
    }
    let part = if mode == Mode::TraceWithoutMarks { Part::Marks } else { Part::OtherRanks };
    split.parts.insert((None, part), Amounts { ns: rest, ..Amounts::default() });
    split
}

/// Lost marks, those of the rank with most first.
fn lost(pairs: &[RankPair<'_>]) -> Option<(String, Option<u32>, bool)> {
    let all: Vec<_> = pairs.iter().filter_map(|pair| Some((pair.number, pair.iterations.lost.as_ref()?))).collect();
    let (number, most) = all.iter().max_by_key(|(number, lost)| (lost.steps.len(), std::cmp::Reverse(*number)))?;
    Some((steps(&most.steps), (all.len() == 1 && pairs.len() > 1).then_some(*number), most.in_test))
}

impl Split {
    /// Adds what `class`, which takes `ns` on each side, is made of.
    fn put_class(&mut self, class: Class, pair: &RankPair<'_>, mode: Mode, ns: [i64; 2]) {
        let mut parts: BTreeMap<Part, Amounts> = BTreeMap::new();
        let sides = [&pair.base, &pair.test];
        for (side, runs) in sides.into_iter().enumerate() {
            for (index, run) in runs.iter().enumerate() {
                put_run(&mut parts, class, pair, run, (side, index));
            }
        }
        for amounts in parts.values_mut() {
            for (side, runs) in sides.into_iter().enumerate() {
                amounts.runs[side].resize(runs.len(), 0);
                amounts.ns[side] = share(amounts.runs[side].iter().sum(), runs.len() as u64);
            }
        }
        let rest = [0, 1].map(|side| ns[side] - parts.values().map(|part| part.ns[side]).sum::<i64>());
        let part = if mode == Mode::Steps { Part::Outside(class) } else { Part::Overlap(class) };
        let amounts = parts.entry(part).or_default();
        amounts.ns = [0, 1].map(|side| amounts.ns[side] + rest[side]);
        self.parts.extend(parts.into_iter().map(|(part, amounts)| ((Some(class), part), amounts)));
    }

    /// The change by class.
    pub(super) fn classes(&self) -> Vec<ClassChange> {
        let of = |class: Option<Class>| self.parts.iter().filter(move |((own, _), _)| *own == class);
        let row = |name: &str, ns: [i64; 2]| ClassChange {
            class: name.to_owned(),
            base_ns: ns[0],
            test_ns: ns[1],
            delta_ns: ns[1] - ns[0],
        };
        let class = |class: Class| row(class.key(), [0, 1].map(|side| of(Some(class)).map(|(_, part)| part.ns[side]).sum()));
        let aside = of(None)
            .map(|((_, part), amounts)| row(if *part == Part::Marks { "step_marks" } else { "other_ranks" }, amounts.ns));
        Class::ALL.into_iter().map(class).chain(aside).collect()
    }
}

fn put_run(
    parts: &mut BTreeMap<Part, Amounts>,
    class: Class,
    pair: &RankPair<'_>,
    run: &RankRun<'_>,
    (side, index): (usize, usize),
) {
    let mut left = share(class.of(&run.work.rank.time_ns), run.work.iterations);
    let mut put = |part: Part, ns: i64, sum: Sum| {
        let amounts = parts.entry(part).or_default();
        let runs = &mut amounts.runs[side];
        runs.resize(runs.len().max(index + 1), 0);
        runs[index] += ns;
        if index == 0 {
            let own = &mut amounts.sums[side];
            *own = Sum { ns: own.ns + sum.ns, count: own.count + sum.count };
        }
    };
    for (leaf, sum) in run.work.leaves(class, &pair.splitting) {
        let leaf = if side == 1 { pair.structure.base_of(&leaf) } else { leaf };
        let ns = share(sum.ns, run.work.iterations);
        left -= ns;
        put(Part::Leaf(leaf), ns, sum);
    }
    put(Part::Overlap(class), left, Sum::default());
}
