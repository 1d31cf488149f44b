//! The stretch of time that all ranks are accounted over.
//!
//! A rank that comes late begins late: accounted from its own first event, the wait it caused would be no time of its own. So all
//! ranks of a job share the windows in which any of them worked, and where some recorded steps that others did not, those of the
//! steps that all have. Where the ranks recorded several windows, the time between those is of none. Recordings that have no moment
//! in common share nothing and are accounted each by itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::{PlacedRank, StepWindow};

/// The windows of a job, in order, on its clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Start and end of each, in nanoseconds since the epoch.
    pub list: Vec<(i64, i64)>,
    /// What they are.
    pub kind: WindowKind,
}

/// What the windows of a job are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowKind {
    /// Everything that any rank recorded.
    #[default]
    Everything,
    /// Steps that all ranks have, some having others as well.
    CommonSteps {
        /// The first of them.
        first: i64,
        /// The last.
        last: i64,
    },
    /// The ranks' recordings have no moment in common.
    Apart,
}

impl Windows {
    /// Those of ranks that have none in common: each is accounted over its own extent.
    pub(crate) fn apart() -> Self {
        Self { list: Vec::new(), kind: WindowKind::Apart }
    }

    /// The windows of `ranks`.
    pub(crate) fn of(ranks: &[PlacedRank]) -> Self {
        let hulls = hulls(ranks);
        if ranks.len() > 1
            && let Some(common) = of_common_steps(ranks)
        {
            return common.cut_to(hulls.as_deref().unwrap_or_default());
        }
        hulls.map_or_else(Self::apart, |list| Self { list, kind: WindowKind::Everything })
    }

    /// The same without what lies between the windows that were recorded.
    fn cut_to(mut self, recorded_ns: &[(i64, i64)]) -> Self {
        if recorded_ns.len() > 1 {
            // Those that were recorded are in order and apart.
            let cut = |(from, to): (i64, i64)| {
                let first = recorded_ns.partition_point(|own| own.1 <= from);
                let own = recorded_ns[first..].iter().take_while(move |own| own.0 < to);
                own.map(move |own| (from.max(own.0), to.min(own.1))).filter(|(from, to)| from < to)
            };
            self.list = self.list.into_iter().flat_map(cut).collect();
        }
        self
    }

    /// How long they are in all.
    pub fn length_ns(&self) -> i64 {
        self.list.iter().fold(0, |sum: i64, (from, to)| sum.saturating_add(to.saturating_sub(*from)))
    }

    /// The instants in any of them, for many questions. Without any, everything is.
    pub fn cover(&self) -> Cover {
        let mut reach = self.list.clone();
        reach.sort_unstable();
        let mut furthest = i64::MIN;
        for (_, to) in &mut reach {
            furthest = furthest.max(*to);
            *to = furthest;
        }
        Cover { reach }
    }
}

/// What windows cover. They may overlap, where clocks are far off.
#[derive(Clone, Debug)]
pub struct Cover {
    /// The start of each window, in order, and the last end of it and those before it.
    reach: Vec<(i64, i64)>,
}

impl Cover {
    /// Whether the instant `ns` lies in a window, its ends included.
    pub fn holds(&self, ns: i64) -> bool {
        let begun = self.reach.partition_point(|(from, _)| *from <= ns);
        self.reach.is_empty() || self.reach[..begun].last().is_some_and(|(_, to)| ns <= *to)
    }
}

/// From the first start to the last end on any rank, of each window that all recorded; of everything where they recorded
/// different numbers of windows. None where the ranks have no moment of a window in common.
fn hulls(ranks: &[PlacedRank]) -> Option<Vec<(i64, i64)>> {
    let count = ranks.first().map_or(0, |first| first.recorded_ns.len());
    if ranks.iter().any(|rank| rank.recorded_ns.len() != count) {
        return hull(ranks.iter().map(|rank| rank.window_ns)).map(|hull| hull.into_iter().collect());
    }
    let mut hulls: Vec<(i64, i64)> = Vec::with_capacity(count);
    for number in 0..count {
        let Some((from, to)) = hull(ranks.iter().map(|rank| rank.recorded_ns[number]))? else { continue };
        // Clocks that are far off can make a window begin before the last one ended everywhere.
        match hulls.last_mut().filter(|last| last.1 >= from) {
            Some(last) => last.1 = last.1.max(to),
            None => hulls.push((from, to)),
        }
    }
    Some(hulls)
}

