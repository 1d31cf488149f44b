//! The parts of a change as rows, the largest first.
//!
//! When ranks arrive in another order, time in a collective moves from waiting to moving data or back, and the step takes as long as before:
//! where the two change in opposite directions, both rank by what remains. Where compute hides what a collective takes longer, the
//! collective ranks by its time, and what is hidden by what remains of both.

use rankscope_document::{Contribution, ContributionKind};
use rustc_hash::FxHashMap;

use super::account::RankPair;
use super::split::{Amounts, Part, Split};
use super::why::{self, Why};
use crate::Settings;
use crate::names::call;
use crate::work::{Class, Leaf};

/// The contributions of `split`: all that changed, in time or in structure.
pub(super) fn contributions(split: &Split, paced: Option<&RankPair<'_>>, settings: &Settings) -> Vec<Contribution> {
    let row = |((class, part), amounts): (&(Option<Class>, Part), &Amounts)| {
        let why = paced.map_or_else(Why::default, |pair| why::of(part, amounts, pair));
        let is_lost = *part == Part::Marks && split.lost.is_some();
        let is_structural = why.is_structural || is_lost;
        (amounts.delta_ns() != 0 || is_structural)
            .then(|| (is_structural, contribution(*class, part, amounts, why, split, paced, settings)))
    };
    let mut rows: Vec<(bool, Contribution)> = split.parts.iter().filter_map(row).collect();
    let size = Sizes::of(rows.iter().map(|(_, row)| row));
    // What is a cause comes before what may follow from it, where both are as large.
    rows.sort_by_cached_key(|(is_structural, row)| {
        (std::cmp::Reverse(size.of_row(row)), !is_structural, order(&row.kind), row.name.clone(), row.class.clone())
    });
    rows.into_iter().map(|(_, row)| row).collect()
}

/// How large parts are beside each other.
struct Sizes {
    /// Change of waiting, of moving data and of what compute hides, by collective.
    collectives: FxHashMap<String, [i64; 3]>,
}

impl Sizes {
    fn of<'a>(rows: impl Iterator<Item = &'a Contribution>) -> Self {
        let mut collectives: FxHashMap<String, [i64; 3]> = FxHashMap::default();
        for row in rows {
            if let Some(part) = part_of_collective(row) {
                collectives.entry(row.name.clone()).or_default()[part] += row.delta_ns;
            }
        }
        Self { collectives }
    }

    fn of_row(&self, row: &Contribution) -> u64 {
        let part = part_of_collective(row);
        let Some(([wait, transfer, hidden], part)) = self.collectives.get(&row.name).zip(part) else {
            return row.delta_ns.unsigned_abs();
        };
        let remaining =
            |a: i64, b: i64| if a.signum() * b.signum() < 0 { (a + b).unsigned_abs() } else { row.delta_ns.unsigned_abs() };
        if part == HIDDEN { remaining(wait + transfer, *hidden) } else { remaining(*wait, *transfer) }
    }
}

/// The place of what compute hides among the parts of a collective.
const HIDDEN: usize = 2;

/// Which part of a collective it is: waiting, moving data, or what compute hides of both.
fn part_of_collective(row: &Contribution) -> Option<usize> {
    match row.kind {
        ContributionKind::CollectiveWait => Some(0),
        ContributionKind::CollectiveTransfer => Some(1),
        ContributionKind::Overlap if row.class.as_deref() == Some(Class::ExposedComm.key()) => Some(HIDDEN),
        _ => None,
    }
}

fn order(kind: &ContributionKind) -> usize {
    const ORDER: [ContributionKind; 9] = [
        ContributionKind::StepMarks,
        ContributionKind::Operator,
        ContributionKind::Kernel,
        ContributionKind::CollectiveTransfer,
        ContributionKind::Copy,
        ContributionKind::Idle,
        ContributionKind::CollectiveWait,
        ContributionKind::Overlap,
        ContributionKind::OutsideSteps,
    ];
    ORDER.iter().position(|other| other == kind).unwrap_or(ORDER.len())
}

fn contribution(
    class: Option<Class>,
    part: &Part,
    amounts: &Amounts,
    why: Why,
    split: &Split,
    paced: Option<&RankPair<'_>>,
    settings: &Settings,
) -> Contribution {
    let (kind, name) = named(part, split);
    let rank = match part {
        Part::OtherRanks => None,
        Part::Marks => split.lost.as_ref().and_then(|(_, rank, _)| *rank),
        _ => paced.map(|pair| pair.number),
    };
    let interval = interval(amounts, settings);
    Contribution {
        kind,
        name,
        delta_ns: amounts.delta_ns(),
        lo_ns: interval.map(|(lo, _)| lo.floor() as i64),
        hi_ns: interval.map(|(_, hi)| hi.ceil() as i64),
        rank,
        class: class.map(|class| class.key().to_owned()),
        detail: match (part, &split.lost) {
            (Part::Marks, Some((_, _, in_test))) => Some(why::lost_marks(*in_test)),
            _ => why.detail,
        },
    }
}

