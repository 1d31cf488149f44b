//! Sums of rows, put so that each row is rounded once: what is added to the same row is added in one go, in the order of the
//! plan. Runs of rows that overlap without being equal are cut where the others begin and end.
//!
//! Sums of sums are refused: no plan has them, and the kernel adds all rows at once.

use std::collections::BTreeMap;

use rankscope_dispatch::RowSum;

use super::error::CudaError;

/// Rows, and the rows that are added to them in one go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) tensor: u32,
    pub(super) into: u64,
    pub(super) rows: u64,
    /// First rows of what is added, in order.
    pub(super) parts: Vec<u64>,
}

/// What is added to which rows, each row in one group. Sums lie inside their tensors.
///
/// # Errors
/// [`CudaError::SumOfSums`].
pub(super) fn groups(sums: &[RowSum]) -> Result<Vec<Group>, CudaError> {
    let mut cuts: Vec<(u32, u64)> =
        sums.iter().flat_map(|sum| [sum.into, sum.into + sum.rows].map(|at| (sum.tensor, at))).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let mut pieces: BTreeMap<(u32, u64), Group> = BTreeMap::new();
    for sum in sums.iter().filter(|sum| sum.rows > 0) {
        let from = cuts.partition_point(|&cut| cut < (sum.tensor, sum.into));
        let to = cuts.partition_point(|&cut| cut < (sum.tensor, sum.into + sum.rows));
        for pair in cuts[from..=to].windows(2) {
            let (into, rows) = (pair[0].1, pair[1].1 - pair[0].1);
            let group = pieces.entry(pair[0]).or_insert(Group { tensor: sum.tensor, into, rows, parts: Vec::new() });
            group.parts.push(sum.from + (into - sum.into));
        }
    }
    let is_made = |sum: &&RowSum| {
        let last = pieces.range(..(sum.tensor, sum.from + sum.rows)).next_back();
        sum.rows > 0 && last.is_some_and(|(_, group)| group.tensor == sum.tensor && group.into + group.rows > sum.from)
    };
    match sums.iter().find(is_made) {
        Some(sum) => Err(CudaError::SumOfSums { tensor: sum.tensor, row: sum.from }),
        None => Ok(pieces.into_values().collect()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(into: u64, from: u64, rows: u64) -> RowSum {
        RowSum { tensor: 0, into, from, rows }
    }

    fn group(into: u64, rows: u64, parts: &[u64]) -> Group {
        Group { tensor: 0, into, rows, parts: parts.to_vec() }
    }

    #[test]
    fn what_is_added_to_the_same_rows_is_added_in_one_go() {
        let groups = groups(&[sum(0, 10, 4), sum(0, 20, 4), sum(4, 30, 2)]).unwrap();
        assert_eq!(groups, [group(0, 4, &[10, 20]), group(4, 2, &[30])]);
    }

    #[test]
    fn runs_that_overlap_are_cut() {
        let groups = groups(&[sum(0, 10, 4), sum(2, 20, 4)]).unwrap();
        assert_eq!(groups, [group(0, 2, &[10]), group(2, 2, &[12, 20]), group(4, 2, &[22])]);
    }

    #[test]
    fn sums_of_sums_are_refused() {
        for sums in [[sum(4, 8, 2), sum(0, 4, 2)], [sum(0, 4, 2), sum(5, 8, 2)]] {
            assert!(matches!(groups(&sums), Err(CudaError::SumOfSums { tensor: 0, row: 4 })), "{sums:?}");
        }
    }

    proptest! {
        /// Whatever overlaps, groups add what the list adds. Rows below 16 are made, the others are needed.
        #[test]
        fn groups_say_what_the_list_says(list in prop::collection::vec((0_u64..16, 16_u64..32, 0_u64..8), 0..12)) {
            let sums: Vec<_> = list.into_iter().map(|(into, from, rows)| sum(into, from, rows.min(16 - into))).collect();
            let mut expected = vec![Vec::new(); 16];
            for sum in &sums {
                (0..sum.rows).for_each(|row| expected[(sum.into + row) as usize].push(sum.from + row));
            }
            let mut actual = vec![Vec::new(); 16];
            for group in groups(&sums).unwrap() {
                for row in 0..group.rows {
                    let parts = &mut actual[(group.into + row) as usize];
                    prop_assert!(parts.is_empty(), "a row in two groups");
                    parts.extend(group.parts.iter().map(|part| part + row));
                }
            }
            prop_assert_eq!(actual, expected);
        }
    }
}
