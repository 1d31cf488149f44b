//! The stretch of time that all ranks are accounted over.
//!
//! A rank that comes late begins late: accounted from its own first event, the wait it caused would be no time of its own. So all
//! ranks of a job share the windows in which any of them worked, and where some recorded steps that others did not, those of the
//! steps that all have. Where the ranks recorded several windows, the time between those is of none. Recordings that have no moment
//! in common share nothing and are accounted each by itself.

use std::collections::BTreeSet;

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
            let cut = |(from, to): (i64, i64)| {
                recorded_ns.iter().map(move |own| (from.max(own.0), to.min(own.1))).filter(|(from, to)| from < to)
            };
            self.list = self.list.into_iter().flat_map(cut).collect();
        }
        self
    }

    /// How long they are in all.
    pub fn length_ns(&self) -> i64 {
        self.list.iter().fold(0, |sum: i64, (from, to)| sum.saturating_add(to.saturating_sub(*from)))
    }

    /// Whether the moment `ns` lies in one of them. Without any, everything does.
    pub fn hold(&self, ns: i64) -> bool {
        self.list.is_empty() || self.list.iter().any(|(from, to)| (*from..=*to).contains(&ns))
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
    let mut sets = ranks.iter().map(of);
    let first = sets.next().filter(|first| !first.is_empty())?;
    let (mut common, mut equal) = (first.clone(), true);
    for set in sets {
        if set.is_empty() {
            return None;
        }
        equal &= set == first;
        common.retain(|number| set.contains(number));
    }
    if equal {
        return None;
    }
    let (Some(first), Some(last)) = (common.first(), common.last()) else {
        return Some(Windows::apart());
    };
    let kind = WindowKind::CommonSteps { first: *first, last: *last };
    let list = runs(&common).into_iter().filter_map(|(from, to)| around(ranks, from, to)).collect();
    Some(Windows { list, kind })
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

/// From when the first rank began step `from` to when the last one ended step `to`.
fn around(ranks: &[PlacedRank], from: i64, to: i64) -> Option<(i64, i64)> {
    let windows = |number: i64| {
        ranks
            .iter()
            .flat_map(|rank| rank.steps.iter().map(|(step, _)| step))
            .filter(move |step: &&StepWindow| step.number == number)
    };
    let start = windows(from).map(|step| step.start_ns).min()?;
    let end = windows(to).map(|step| step.end_ns).max()?;
    (start < end).then_some((start, end))
}
