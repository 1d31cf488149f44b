//! The middle of each row of numbers that stand in columns.
//!
//! Of a few columns, such as the ranks of a host, all rows are put in order side by side: the lesser of two neighbours goes to the left, as
//! often as there are columns (odd-even transposition, Habermann 1972), with the widest instructions that the processor has.

use multiversion::multiversion;

use super::ties::median_in;

/// Columns of which the rows are put in order side by side: each of more is looked at by itself sooner.
const FEW: usize = 16;

/// Adds the middle of each of so many `rows` to `middles`; of an even number of columns what is halfway between the two. `columns` stand one
/// behind the other, and are put in another order. Nothing of none.
pub(super) fn middles_of_rows(columns: &mut [i64], rows: usize, middles: &mut Vec<i64>) {
    let Some(count) = columns.len().checked_div(rows).filter(|count| *count > 0) else { return };
    if count > FEW {
        let mut own = Vec::with_capacity(count);
        middles.extend((0..rows).map(|row| {
            own.clear();
            own.extend(columns[row..].iter().step_by(rows));
            median_in(&mut own).unwrap_or_default()
        }));
        return;
    }
    for time in 0..count {
        for pair in columns[time % 2 * rows..].chunks_exact_mut(2 * rows) {
            let (left, right) = pair.split_at_mut(rows);
            put_in_order(left, right);
        }
    }
    let column = |at: usize| &columns[at * rows..][..rows];
    let halves = column((count - 1) / 2).iter().zip(column(count / 2));
    middles.extend(halves.map(|(lower, upper)| lower.midpoint(*upper)));
}

/// Puts the lesser one of two to the left.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2"))]
fn put_in_order(left: &mut [i64], right: &mut [i64]) {
    for (left, right) in left.iter_mut().zip(right) {
        let (a, b) = (*left, *right);
        *left = if a < b { a } else { b };
        *right = if a < b { b } else { a };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_side_by_side_have_the_middles_that_each_has(
            rows in 0usize..20, all in prop::collection::vec(prop_oneof![-9i64..9, any::<i64>()], 500), columns in 0usize..25
        ) {
            let mut own = all[..rows * columns].to_vec();
            let of_row = |row: usize| median_in(&mut own[row..].iter().step_by(rows).copied().collect::<Vec<_>>());
            let slowly: Vec<i64> = (0..rows).filter(|_| columns > 0).filter_map(of_row).collect();
            let mut middles = Vec::new();
            middles_of_rows(&mut own, rows, &mut middles);
            prop_assert_eq!(middles, slowly);
        }
    }
}