/// From the first start to the last end of `extents`, if any is one; nothing at all where they have no moment in common.
fn hull(extents: impl Iterator<Item = (i64, i64)> + Clone) -> Option<Option<(i64, i64)>> {
    let extents = || extents.clone().filter(|(from, to)| from < to);
    let (Some(from), Some(to)) = (extents().map(|own| own.0).min(), extents().map(|own| own.1).max()) else {
        return Some(None);
    };
    let (last_start, first_end) = (extents().map(|own| own.0).max()?, extents().map(|own| own.1).min()?);
    (last_start < first_end).then_some(Some((from, to)))
}

/// The windows of the steps that all have, if not all have the same.
fn of_common_steps(ranks: &[PlacedRank]) -> Option<Windows> {
    let of = |rank: &PlacedRank| rank.steps.iter().map(|(step, _)| step.number).collect::<BTreeSet<i64>>();
    let sets: Vec<_> = ranks.iter().map(of).collect();
    if sets.iter().any(BTreeSet::is_empty) {
        return None;
    }
    let extents = extents(ranks.iter().flat_map(|rank| rank.steps.iter().map(|(step, _)| step)));
    let has = |number: &i64| {
        let extent = extents.get(number);
        ranks.iter().zip(&sets).all(|(rank, set)| set.contains(number) || lost_its_mark(rank, set, *number, extent))
    };
    let common: BTreeSet<i64> = extents.keys().copied().filter(has).collect();
    if common.len() == extents.len() {
        return None;
    }
    let (Some(first), Some(last)) = (common.first(), common.last()) else {
        return Some(Windows::apart());
    };
    let kind = WindowKind::CommonSteps { first: *first, last: *last };
    // From when the first rank began a run's first step to when the last one ended its last.
    let around = |(from, to): (i64, i64)| Some((extents.get(&from)?.0, extents.get(&to)?.1));
    let list = runs(&common).into_iter().filter_map(around).filter(|(start, end)| start < end).collect();
    Some(Windows { list, kind })
}

/// Whether `rank`, which marks the steps `own`, recorded step `number` all the same: it marks steps before and after it, and recorded all
/// of the time, `extent`, in which other ranks were at it.
fn lost_its_mark(rank: &PlacedRank, own: &BTreeSet<i64>, number: i64, extent: Option<&(i64, i64)>) -> bool {
    let is_between = own.first().is_some_and(|first| *first < number) && own.last().is_some_and(|last| number < *last);
    let recorded = |(start, end): &(i64, i64)| rank.recorded_ns.iter().any(|(from, to)| from <= start && end <= to);
    is_between && extent.is_some_and(recorded)
}

/// The stretches of numbers that follow each other.
fn runs(numbers: &BTreeSet<i64>) -> Vec<(i64, i64)> {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    runs
}

