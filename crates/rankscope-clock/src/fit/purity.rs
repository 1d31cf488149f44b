//! The coded-probe filter: two packets that travelled alike arrive as far apart as they left.
//!
//! What a pair's gap grew by on the way is compared with what the gaps of this window usually grow by, and a pair far outside
//! is taken out: one of its stamps is early, or one packet waited where the other did not. How far is far comes from the data,
//! because behind a shaper gaps grow by a packet's time on the wire and any fixed tolerance takes out everything. The fit does
//! not need the filter; it needs not to be harmed by it, so what is not clearly odd stays. A gap that did not change is never
//! odd: under load most pairs wait behind the same burst and come out back to back, which makes that the usual thing, and the
//! few pairs that met no queue are the ones that bands are made of.

use rankscope_time::{Rate, Span};

use crate::{Exchange, Passage};

/// A pair is odd beyond this many times the spread of the better half. On clean logs at any load such pairs touch no band.
const SPREADS: i64 = 8;
/// Stamps are not better than this, so a smaller spread is luck.
const SPREAD_MIN_NS: i64 = 10;
/// Fewer pairs than this are too few to tell a usual gap from, or to lose some of.
const PAIRS_MIN: usize = 50;

/// Empties the passages of odd pairs; returns how many pairs that were. `skew_max` is what a gap may grow by the clocks alone.
pub(super) fn filter(exchanges: &mut [Exchange], skew_max: Rate) -> u32 {
    filter_way(exchanges, skew_max, |exchange| &mut exchange.forward)
        + filter_way(exchanges, skew_max, |exchange| &mut exchange.reverse)
}

fn filter_way(exchanges: &mut [Exchange], skew_max: Rate, way: fn(&mut Exchange) -> &mut [Passage; 2]) -> u32 {
    let mut growths: Vec<i64> =
        exchanges.iter_mut().filter_map(|exchange| growth_ns(way(exchange))).map(|(ns, _)| ns).collect();
    if growths.len() < PAIRS_MIN {
        return 0;
    }
    growths.sort_unstable();
    let (usual_ns, spread_ns) = better_half(&growths);
    let mut odd = 0;
    for exchange in exchanges {
        let pair = way(exchange);
        let Some((growth_ns, gap_ns)) = growth_ns(pair) else { continue };
        let by_clocks_ns = skew_max.over(Span::from_nanos(gap_ns)).abs().as_nanos();
        let tolerance_ns = spread_ns.max(SPREAD_MIN_NS).saturating_mul(SPREADS).saturating_add(by_clocks_ns);
        let off_ns = growth_ns.saturating_sub(usual_ns).saturating_abs().min(growth_ns.saturating_abs());
        if off_ns > tolerance_ns {
            *pair = Default::default();
            odd += 1;
        }
    }
    odd
}

/// What the gap grew by, and the gap that was sent.
fn growth_ns([first, second]: &[Passage; 2]) -> Option<(i64, i64)> {
    let sent = second.sent? - first.sent?;
    let received = second.received? - first.received?;
    Some(((received - sent).as_nanos(), sent.as_nanos()))
}

/// Middle and half width of the shortest interval that holds half of `sorted`.
fn better_half(sorted: &[i64]) -> (i64, i64) {
    let half = sorted.len() / 2;
    let width = |from: &usize| sorted[from + half].saturating_sub(sorted[*from]);
    let from = (0..sorted.len() - half).min_by_key(width).unwrap_or(0);
    (sorted[from] + width(&from) / 2, width(&from) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostInstant;

    const SKEW_MAX: Rate = Rate::from_ppb(1_000_000);

    /// Pairs sent 20 µs apart whose gaps grew by `growths_ns` on the way there.
    fn pairs(growths_ns: impl IntoIterator<Item = i64>) -> Vec<Exchange> {
        let at = |ns| Some(HostInstant::from_nanos_since_epoch(ns));
        let pair = |growth_ns| {
            [Passage { sent: at(1), received: at(500) }, Passage { sent: at(20_001), received: at(20_500 + growth_ns) }]
        };
        growths_ns.into_iter().map(|ns| Exchange { forward: pair(ns), ..Exchange::default() }).collect()
    }

    #[test]
    fn an_early_stamp_among_steady_gaps_is_taken_out() {
        let mut exchanges = pairs((0..100).map(|index| if index == 50 { -400 } else { index % 7 }));
        assert_eq!(filter(&mut exchanges, SKEW_MAX), 1);
        assert_eq!(exchanges[50].forward, <[Passage; 2]>::default());
        assert!(exchanges.iter().enumerate().all(|(index, exchange)| index == 50 || exchange.forward[0].sent.is_some()));
    }

    #[test]
    fn a_shaper_that_stretches_every_gap_alike_is_no_oddity() {
        assert_eq!(filter(&mut pairs((0..100).map(|index| 80_000 + index % 7)), SKEW_MAX), 0);
    }

    #[test]
    fn where_most_pairs_are_squeezed_the_untouched_ones_stay() {
        let mut exchanges = pairs((0..100).map(|index| if index < 30 { index % 7 } else { index % 5 - 19_000 }));
        assert_eq!(filter(&mut exchanges, SKEW_MAX), 0);
    }

    #[test]
    fn few_pairs_have_no_usual_gap() {
        assert_eq!(filter(&mut pairs((0..49).map(|index| index * index * 1_000)), SKEW_MAX), 0);
    }
}
