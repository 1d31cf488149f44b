//! Rounds: stretches of a job that do the same again, so that what recurs can be told from what happened once.
//!
//! The steps that a profiler marked are rounds. Where it marked fewer than three, one repetition of the sequence of collectives
//! is a round; where they do not repeat either, equal numbers of them in a row are. More rounds than a few are joined, because
//! neighbours in time are not independent: whoever is held up for a moment is late to all that falls into it.

use std::collections::BTreeMap;

use super::delays::Judged;

/// Rounds at most; neighbours are joined until there are no more.
const ROUNDS_MAX: usize = 16;

/// Rounds that collectives without steps and repetition are cut into.
const BLOCKS: usize = 6;

/// Marked steps from which on they are the rounds.
const STEPS_MIN: usize = 3;

/// Which round each collective is of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rounds {
    /// By index of the collective; none for what lies outside of all steps.
    pub(super) of: Vec<Option<usize>>,
    /// How many there are.
    pub(super) count: usize,
    /// Steps or repetitions in all of them.
    pub(super) repetitions: usize,
}

impl Rounds {
    /// The rounds of what is `judged`, which is in order of time.
    pub(super) fn of(judged: &[Judged<'_>]) -> Self {
        let arrivals = || judged.iter().map(|one| one.arrival);
        let mut steps: BTreeMap<i64, usize> = arrivals().filter_map(|arrival| Some((arrival.step?, 0))).collect();
        if steps.len() >= STEPS_MIN {
            steps.values_mut().enumerate().for_each(|(at, round)| *round = at);
            let of = arrivals().map(|arrival| steps.get(&arrival.step?).copied()).collect();
            return Self { of, count: steps.len(), repetitions: steps.len() }.joined();
        }
        let rows: Vec<usize> = arrivals().map(|arrival| arrival.row).collect();
        let length = period(&rows).unwrap_or_else(|| rows.len().div_ceil(BLOCKS).max(1));
        // A rest that is no whole round counts to the last.
        let count = (rows.len() / length).max(1);
        let of = (0..rows.len()).map(|at| Some((at / length).min(count - 1))).collect();
        Self { of, count, repetitions: count }.joined()
    }

    fn joined(mut self) -> Self {
        if self.count > ROUNDS_MAX {
            let count = self.count;
            self.of.iter_mut().flatten().for_each(|round| *round = *round * ROUNDS_MAX / count);
            self.count = ROUNDS_MAX;
        }
        self
    }
}

/// After how many places `rows` repeats itself, if it does so at least three times. A few places may differ: collectives of
/// different groups change places.
fn period(rows: &[usize]) -> Option<usize> {
    let longest = rows.len() / 3;
    (1..=longest.min(PERIOD_MAX)).find(|length| {
        let pairs = rows.len() - length;
        let equal = (0..pairs).filter(|at| rows[*at] == rows[at + length]).count();
        equal * 10 >= pairs * 9
    })
}

/// Collectives in a step of the largest jobs; looking further costs time and finds nothing.
const PERIOD_MAX: usize = 8_192;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_repeats_after_its_period() {
        assert_eq!(period(&[1, 1, 1, 1]), Some(1));
        assert_eq!(period(&[1, 2, 1, 2, 1, 2, 1]), Some(2));
        assert_eq!(period(&[1, 2, 3, 4, 5, 6, 7, 8]), None);
        assert_eq!(period(&[1, 2]), None);
        let mut long: Vec<usize> = (0..60).map(|at| at % 12).collect();
        assert_eq!(period(&long), Some(12));
        long.swap(30, 31);
        assert_eq!(period(&long), Some(12));
    }

    #[test]
    fn many_rounds_are_joined() {
        let rounds = Rounds { of: (0..100).map(Some).collect(), count: 100, repetitions: 100 }.joined();
        assert_eq!((rounds.count, rounds.repetitions), (ROUNDS_MAX, 100));
        assert_eq!((rounds.of[0], rounds.of[99]), (Some(0), Some(ROUNDS_MAX - 1)));
        assert!(rounds.of.is_sorted());
    }
}
