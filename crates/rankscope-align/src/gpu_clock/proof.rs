//! What is possible where the fit says that something looks odd.
//!
//! The fit marks a line whose stamps lie oddly: it weighs spreads and halves, and of honest times one in eleven looks so by chance. Whether
//! they contradict each other is another question, and has no chance in it: either clocks of the kind that there are satisfy all of them
//! ([`possible`]), or not. Where they do, the interval is made to hold what each half of the stretch leaves possible by itself, and what the
//! fit says: so it holds the truth not only if all times are right, but also if all that is wrong, be it a step of the clock or
//! the times of another operation, is on one side of the middle. What is refused: times that contradict each other, and halves that are
//! bounded from one side only.

use rankscope_clock::fit::{FitOptions, possible};
use rankscope_time::Span;

use super::GpuClockWindow;
use super::told::Told;

/// `window`, which the fit has marked, with an interval that is a proof; none where `told` gives none.
pub(super) fn proven(window: &GpuClockWindow, told: &[Told], loosened_ns: i64, options: &FitOptions) -> Option<GpuClockWindow> {
    let left_open = Range::left_open(told, window.at_ns, loosened_ns, options)?;
    let hull =
        left_open.and(Range { offset_ns: (window.lo_ns, window.hi_ns), drift_ppb: (window.drift_lo_ppb, window.drift_hi_ppb) });
    let ((lo_ns, hi_ns), (drift_lo_ppb, drift_hi_ppb)) = (hull.offset_ns, hull.drift_ppb);
    Some(GpuClockWindow {
        lo_ns,
        hi_ns,
        drift_lo_ppb,
        drift_hi_ppb,
        // Through times that lie oddly a line may pass where no clock can be.
        offset_ns: window.offset_ns.clamp(lo_ns, hi_ns),
        drift_ppb: window.drift_ppb.clamp(drift_lo_ppb, drift_hi_ppb),
        proven: true,
        ..*window
    })
}

/// What the clocks can be apart at the middle, and drift there.
#[derive(Clone, Copy, Debug)]
struct Range {
    offset_ns: (i64, i64),
    drift_ppb: (i64, i64),
}

impl Range {
    /// By all of `told`, by what was before `at_ns`, or by what was after it.
    fn left_open(told: &[Told], at_ns: i64, loosened_ns: i64, options: &FitOptions) -> Option<Self> {
        let of = |is_of: &dyn Fn(&Told) -> bool| Self::of(told.iter().filter(|one| is_of(one)), at_ns, loosened_ns, options);
        let all = of(&|_| true)?;
        // An operation is of a half if all of it was there.
        let first = of(&|one| one.seen_ns <= at_ns)?;
        let last = of(&|one| one.launched_ns.is_some_and(|launched_ns| launched_ns >= at_ns))?;
        Some(all.and(first).and(last))
    }

