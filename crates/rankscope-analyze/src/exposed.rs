//! How much of the exposed communication each collective is to blame for.
//!
//! Where several communicate at once, each moment is shared equally among them, so that the shares of all collectives add up to
//! the rank's exposed communication exactly. Nanoseconds that do not divide go to those that started first.

use rankscope_trace::SpanId;
use rustc_hash::FxHashMap;

use crate::{Class, Intervals, Work};

/// Exposed time of every communicating span of `work`, given the time in which communication is exposed.
pub(crate) fn shares(work: &[Work], exposed: &Intervals) -> FxHashMap<SpanId, i64> {
    let mut comm: Vec<&Work> =
        work.iter().filter(|piece| piece.class == Class::Comm && piece.start_ns < piece.end_ns).collect();
    comm.sort_unstable_by_key(|piece| (piece.start_ns, piece.span));
    let mut shares: FxHashMap<SpanId, i64> = comm.iter().map(|piece| (piece.span, 0)).collect();
    let mut active: Vec<&Work> = Vec::new();
    let mut next = comm.into_iter().peekable();
    for (start, end) in exposed.iter() {
        let mut at = start;
        while at < end {
            while let Some(piece) = next.next_if(|piece| piece.start_ns <= at) {
                active.push(piece);
            }
            active.retain(|piece| piece.end_ns > at);
            // Until someone comes or goes, the same ones share.
            let leaves = active.iter().map(|piece| piece.end_ns).min().unwrap_or(end);
            let comes = next.peek().map_or(end, |piece| piece.start_ns);
            let until = end.min(leaves).min(comes);
            share_out(&active, until - at, &mut shares);
            at = until;
        }
    }
    shares
}

fn share_out(active: &[&Work], length: i64, shares: &mut FxHashMap<SpanId, i64>) {
    let count = active.len() as i64;
    if count == 0 {
        return;
    }
    let (each, rest) = (length / count, length % count);
    for (at, piece) in active.iter().enumerate() {
        *shares.entry(piece.span).or_default() += each + i64::from((at as i64) < rest);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Accounting;
    use crate::account::tests::any_work;

    proptest! {
        #[test]
        fn the_shares_add_up(work in any_work()) {
            let accounting = Accounting::of(&work);
            let shares = shares(&work, &accounting.exposed_comm());
            prop_assert_eq!(shares.values().sum::<i64>(), accounting.whole().exposed_comm_ns);
            for piece in work.iter().filter(|piece| piece.class == Class::Comm) {
                prop_assert!(shares.get(&piece.span).copied().unwrap_or(0) <= piece.end_ns - piece.start_ns);
            }
        }
    }
}
