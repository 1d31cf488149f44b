//! The stretch of time that all ranks are accounted over.
//!
//! A rank that comes late begins late: accounted from its own first event, the wait it caused would be no time of its own. So all
//! ranks of a job share the windows in which any of them worked, and where some recorded steps that others did not, those of the
//! steps that all have. Recordings that have no moment in common share nothing and are accounted each by itself.

use std::collections::BTreeSet;

use crate::{RankReport, StepWindow};

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
    pub(crate) fn of(ranks: &[RankReport]) -> Self {
        if ranks.len() > 1
            && let Some(common) = of_common_steps(ranks)
        {
            return common;
        }
        let extents: Vec<(i64, i64)> = ranks.iter().map(|rank| rank.accounting.window_ns()).filter(|(a, b)| a < b).collect();
        let (Some(from), Some(to)) = (extents.iter().map(|own| own.0).min(), extents.iter().map(|own| own.1).max()) else {
            return Self::default();
        };
        let last_start = extents.iter().map(|own| own.0).max().unwrap_or(from);
        let first_end = extents.iter().map(|own| own.1).min().unwrap_or(to);
        if last_start >= first_end {
            return Self::apart();
        }
        Self { list: vec![(from, to)], kind: WindowKind::Everything }
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

/// The windows of the steps that all have, if not all have the same.
fn of_common_steps(ranks: &[RankReport]) -> Option<Windows> {
    let of = |rank: &RankReport| rank.steps.iter().map(|(step, _)| step.number).collect::<BTreeSet<i64>>();
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
fn around(ranks: &[RankReport], from: i64, to: i64) -> Option<(i64, i64)> {
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
