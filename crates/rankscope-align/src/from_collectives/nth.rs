//! The number that would stand at a place if all stood in order.
//!
//! Medians of ten thousand differences are asked for again and again. What stands in the middle is known from a few of them to lie
//! between two numbers; one pass counts what is below and keeps what is between, and only that is looked at closely (the method of
//! Floyd and Rivest). Where the few mislead, all are. Nothing here changes what is found: a place in an order has one number.

/// Numbers from which on a few tell where to look.
const NUMBERS_MIN: usize = 512;

/// Numbers of which the few are one, at least; and the few at most.
const EACH_MIN: usize = 16;
const FEW_MAX: usize = 256;

/// Standard deviations of the place of a number among the few.
const DEVIATIONS: f64 = 2.5;

/// Room for the few, and for what is between.
#[derive(Debug, Default)]
pub(super) struct Room {
    few: Vec<i64>,
    between: Vec<i64>,
}

/// The middle one of `numbers`; of an even number of them the upper one of two. `None` of none.
pub(super) fn upper_middle(numbers: &[i64], room: &mut Room) -> Option<i64> {
    let at = numbers.len() / 2;
    Some(pair_at(numbers, (at, at), room)?.1)
}

/// The middle one; of an even number of them what is halfway between the two. `None` of none.
pub(super) fn middle(numbers: &[i64], room: &mut Room) -> Option<i64> {
    let at = numbers.len() / 2;
    let is_odd = !numbers.len().is_multiple_of(2);
    let (lower, upper) = pair_at(numbers, (if is_odd { at } else { at.checked_sub(1)? }, at), room)?;
    Some(if is_odd { upper } else { lower.midpoint(upper) })
}

/// What stands at `at`, if there are so many.
pub(super) fn nth(numbers: &[i64], at: usize, room: &mut Room) -> Option<i64> {
    Some(pair_at(numbers, (at, at), room)?.1)
}

/// A number that stands among others as `value` does by [`f64::total_cmp`].
#[inline]
pub(super) fn key(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// The value of a key.
#[inline]
pub(super) fn of_key(key: i64) -> f64 {
    f64::from_bits((key ^ ((key >> 63).cast_unsigned() >> 1).cast_signed()).cast_unsigned())
}

/// What stands at two places, which are one or follow each other.
fn pair_at(numbers: &[i64], (lower, upper): (usize, usize), room: &mut Room) -> Option<(i64, i64)> {
    let Room { few, between } = room;
    let ends = bracket(numbers, upper, few);
    // All may be kept, and one number is written behind the last that is.
    if between.len() <= numbers.len() {
        between.resize(numbers.len() + 1, 0);
    }
    let (below, kept) = ends.map_or((0, 0), |ends| keep_within(numbers, ends, between));
    if below <= lower && upper < below + kept {
        return pair_in(&mut between[..kept], (lower - below, upper - below));
    }
    let all = &mut between[..numbers.len()];
    all.copy_from_slice(numbers);
    pair_in(all, (lower, upper))
}

/// How many of `numbers` are below `least`, and how many lie from there to `most`, which are put in front of `between`.
fn keep_within(numbers: &[i64], (least, most): (i64, i64), between: &mut [i64]) -> (usize, usize) {
    let (mut below, mut kept) = (0, 0);
    for number in numbers {
        below += usize::from(*number < least);
        between[kept] = *number;
        kept += usize::from((*number >= least) & (*number <= most));
    }
    (below, kept)
}

/// Between which numbers the one at `at` probably stands, and its neighbours; nothing of so few that all may be looked at.
fn bracket(numbers: &[i64], at: usize, few: &mut Vec<i64>) -> Option<(i64, i64)> {
    if numbers.len() < NUMBERS_MIN {
        return None;
    }
    let each = numbers.len().div_ceil(FEW_MAX).max(EACH_MIN);
    few.clear();
    few.extend(numbers.iter().step_by(each));
    few.sort_unstable();
    let share = at as f64 / numbers.len() as f64;
    let (place, off) = (share * few.len() as f64, DEVIATIONS * (share * (1.0 - share) * few.len() as f64).sqrt() + 1.0);
    let least = if place > off { few[(place - off) as usize] } else { i64::MIN };
    Some((least, few.get((place + off) as usize).copied().unwrap_or(i64::MAX)))
}

fn pair_in(numbers: &mut [i64], (lower, upper): (usize, usize)) -> Option<(i64, i64)> {
    numbers.get(upper)?;
    let (below, found, _) = numbers.select_nth_unstable(upper);
    let found = *found;
    let before = if lower < upper { below.iter().copied().max() } else { None };
    Some((before.unwrap_or(found), found))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_stand_as_their_values_do(a in any::<f64>(), b in prop_oneof![any::<f64>(), Just(0.0), Just(-0.0)]) {
            prop_assert_eq!(key(a).cmp(&key(b)), a.total_cmp(&b));
            prop_assert_eq!((of_key(key(a)).to_bits(), of_key(key(b)).to_bits()), (a.to_bits(), b.to_bits()));
        }

        #[test]
        fn what_is_found_stands_there_once_all_are_sorted(
            own in prop::collection::vec(prop_oneof![6 => -40i64..40, 6 => -90_000i64..90_000, 1 => any::<i64>()], 0..80), times in 1usize..60,
            share in 0.0f64..1.0, sorted in any::<bool>()
        ) {
            // Many are few over and over, a little different each time.
            let again = |time: i64| own.iter().map(move |number| number.wrapping_add(time * 7_919 % 1_000));
            let mut numbers: Vec<i64> = (0..times as i64).flat_map(again).collect();
            if sorted {
                numbers.sort_unstable();
            }
            let mut slowly = numbers.clone();
            slowly.sort_unstable();
            let mut room = Room::default();
            let at = (share * slowly.len() as f64) as usize;
            prop_assert_eq!(nth(&numbers, at, &mut room), slowly.get(at).copied());
            let half = slowly.len() / 2;
            prop_assert_eq!(upper_middle(&numbers, &mut room), slowly.get(half).copied());
            let lower = if slowly.len().is_multiple_of(2) { half.wrapping_sub(1) } else { half };
            let expected = slowly.get(lower).zip(slowly.get(half)).map(|(a, b)| a.midpoint(*b));
            prop_assert_eq!(middle(&numbers, &mut room), expected);
        }
    }
}