    /// Of these times; none where they contradict each other, or bound one side only.
    fn of<'a>(told: impl Iterator<Item = &'a Told>, at_ns: i64, loosened_ns: i64, options: &FitOptions) -> Option<Self> {
        let (mut above, mut below) = (Vec::new(), Vec::new());
        let point = |host_ns: i64, ahead_ns: i64| (Span::from_nanos(host_ns.saturating_sub(at_ns)), Span::from_nanos(ahead_ns));
        for one in told {
            let launched = one.launched_ns.zip(one.above_ns());
            above.extend(launched.map(|(launched_ns, ns)| point(launched_ns, ns.saturating_add(loosened_ns))));
            below.push(point(one.seen_ns, one.below_ns().saturating_sub(loosened_ns)));
        }
        let found = possible(&above, &below, options)?;
        let (least_ppb, most_ppb) = found.skew_ppb;
        Some(Self {
            offset_ns: (found.lo?.as_nanos(), found.hi?.as_nanos()),
            drift_ppb: (least_ppb.floor() as i64, most_ppb.ceil() as i64),
        })
    }

    /// Both, and what lies between them.
    fn and(self, other: Self) -> Self {
        let hull = |one: (i64, i64), other: (i64, i64)| (one.0.min(other.0), one.1.max(other.1));
        Self { offset_ns: hull(self.offset_ns, other.offset_ns), drift_ppb: hull(self.drift_ppb, other.drift_ppb) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rankscope_clock::fit::Estimator;
    use rankscope_trace::{SpanId, StrId};

    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;

    /// Operations of ten seconds around 0, on clocks that are `ahead_ns` apart: when each was launched, and how long it took to start, to
    /// stop and to be seen.
    fn told(operations: &[(i64, [i64; 3])], ahead_ns: impl Fn(i64) -> i64) -> Vec<Told> {
        let one = |(launched_ns, [start_ns, stop_ns, seen_ns]): &(i64, [i64; 3])| {
            let (start_ns, stop_ns) = (launched_ns + start_ns, launched_ns + start_ns + stop_ns);
            Told {
                span: SpanId(0),
                group: StrId::EMPTY,
                launched_ns: Some(*launched_ns),
                start_ns: start_ns + ahead_ns(start_ns),
                stop_ns: stop_ns + ahead_ns(stop_ns),
                seen_ns: stop_ns + seen_ns,
            }
        };
        operations.iter().map(one).collect()
    }

    fn operations() -> impl Strategy<Value = Vec<(i64, [i64; 3])>> {
        let took = [500i64..20_000, 3_000..400_000, 500..20_000];
        prop::collection::vec((-5 * SECOND_NS..5 * SECOND_NS, took), 20..200)
    }

    fn left_open(told: &[Told]) -> Option<Range> {
        // Times are whole.
        Range::left_open(told, 0, 1, &FitOptions::usual(Estimator::Band))
    }

    fn holds(found: Range, offset_ns: i64, drift_ppb: i64) -> bool {
        let is_in = |(lo, hi): (i64, i64), value: i64| lo <= value && value <= hi;
        is_in(found.offset_ns, offset_ns) && is_in(found.drift_ppb, drift_ppb)
    }

    fn straight(offset_ns: i64, drift_ppb: i64) -> impl Fn(i64) -> i64 {
        move |at_ns| offset_ns + (i128::from(at_ns) * i128::from(drift_ppb)).div_euclid(1_000_000_000) as i64
    }

    proptest! {
        /// Right times always leave something open, and the truth is in it.
        #[test]
        fn right_times_are_a_proof(
            operations in operations(), offset_ns in -SECOND_NS..SECOND_NS, drift_ppb in -150_000i64..150_000,
        ) {
            let told = told(&operations, straight(offset_ns, drift_ppb));
            let is_whole = |half: i64| operations.iter().any(|(launched_ns, _)| launched_ns * half > 500_000);
            match left_open(&told) {
                Some(found) => prop_assert!(holds(found, offset_ns, drift_ppb), "{:?}", found),
                None => prop_assert!(!is_whole(-1) || !is_whole(1)),
            }
        }

        /// A clock that is set at any time, by anything: where that contradicts nothing, what it was in the middle, before or after, is
        /// possible.
        #[test]
        fn a_step_that_contradicts_nothing_excludes_no_truth(
            operations in operations(), offset_ns in -SECOND_NS..SECOND_NS, drift_ppb in -150_000i64..150_000,
            step_at_ns in -5 * SECOND_NS..5 * SECOND_NS, step_ns in -60_000i64..60_000,
        ) {
            let is_after = |at_ns: i64| at_ns >= step_at_ns;
            let straight = straight(offset_ns, drift_ppb);
            let told = told(&operations, |at_ns| straight(at_ns) + if is_after(at_ns) { step_ns } else { 0 });
            if let Some(found) = left_open(&told) {
                let truth_ns = offset_ns + if is_after(0) { step_ns } else { 0 };
                prop_assert!(holds(found, truth_ns, drift_ppb), "{:?}", found);
            }
        }

        /// Whatever is told of one half, up to the middle or from there on, excludes nothing that is true: be it by so little that it
        /// contradicts nothing.
        #[test]
        fn lies_of_one_half_exclude_no_truth(
            operations in operations(), offset_ns in -SECOND_NS..SECOND_NS, drift_ppb in -150_000i64..150_000,
            is_late in any::<bool>(), lies in prop::collection::vec((any::<bool>(), 1i64..1_500), 1..4),
        ) {
            let ahead_ns = straight(offset_ns, drift_ppb);
            let mut told = told(&operations, &ahead_ns);
            let of_half = told.iter_mut().filter(|one| if is_late { one.seen_ns > 0 } else { one.launched_ns < Some(0) });
            for (one, (is_start, by_ns)) in of_half.zip(lies) {
                match one.launched_ns.filter(|_| is_start) {
                    Some(launched_ns) => one.start_ns = launched_ns + ahead_ns(launched_ns) - by_ns,
                    None => one.stop_ns = one.seen_ns + ahead_ns(one.seen_ns) + by_ns,
                }
            }
            if let Some(found) = left_open(&told) {
                prop_assert!(holds(found, offset_ns, drift_ppb), "{:?}", found);
            }
        }
    }
}