fn named(part: &Part, split: &Split) -> (ContributionKind, String) {
    match part {
        Part::Leaf(leaf) => leaf_named(leaf),
        Part::Overlap(Class::Idle) => (ContributionKind::Idle, "of unknown cause".to_owned()),
        Part::Overlap(class) => (ContributionKind::Overlap, overlap(*class).to_owned()),
        Part::Outside(class) => (ContributionKind::OutsideSteps, format!("{} outside the marked steps", plain(*class))),
        Part::OtherRanks => (ContributionKind::OtherRanks, "steps in which another rank is the slowest".to_owned()),
        Part::Marks => {
            let name = split.lost.as_ref().map_or_else(|| "marks of steps".to_owned(), |(name, ..)| name.clone());
            (ContributionKind::StepMarks, name)
        }
    }
}

fn leaf_named(leaf: &Leaf) -> (ContributionKind, String) {
    match leaf {
        Leaf::Operator { name, arguments: Some(arguments) } => (ContributionKind::Operator, call(name, arguments)),
        Leaf::Operator { name, arguments: None } => (ContributionKind::Operator, name.clone()),
        Leaf::Kernel(name) => (ContributionKind::Kernel, name.clone()),
        Leaf::Copy { name, .. } => (ContributionKind::Copy, name.clone()),
        Leaf::Wait(of) => (ContributionKind::CollectiveWait, format!("{}@{}", of.name(), of.group)),
        Leaf::Transfer(of) => (ContributionKind::CollectiveTransfer, format!("{}@{}", of.name(), of.group)),
        Leaf::Unmatched(of) => (ContributionKind::CollectiveTransfer, format!("{}@{} (not matched)", of.name(), of.group)),
        Leaf::Hidden(of) => (ContributionKind::Overlap, format!("{}@{}", of.name(), of.group)),
        Leaf::Idle(cause) => (ContributionKind::Idle, (*cause).to_owned()),
        Leaf::Unsplit(class) => {
            let kind = match class {
                Class::Computation => ContributionKind::Kernel,
                Class::ExposedComm => ContributionKind::CollectiveTransfer,
                Class::ExposedMemcpy => ContributionKind::Copy,
                Class::Idle => ContributionKind::Idle,
            };
            (kind, plain(*class).to_owned())
        }
    }
}

fn overlap(class: Class) -> &'static str {
    match class {
        Class::Computation => "computation side by side",
        Class::ExposedComm => "hidden communication",
        Class::ExposedMemcpy => "hidden copies",
        Class::Idle => "idle",
    }
}

fn plain(class: Class) -> &'static str {
    match class {
        Class::Computation => "computation",
        Class::ExposedComm => "exposed communication",
        Class::ExposedMemcpy => "exposed copies",
        Class::Idle => "idle",
    }
}

/// The interval of the difference, by runs: each has one value.
fn interval(amounts: &Amounts, settings: &Settings) -> Option<(f64, f64)> {
    let [base, test] = amounts.runs.each_ref().map(|runs| runs.iter().map(|ns| *ns as f64).collect::<Vec<f64>>());
    rankscope_stats::between_runs(&base, &test, settings.alpha)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_compute_hides_of_a_slower_collective_ranks_by_what_remains() {
        let row = |kind, delta_ns| Contribution {
            kind,
            name: "all_reduce".to_owned(),
            class: Some(Class::ExposedComm.key().to_owned()),
            delta_ns,
            ..Contribution::default()
        };
        let rows = [row(ContributionKind::CollectiveTransfer, 8_000), row(ContributionKind::Overlap, -7_900)];
        let size = Sizes::of(rows.iter());
        assert_eq!(rows.each_ref().map(|row| size.of_row(row)), [8_000, 100]);
        let lost = [row(ContributionKind::CollectiveTransfer, 0), row(ContributionKind::Overlap, 7_900)];
        assert_eq!(lost.each_ref().map(|row| Sizes::of(lost.iter()).of_row(row)), [0, 7_900]);
    }

    #[test]
    fn waiting_that_becomes_moving_data_ranks_by_what_remains() {
        let row =
            |kind, name: &str, delta_ns| Contribution { kind, name: name.to_owned(), delta_ns, ..Contribution::default() };
        let rows = [
            row(ContributionKind::CollectiveWait, "all_reduce", -52_400),
            row(ContributionKind::CollectiveTransfer, "all_reduce", 57_900),
            row(ContributionKind::CollectiveWait, "broadcast", 900),
            row(ContributionKind::CollectiveTransfer, "broadcast", 100),
            row(ContributionKind::Operator, "aten::mm", 16_100),
        ];
        let size = Sizes::of(rows.iter());
        assert_eq!(rows.each_ref().map(|row| size.of_row(row)), [5_500, 5_500, 900, 100, 16_100]);
    }
}
