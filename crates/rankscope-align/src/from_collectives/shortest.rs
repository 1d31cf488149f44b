//! Which ends of a clock count first: those of the shortest collectives.
//!
//! A clock is compared with thousands of others by the same ends. Which of them are of the shortest collectives, and when those were, is the
//! same each time, so it is found once. Nothing is said here of what the others saw.

use super::nth;
use super::ties::{ENDS_MIN, SLOPED_ENDS_MIN};

/// Ends that are looked at of a pair of clocks: what thousands say, more say again.
pub(super) const ENDS_MAX: usize = 4_096;

/// Keeps of `rows`, which are in order of time, that of the shortest collective of each few in a row, so that no more than `most` are left.
pub(super) fn keep_some<R: Copy>(rows: &mut Vec<R>, most: usize, length_ns: impl Fn(&R) -> i64) {
    let few = rows.len().div_ceil(most);
    if few > 1 {
        *rows = rows.chunks(few).filter_map(|few| few.iter().min_by_key(|row| length_ns(row)).copied()).collect();
    }
}

/// When a clock saw collectives end.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Ended {
    /// All but a few were longer.
    pub(super) shortest_ns: i64,
    /// A quarter, a half, three quarters and all of them, the shortest of each; none where there are none.
    pub(super) choices: Vec<Chosen>,
}

/// Some of those ends, in order of time.
#[derive(Debug, PartialEq)]
pub(super) struct Chosen {
    /// Their places among all.
    pub(super) places: Vec<u32>,
    /// When they were, counted from the mean of all, and that.
    pub(super) x: Vec<f64>,
    pub(super) center_ns: i64,
    /// The sum of the squares of `x`.
    pub(super) squares: f64,
    /// The first and the last.
    pub(super) reach_ns: (i64, i64),
}

impl Ended {
    /// Those at `at_ns`, which are in order, of collectives that were as short as `lengths_ns` say.
    pub(crate) fn of(at_ns: &[i64], mut lengths_ns: Vec<i64>) -> Self {
        let all = at_ns.len();
        // As few as have no slope agree by luck; they are taken only where half of all would be as few.
        let fewest = if all < 2 * SLOPED_ENDS_MIN { all.min(ENDS_MIN) } else { SLOPED_ENDS_MIN };
        let mut room = nth::Room::default();
        // However many are taken, the shortest are among them.
        let third = ENDS_MIN.min(all).checked_sub(1);
        let Some(shortest_ns) = third.and_then(|last| nth::nth(&lengths_ns, last, &mut room)) else { return Self::default() };
        let mut places: Vec<u32> = (0..all as u32).collect();
        // What many are chosen from holds what fewer are.
        let of_quarters = |quarters: usize| {
            keep_shortest((all * quarters / 4).max(fewest), &mut places, &mut lengths_ns, &mut room);
            Chosen::of(&places, at_ns)
        };
        let mut choices: Vec<Chosen> = [4, 3, 2, 1].into_iter().filter_map(of_quarters).collect();
        choices.reverse();
        Self { shortest_ns, choices }
    }
}

impl Chosen {
    /// Those at these `places` of all; none of none.
    fn of(places: &[u32], at_ns: &[i64]) -> Option<Self> {
        let own = || places.iter().map(|place| at_ns[*place as usize]);
        let reach_ns = (own().next()?, own().next_back()?);
        let sum = own().fold(0i128, |sum, at_ns| sum + i128::from(at_ns));
        let center_ns = (sum / places.len() as i128) as i64;
        let x: Vec<f64> = own().map(|at_ns| at_ns.saturating_sub(center_ns) as f64).collect();
        let squares = x.iter().map(|x| x * x).sum();
        Some(Self { places: places.to_vec(), x, center_ns, squares, reach_ns })
    }
}

/// Keeps of `places` the `count` whose lengths are the shortest; of those of one length the first.
fn keep_shortest(count: usize, places: &mut Vec<u32>, lengths_ns: &mut Vec<i64>, room: &mut nth::Room) {
    if count >= lengths_ns.len() {
        return;
    }
    let Some(longest_ns) = count.checked_sub(1).and_then(|last| nth::nth(lengths_ns, last, room)) else { return };
    let mut left = count - lengths_ns.iter().filter(|length| **length < longest_ns).count();
    let mut kept = 0;
    for at in 0..lengths_ns.len() {
        let length = lengths_ns[at];
        let is_last = (length == longest_ns) & (left > 0);
        left -= usize::from(is_last);
        (places[kept], lengths_ns[kept]) = (places[at], length);
        kept += usize::from((length < longest_ns) | is_last);
    }
    places.truncate(kept);
    lengths_ns.truncate(kept);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn of_each_few_in_a_row_the_first_of_the_shortest_is_kept(lengths_ns in prop::collection::vec(0i64..6, 0..90), most in 1usize..40) {
            let all: Vec<(usize, i64)> = lengths_ns.iter().copied().enumerate().collect();
            let mut kept = all.clone();
            keep_some(&mut kept, most, |(_, length_ns)| *length_ns);
            prop_assert!(kept.len() <= most && kept.is_sorted());
            prop_assert!(kept == all || all.len() > most);
            // Each of all is near one that is kept, and no shorter than it.
            let few = all.len().div_ceil(most).max(1);
            for (at, length_ns) in all {
                let (kept_at, kept_ns) = kept[at / few];
                prop_assert!(kept_at / few == at / few && (kept_ns, kept_at) <= (length_ns, at));
            }
        }
    }
}
