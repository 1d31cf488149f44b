//! What two clocks can differ by, from any bounds on their difference.
//!
//! Packets are not the only thing that cannot arrive before it was sent: no rank leaves a collective before the others have
//! entered it. Whoever has such bounds gets the same guarantee as a window of packets, at any instant and also from one
//! direction alone. There is no estimate here, because nothing says how near to the bounds the truth lies.

use rankscope_time::Span;

use super::FitOptions;
use super::clouds::{Clouds, Point};
use super::guarantee::loosened;

/// What the difference of two clocks can be at one instant, and what one can gain on the other. A side that nothing bounds is
/// none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Possible {
    /// Least difference.
    pub lo: Option<Span>,
    /// Greatest difference.
    pub hi: Option<Span>,
    /// Least and greatest gain, in parts per billion.
    pub skew_ppb: (f64, f64),
}

/// What `b - a` can be at one instant, if at each of `above` it was at most, at each of `below` at least what is given. Both are
/// pairs of the time since that instant on `a`'s clock, and the difference.
///
/// `None` where no two clocks that keep to `options` satisfy all of it.
pub fn possible(above: &[(Span, Span)], below: &[(Span, Span)], options: &FitOptions) -> Option<Possible> {
    let base_ns = above.first().or(below.first()).map_or(0, |(_, difference)| difference.as_nanos());
    let origin = Clouds { base_ns, ..Clouds::default() };
    let placed = |(since, difference): &(Span, Span)| origin.place(Point { x: since.as_nanos(), y: difference.as_nanos() });
    let clouds = origin.with_points(above.iter().filter_map(placed).collect(), below.iter().filter_map(placed).collect());
    let one_sided = clouds.upper.is_empty() || clouds.lower.is_empty();
    let hulls = loosened(&clouds, options);
    let slopes = if one_sided { options.slopes() } else { hulls.feasible(options.slopes())? };
    let (lo_ns, hi_ns) = hulls.range_at_zero(slopes);
    let end = |points: &[Point], ns: i64| (!points.is_empty()).then(|| Span::from_nanos(base_ns.saturating_add(ns)));
    Some(Possible {
        lo: end(&clouds.lower, lo_ns),
        hi: end(&clouds.upper, hi_ns),
        skew_ppb: (slopes.0.ppb().next_down(), slopes.1.ppb().next_up()),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rankscope_time::Rate;

    use super::*;
    use crate::fit::Estimator;

    const SECOND_NS: i64 = 1_000_000_000;

    fn options() -> FitOptions {
        FitOptions { skew_max: Rate::from_ppb(200_000), ..FitOptions::usual(Estimator::Band) }
    }

    fn spans(points: &[(i64, i64)]) -> Vec<(Span, Span)> {
        points.iter().map(|(x, y)| (Span::from_nanos(*x), Span::from_nanos(*y))).collect()
    }

    proptest! {
        /// Whatever line the bounds were taken from, it is possible, also before the first of them.
        #[test]
        fn the_true_line_is_possible(
            offset_ns in -SECOND_NS..SECOND_NS, drift_ppb in -200_000i64..200_000, begin_ns in -SECOND_NS..SECOND_NS,
            above in prop::collection::vec((0..SECOND_NS, 0i64..50_000), 0..20),
            below in prop::collection::vec((0..SECOND_NS, 0i64..50_000), 0..20)
        ) {
            let at = |x: i64| offset_ns + (i128::from(x) * i128::from(drift_ppb)).div_euclid(1_000_000_000) as i64;
            let points = |cloud: &[(i64, i64)], sign: i64| {
                spans(&cloud.iter().map(|(x, off)| (begin_ns + x, at(begin_ns + x) + sign * off)).collect::<Vec<_>>())
            };
            let found = possible(&points(&above, 1), &points(&below, -1), &options()).expect("a line fits");
            prop_assert!(found.lo.is_none_or(|lo| lo.as_nanos() <= offset_ns), "{:?}", found);
            prop_assert!(found.hi.is_none_or(|hi| offset_ns <= hi.as_nanos()), "{:?}", found);
            prop_assert!(found.skew_ppb.0 <= drift_ppb as f64 && drift_ppb as f64 <= found.skew_ppb.1);
            prop_assert_eq!((found.lo.is_some(), found.hi.is_some()), (!below.is_empty(), !above.is_empty()));
        }
    }

    #[test]
    fn bounds_that_cross_are_possible_for_no_clocks() {
        assert_eq!(possible(&spans(&[(0, 10)]), &spans(&[(5, 400)]), &options()), None);
        let later = possible(&spans(&[(0, 10)]), &spans(&[(SECOND_NS, 400)]), &options()).expect("a drift explains it");
        assert!(later.skew_ppb.0 > 300.0, "{later:?}");
    }
}
