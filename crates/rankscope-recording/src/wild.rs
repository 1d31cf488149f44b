//! Readings of a clock that went wrong, and are better left out.
//!
//! A reading is *wide* if it took far longer than the others: the thread was put aside in the middle of it. It is *wild* if it
//! lies off the line on one side of its neighbours by more than the readings' widths explain, and back again: nothing a clock
//! does, but what a wide bracket can hide. A lasting change (a suspended machine) is no such thing and stays.

use super::system::Anchor;
use super::ticks::{Rate, rate_of};

/// `readings` of one clock, which rise in their ticks, without those that are wide or wild or fall behind an earlier one.
pub(super) fn without_wild(mut readings: Vec<Anchor>) -> Vec<Anchor> {
    drop_wide(&mut readings);
    drop_falling(&mut readings);
    drop_wild(&mut readings);
    readings
}

fn drop_wide(readings: &mut Vec<Anchor>) {
    let mut widths: Vec<u64> = readings.iter().map(|anchor| anchor.width_ticks).collect();
    widths.sort_unstable();
    let Some(median) = widths.get(widths.len().saturating_sub(1) / 2) else { return };
    let limit = median.saturating_mul(WIDE).saturating_add(WIDE_TICKS);
    // The rate needs two.
    if widths.iter().filter(|width| **width <= limit).count() >= 2 {
        readings.retain(|anchor| anchor.width_ticks <= limit);
    }
}

/// A bracket that took twenty times as long as most was interrupted.
const WIDE: u64 = 20;
/// And never less than about a quarter of a microsecond: a median may be zero.
const WIDE_TICKS: u64 = 1_000;

fn drop_falling(readings: &mut Vec<Anchor>) {
    let mut last = i64::MIN;
    readings.retain(|anchor| {
        let rises = anchor.ns >= last;
        last = last.max(anchor.ns);
        rises
    });
}

/// Leaves out readings whose two neighbours agree on the usual rate with each other and not with them.
fn drop_wild(readings: &mut Vec<Anchor>) {
    let mut rates: Vec<Rate> = readings.windows(2).map(|pair| rate_of(&pair[0], &pair[1])).collect();
    rates.sort_unstable();
    let Some(rate) = rates.get(rates.len() / 2).copied().filter(|_| readings.len() > 2) else { return };
    let mut kept: Vec<Anchor> = Vec::with_capacity(readings.len());
    for (at, anchor) in readings.iter().enumerate() {
        let wild = match (kept.last(), readings.get(at + 1)) {
            (Some(before), Some(after)) => {
                off(before, anchor, rate).is_some() && off(anchor, after, rate).is_some() && off(before, after, rate).is_none()
            }
            _ => false,
        };
        if !wild {
            kept.push(*anchor);
        }
    }
    *readings = kept;
}

/// How far `b` is from where `rate` would take `a`, where that is more than their widths and the clock's drift explain.
fn off(a: &Anchor, b: &Anchor, rate: Rate) -> Option<i128> {
    let elapsed = rate.ns(b.tick - a.tick);
    let difference = i128::from(b.ns) - i128::from(a.ns) - elapsed as i128;
    let widths = rate.ns(a.width_ticks.saturating_add(b.width_ticks));
    let allowed = widths + SLACK_NS + elapsed / DRIFT;
    (difference.unsigned_abs() > allowed).then_some(difference)
}

/// What is not worth a thought.
const SLACK_NS: u128 = 1_000;
/// A counter and `MONOTONIC_RAW` keep together to a part in a hundred thousand, or they are not what they are said to be.
const DRIFT: u128 = 100_000;
