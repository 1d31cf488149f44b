//! Who must have entered before whom leaves.
//!
//! Data flows from some ranks to others: from all to all in an all-reduce, from the root in a broadcast, to the root in a
//! reduce, from the sender to the receiver. Nobody whom data reaches leaves before everybody it comes from has entered. The gap
//! is by how much the worst pair misses; stays that touch without overlapping miss by zero.

/// A pair that misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Miss {
    /// Who entered too late, by index of the stay.
    pub(super) late: usize,
    /// Who left too early.
    pub(super) early: usize,
    pub(super) gap_ns: i64,
}

/// The pair that misses most among `givers` (index and start) and `takers` (index and end); none if all overlap. A rank never
/// misses itself.
pub(super) fn worst(givers: &[(usize, i64)], takers: &[(usize, i64)]) -> Option<Miss> {
    let latest = givers.iter().copied().max_by_key(|(_, start)| *start)?;
    let others = givers.iter().copied().filter(|(giver, _)| *giver != latest.0);
    let second = others.max_by_key(|(_, start)| *start);
    let misses = takers.iter().filter_map(|(taker, end)| {
        let (late, start) = if *taker == latest.0 { second? } else { latest };
        (start >= *end).then(|| Miss { late, early: *taker, gap_ns: start.saturating_sub(*end) })
    });
    misses.max_by_key(|miss| miss.gap_ns)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The linear search finds what trying every pair finds.
        #[test]
        fn the_worst_pair_is_the_worst_of_all_pairs(stays in prop::collection::vec((0i64..50, 0i64..50), 0..8)) {
            let givers: Vec<_> = stays.iter().map(|(start, _)| *start).enumerate().collect();
            let takers: Vec<_> = stays.iter().map(|(start, length)| start + length).enumerate().collect();
            let pairs = givers.iter().flat_map(|(a, start)| {
                takers.iter().filter(move |(b, end)| a != b && start >= end).map(move |(_, end)| start - end)
            });
            prop_assert_eq!(worst(&givers, &takers).map(|miss| miss.gap_ns), pairs.max());
        }
    }

    #[test]
    fn touching_is_a_miss_by_nothing() {
        assert_eq!(worst(&[(0, 10)], &[(1, 10)]), Some(Miss { late: 0, early: 1, gap_ns: 0 }));
        assert_eq!(worst(&[(0, 9)], &[(1, 10)]), None);
        assert_eq!(worst(&[(0, 10)], &[(0, 10)]), None);
    }
}