/// From the first start to the last end of each step, on any rank, by its number.
fn extents<'a>(steps: impl Iterator<Item = &'a StepWindow>) -> BTreeMap<i64, (i64, i64)> {
    let mut extents = BTreeMap::new();
    for StepWindow { number, start_ns, end_ns } in steps {
        let (start, end) = extents.entry(*number).or_insert((*start_ns, *end_ns));
        (*start, *end) = ((*start).min(*start_ns), (*end).max(*end_ns));
    }
    extents
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Account;

    /// A rank that recorded from 0 to `end_ns` and marked steps of 10 ns.
    fn marked(numbers: &[i64], end_ns: i64) -> PlacedRank {
        let step = |number: &i64| StepWindow { number: *number, start_ns: number * 10, end_ns: number * 10 + 10 };
        PlacedRank {
            window_ns: (0, end_ns),
            recorded_ns: vec![(0, end_ns)],
            steps: numbers.iter().map(|number| (step(number), Account::default())).collect(),
            ..PlacedRank::default()
        }
    }

    #[test]
    fn a_mark_that_one_rank_lost_leaves_no_time_out() {
        let windows = Windows::of(&[marked(&[1, 2, 3], 60), marked(&[1, 3], 60)]);
        assert_eq!(windows, Windows { list: vec![(0, 60)], kind: WindowKind::Everything });
        // What a rank does not mark at its ends it may not have recorded.
        let windows = Windows::of(&[marked(&[1, 2, 3], 60), marked(&[1, 2], 60)]);
        assert_eq!(windows, Windows { list: vec![(10, 30)], kind: WindowKind::CommonSteps { first: 1, last: 2 } });
        // Nor what lies between two of its recordings.
        let mut apart = marked(&[1, 3], 60);
        apart.recorded_ns = vec![(0, 22), (28, 60)];
        let windows = Windows::of(&[marked(&[1, 2, 3], 60), apart]);
        assert_eq!(windows.kind, WindowKind::CommonSteps { first: 1, last: 3 });
    }

    /// Windows as they fall: in any order, overlapping, empty, turned round.
    fn any_windows() -> impl Strategy<Value = Vec<(i64, i64)>> {
        let time = prop_oneof![8 => -30..30_i64, 1 => Just(i64::MIN), 1 => Just(i64::MAX)];
        prop::collection::vec((time.clone(), time), 0..8)
    }

    /// Windows in order and apart.
    fn recorded() -> impl Strategy<Value = Vec<(i64, i64)>> {
        prop::collection::vec((1..9_i64, 1..9_i64), 0..6).prop_map(|list| {
            let mut at = -30;
            let next = |(gap, length)| {
                let from = at + gap;
                at = from + length;
                (from, at)
            };
            list.into_iter().map(next).collect()
        })
    }

    proptest! {
        #[test]
        fn what_was_not_recorded_is_cut_out(list in any_windows(), recorded in recorded()) {
            let inside = |(from, to): &(i64, i64)| recorded.iter().map(|own| ((*from).max(own.0), (*to).min(own.1))).collect::<Vec<_>>();
            let all = list.iter().flat_map(inside).filter(|(from, to)| from < to);
            let expected: Vec<_> = if recorded.len() > 1 { all.collect() } else { list.clone() };
            prop_assert_eq!(Windows { list, kind: WindowKind::Everything }.cut_to(&recorded).list, expected);
        }

        #[test]
        fn a_step_lasts_from_its_first_start_to_its_last_end(steps in prop::collection::vec((0..5_i64, -30..30_i64, -30..30_i64), 0..20)) {
            let steps: Vec<_> = steps.into_iter().map(|(number, start_ns, end_ns)| StepWindow { number, start_ns, end_ns }).collect();
            let extents = extents(steps.iter());
            for number in 0..5 {
                let own = || steps.iter().filter(|step| step.number == number);
                let expected = own().map(|step| step.start_ns).min().zip(own().map(|step| step.end_ns).max());
                prop_assert_eq!(extents.get(&number).copied(), expected);
            }
        }

        #[test]
        fn a_cover_holds_what_any_window_holds(list in any_windows()) {
            let windows = Windows { list, kind: WindowKind::Everything };
            let cover = windows.cover();
            for ns in (-31..=31).chain([i64::MIN, i64::MAX]) {
                let in_any = windows.list.is_empty() || windows.list.iter().any(|(from, to)| (*from..=*to).contains(&ns));
                prop_assert_eq!(cover.holds(ns), in_any, "{}", ns);
            }
        }
    }
}
