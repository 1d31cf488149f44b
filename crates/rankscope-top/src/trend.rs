//! How figures went: the last looks at which a step had ended, of the job and of each rank, and bars of them.

use std::collections::{HashMap, VecDeque};

use rankscope_document::LiveDocument;

/// Looks that are remembered.
const LOOKS: usize = 60;

/// How figures went.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trends {
    step: Option<i64>,
    /// How long steps took.
    pub(crate) steps_ns: VecDeque<i64>,
    lateness_ns: HashMap<u32, VecDeque<i64>>,
}

impl Trends {
    /// Takes a look, if a step has ended since the one before. One at an earlier step begins anew: a replay went back.
    pub(crate) fn take(&mut self, document: &LiveDocument) {
        if document.step == self.step {
            return;
        }
        if document.step < self.step {
            *self = Self::default();
        }
        self.step = document.step;
        document.step_ns.iter().for_each(|ns| push(&mut self.steps_ns, *ns));
        for rank in &document.ranks {
            if let Some(ns) = rank.lateness_ns {
                push(self.lateness_ns.entry(rank.rank).or_default(), ns);
            }
        }
    }

    /// How late a rank came.
    pub(crate) fn lateness_ns(&self, rank: u32) -> impl DoubleEndedIterator<Item = i64> + '_ {
        self.lateness_ns.get(&rank).into_iter().flatten().copied()
    }
}

fn push(values: &mut VecDeque<i64>, value: i64) {
    if values.len() == LOOKS {
        values.pop_front();
    }
    values.push_back(value);
}

/// The last `width` values as bars above zero, on a scale that ends with the largest.
pub(crate) fn bars(values: impl DoubleEndedIterator<Item = i64>, width: usize) -> String {
    let mut last: Vec<i64> = values.rev().take(width).collect();
    last.reverse();
    let most = last.iter().copied().max().unwrap_or(0).max(1);
    let bar = |value: i64| {
        let eighths = value.max(0).saturating_mul(BARS.len() as i64 - 1).saturating_add(most / 2) / most;
        BARS[eighths.clamp(0, BARS.len() as i64 - 1) as usize]
    };
    last.into_iter().map(bar).collect()
}

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rankscope_document::LiveRank;

    fn look(step: i64, lateness_ns: i64) -> LiveDocument {
        let rank = LiveRank { rank: 3, lateness_ns: Some(lateness_ns), ..LiveRank::default() };
        LiveDocument { step: Some(step), step_ns: Some(step * 10), ranks: vec![rank], ..LiveDocument::default() }
    }

    #[test]
    fn a_step_that_goes_on_counts_once_and_going_back_begins_anew() {
        let mut trends = Trends::default();
        [look(1, 5), look(1, 6), look(2, 7)].iter().for_each(|look| trends.take(look));
        assert_eq!((trends.steps_ns.iter().sum::<i64>(), trends.lateness_ns(3).collect::<Vec<_>>()), (30, vec![5, 7]));
        trends.take(&look(1, 9));
        assert_eq!(trends.lateness_ns(3).collect::<Vec<_>>(), [9]);
        (2..200).for_each(|step| trends.take(&look(step, 1)));
        assert_eq!(trends.steps_ns.len(), LOOKS);
    }

    #[test]
    fn the_largest_is_a_whole_bar_and_what_is_early_none() {
        assert_eq!(bars([-5, 0, 50, 100].into_iter(), 8), "▁▁▅█");
        assert_eq!(bars([1, 2, 3].into_iter(), 2), "▆█");
        assert_eq!(bars([].into_iter(), 8), "");
    }

    proptest! {
        #[test]
        fn there_is_a_bar_a_value_whatever_it_is(values in proptest::collection::vec(any::<i64>(), 0..20), width in 0_usize..30) {
            prop_assert_eq!(bars(values.iter().copied(), width).chars().count(), values.len().min(width));
        }
    }
}
