//! Laws of the fit, on clocks and networks that are made up but known exactly.

use proptest::prelude::*;
use rankscope_time::Span;

use super::*;
use crate::simulate::SimClock;
use crate::{HostInstant, Passage, Rng};

const MS_NS: i64 = 1_000_000;
const SECOND_NS: i64 = 1_000 * MS_NS;

fn at(ns: i64) -> HostInstant {
    HostInstant::from_nanos_since_epoch(ns)
}

/// `count` exchanges, one every 2 ms from `start_ns` on, between a true clock and `difference`, a function of true time.
fn exchanges(
    start_ns: i64,
    count: u32,
    mut difference: impl FnMut(i64) -> i64,
    mut delay_ns: impl FnMut() -> i64,
) -> Vec<Exchange> {
    let passage = |sent: i64, received: i64| Passage { sent: Some(at(sent)), received: Some(at(received)) };
    let made = (0..count).map(|sequence| {
        let start = start_ns + i64::from(sequence) * 2 * MS_NS;
        let forward = [0, 20_000].map(|later| {
            let (sent, arrives) = (start + later, start + later + delay_ns());
            passage(sent, arrives + difference(arrives))
        });
        let reverse = [MS_NS, MS_NS + 20_000].map(|later| {
            let (sent, arrives) = (start + later, start + later + delay_ns());
            passage(sent + difference(sent), arrives)
        });
        Exchange { sequence, forward, reverse }
    });
    made.collect()
}

/// A floor of 500 ns, left by one packet in three for a queue of 100 µs in the mean.
fn queue(seed: u64) -> impl FnMut() -> i64 {
    let mut rng = Rng::new(seed);
    move || 500 + (20.0 * rng.exponential()) as i64 + if rng.below(3) > 0 { (1e5 * rng.exponential()) as i64 } else { 0 }
}

fn options() -> FitOptions {
    FitOptions::usual(Estimator::Band)
}

fn only(found: &WindowFit) -> EdgeFit {
    assert_eq!(found.fits.len(), 1, "{found:?}");
    found.fits[0].expect("a line")
}

/// A clock whose skew changes at a rate that is drawn anew each tenth of a second and never exceeds `most_ppb_per_s`.
fn bending(seed: u64, most_ppb_per_s: f64) -> impl Fn(i64) -> i64 {
    let mut rng = Rng::new(seed);
    let first = (1e9 * (rng.unit() - 0.5), 1e5 * (rng.unit() - 0.5));
    let mut knots = vec![(first.0, first.1, 0.0)];
    for _ in 0..50 {
        let (phase_ns, skew_ppb, change) = knots[knots.len() - 1];
        knots.push((phase_ns + skew_ppb * 0.1 + change * 0.005, skew_ppb + change * 0.1, 0.0));
        let last = knots.len() - 1;
        knots[last].2 = most_ppb_per_s * if rng.below(2) == 0 { 1.0 } else { -1.0 };
    }
    move |true_ns| {
        let s = true_ns as f64 * 1e-9;
        let (phase_ns, skew_ppb, change) = knots[((s * 10.0) as usize).min(knots.len() - 1)];
        let rest = s - (s * 10.0).floor() / 10.0;
        (phase_ns + skew_ppb * rest + change * rest * rest / 2.0).round() as i64
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_guarantee_holds_for_every_clock_that_bends_no_faster_than_assumed(
        seed in any::<u64>(), most in 0u32..2_000, count in 12u32..1_500, floor_ns in 0i64..300, busy in 1u64..20,
    ) {
        let clock = bending(seed, f64::from(most));
        let mut rng = Rng::lane(seed, 1);
        let delay = || floor_ns + if rng.below(busy) > 0 { (1e6 * rng.exponential()) as i64 } else { 0 };
        let window = exchanges(1, count, &clock, delay);
        let found = fit_window(&window, None, &FitOptions { skew_change_ppb_per_s: most, ..options() });
        let fit = only(&found);
        let truth = |ns| Span::from_nanos(clock(ns));
        let mid = fit.mid.nanos_since_epoch();
        prop_assert!(fit.degraded || (fit.bound.lo <= truth(mid) && truth(mid) <= fit.bound.hi), "{fit:?} {:?}", truth(mid));
        for away in [-SECOND_NS, -SECOND_NS / 7, SECOND_NS / 3, SECOND_NS] {
            let then = mid + away;
            if (0..4 * SECOND_NS).contains(&then) {
                let bound = fit.bound_at(at(then), most);
                prop_assert!(fit.degraded || (bound.lo <= truth(then) && truth(then) <= bound.hi), "{fit:?} at {away}");
            }
        }
    }

    #[test]
    fn without_queues_a_straight_clock_is_found_to_the_nanosecond(
        offset in -5_000_000_000i64..5_000_000_000, skew in -100_000i64..100_000, floor_ns in 0i64..2_000,
    ) {
        let clock = |ns| offset + Rate::from_ppb(skew).over(Span::from_nanos(ns)).as_nanos();
        let window = exchanges(0, 500, clock, || floor_ns);
        let fit = only(&fit_window(&window, None, &FitOptions { skew_change_ppb_per_s: 0, ..options() }));
        let truth = clock(fit.mid.nanos_since_epoch());
        prop_assert!((fit.offset.as_nanos() - truth).abs() <= 1, "{fit:?} {truth}");
        prop_assert!((fit.skew_ppb - skew as f64).abs() < 4.0, "{fit:?}");
        prop_assert!((fit.bound.hi - fit.bound.lo).as_nanos() <= 2 * floor_ns + 6, "{fit:?}");
        prop_assert!(!fit.degraded);
    }

    #[test]
    fn the_order_of_exchanges_does_not_matter(seed in any::<u64>()) {
        let mut window = exchanges(0, 300, bending(seed, 50.0), queue(seed));
        let sorted = fit_window(&window, None, &options());
        let mut rng = Rng::new(seed);
        for index in (1..window.len()).rev() {
            window.swap(index, rng.below(index as u64 + 1) as usize);
        }
        prop_assert_eq!(fit_window(&window, None, &options()), sorted);
    }

    #[test]
    fn any_stamps_are_fitted_or_refused_without_a_panic(
        stamps in prop::collection::vec(prop::array::uniform8(prop::option::of(any::<i64>())), 0..60),
        far in prop::collection::vec(prop::array::uniform8(prop::option::of(-(1i64 << 44)..1 << 44)), 0..60),
        near in prop::collection::vec(prop::array::uniform8(prop::option::of(-50i64..50)), 0..60),
        which in 0..3,
        skew_max in any::<i64>(),
        exchanges_min in 0u32..12,
    ) {
        let estimator = [Estimator::Band, Estimator::Robust, Estimator::Svm][which as usize];
        let skew_max = Rate::from_ppb(skew_max);
        let options = FitOptions { estimator, skew_change_ppb_per_s: u32::MAX, skew_max, exchanges_min };
        for set in [stamps, far, near] {
            let window: Vec<Exchange> = set.into_iter().map(exchange_of).collect();
            fit_window(&window, None, &options);
        }
    }
}

fn exchange_of(stamps: [Option<i64>; 8]) -> Exchange {
    let [a, b, c, d, e, f, g, h] = stamps.map(|ns| ns.map(at));
    let passage = |sent, received| Passage { sent, received };
    Exchange { sequence: 0, forward: [passage(a, b), passage(c, d)], reverse: [passage(e, f), passage(g, h)] }
}

#[test]
fn too_little_says_so() {
    let refused = |window: &[Exchange]| fit_window(window, None, &options()).fits;
    assert_eq!(refused(&[]), [Err(NoFit::TooFewExchanges(0))]);
    assert_eq!(refused(&exchanges(0, 9, |_| 0, queue(1))), [Err(NoFit::TooFewExchanges(9))]);
    let mut one_way = exchanges(0, 100, |_| 0, queue(1));
    one_way.iter_mut().for_each(|exchange| exchange.reverse = Default::default());
    assert_eq!(refused(&one_way), [Err(NoFit::OneDirection)]);
}

#[test]
fn a_clock_that_contradicts_itself_all_the_time_has_no_line() {
    let mut rng = Rng::new(3);
    let found = fit_window(&exchanges(0, 1000, |_| rng.below(SECOND_NS as u64) as i64, || 500), None, &options());
    assert!(found.fits.contains(&Err(NoFit::Contradiction)), "{found:?}");
}

#[test]
fn a_step_splits_the_window_where_it_happened() {
    for size in [1_000_000_000, -1_000_000_000, 1_000_000, -1_000_000, 20_000] {
        let mut clock = SimClock::new(0, Span::from_nanos(77), Rate::from_ppb(9_000), 10.0, 4)
            .with_step(1_300 * MS_NS, Span::from_nanos(size));
        let window = exchanges(0, 2_000, |ns| clock.local_ns(ns) - ns, queue(8));
        let found = fit_window(&window, None, &options());
        let lines: Vec<EdgeFit> = found.fits.iter().flatten().copied().collect();
        let [ClockEvent::Step { at: when, size: found_size }] = found.events[..] else { panic!("{size}: {found:?}") };
        assert!((found_size.as_nanos() - size).abs() < 300, "{size}: {found_size:?}");
        assert!((when.nanos_since_epoch() - 1_300 * MS_NS).abs() < 20 * MS_NS, "{size}: {when:?}");
        for line in &lines {
            let mid = line.mid.nanos_since_epoch();
            let truth = Span::from_nanos(clock.local_ns(mid) - mid);
            assert!(line.bound.lo <= truth && truth <= line.bound.hi, "{size}: {line:?}");
        }
        assert_eq!(found.parts().filter_map(|(_, event)| event).count(), 1);
        assert!(found.parts().next().is_some_and(|(_, event)| event.is_none()));
    }
}

/// Exchanges every 2 ms, of which only those whose time a rest of `rest_ns` before `until_ns` does not cover took place.
fn resting(window: Vec<Exchange>, until_ns: i64, rest_ns: i64) -> Vec<Exchange> {
    let is_resting = |sent: HostInstant| (until_ns - rest_ns..until_ns).contains(&sent.nanos_since_epoch());
    window.into_iter().filter(|exchange| exchange.forward[0].sent.is_some_and(|sent| !is_resting(sent))).collect()
}

#[test]
fn a_packet_behind_a_step_does_not_lengthen_the_line_before_it() {
    let step_ns = SECOND_NS + 150 * MS_NS;
    for size in [MS_NS, -MS_NS, 20_000, -20_000] {
        let mut clock = SimClock::perfect().with_step(step_ns, Span::from_nanos(size));
        let window = exchanges(0, 1_000, |ns| clock.local_ns(ns) - ns, || 500);
        let mut window = resting(window, SECOND_NS + 200 * MS_NS, 200 * MS_NS);
        // The first exchanges behind the step queue for longer than it is.
        let behind = window.iter().position(|exchange| exchange.forward[0].sent > Some(at(step_ns))).expect("some are");
        for exchange in &mut window[behind..behind + 3] {
            for passage in exchange.forward.iter_mut().chain(&mut exchange.reverse) {
                passage.received = passage.received.map(|at| at + Span::from_nanos(2 * MS_NS));
            }
        }
        let found = fit_window(&window, None, &options());
        let lines: Vec<EdgeFit> = found.fits.iter().flatten().copied().collect();
        let [before, after] = lines[..] else { panic!("{size}: {found:?}") };
        assert!(before.end < at(step_ns) && at(step_ns) < after.start, "{size}: {before:?} {after:?}");
        assert!(before.end > at(SECOND_NS - 10 * MS_NS) && after.start < at(SECOND_NS + 220 * MS_NS), "{size}: {lines:?}");
        assert!(!before.degraded && !after.degraded, "{size}: {lines:?}");
    }
}

#[test]
fn a_step_that_the_round_trip_hides_is_marked_before_it_moves_the_truth_out() {
    for when in [1_200, 1_900, 2_050, 2_600] {
        for size in (-1_000..=1_000).step_by(50) {
            let mut clock = SimClock::perfect().with_step(when * MS_NS, Span::from_nanos(size));
            let found = fit_window(&exchanges(0, 2_000, |ns| clock.local_ns(ns) - ns, queue(8)), None, &options());
            for fit in found.fits.iter().flatten() {
                let mid = fit.mid.nanos_since_epoch();
                let truth = Span::from_nanos(clock.local_ns(mid) - mid);
                assert!(fit.degraded || (fit.bound.lo <= truth && truth <= fit.bound.hi), "{size} at {when}: {fit:?}");
                assert!(!fit.degraded || size.abs() >= 250, "{size} at {when}: {fit:?}");
            }
        }
    }
}

#[test]
fn two_trains_with_a_step_between_them_prove_no_slope() {
    // Two trains of 32 ms with a rest of 300 ms between them, then a second of silence, then another step and plenty.
    let mut clock =
        SimClock::perfect().with_step(150 * MS_NS, Span::from_nanos(5_000)).with_step(1_000 * MS_NS, Span::from_nanos(MS_NS));
    let window = exchanges(0, 2_000, |ns| clock.local_ns(ns) - ns, queue(8));
    let window = resting(resting(window, 300 * MS_NS, 268 * MS_NS), 1_400 * MS_NS, 1_068 * MS_NS);
    let found = fit_window(&window, None, &options());
    for fit in found.fits.iter().flatten() {
        let mid = fit.mid.nanos_since_epoch();
        let truth = Span::from_nanos(clock.local_ns(mid) - mid);
        assert!(fit.degraded || (fit.bound.lo <= truth && truth <= fit.bound.hi), "{fit:?}");
    }
    assert!(found.fits.last().is_some_and(|fit| fit.is_ok_and(|fit| !fit.degraded)), "{found:?}");
}

#[test]
fn a_slew_is_two_changes_of_rate() {
    let mut clock = SimClock::perfect().with_slew(SECOND_NS, 3 * SECOND_NS, Rate::from_ppb(500_000));
    let window = exchanges(0, 2_000, |ns| clock.local_ns(ns) - ns, queue(8));
    let found = fit_window(&window, None, &options());
    let rates: Vec<f64> = found
        .events
        .iter()
        .map(|event| match event {
            ClockEvent::RateChange { by_ppb, .. } => *by_ppb,
            ClockEvent::Step { .. } => panic!("{found:?}"),
        })
        .collect();
    assert_eq!(rates.len(), 2, "{found:?}");
    assert!((rates[0] - 500_000.0).abs() < 1_000.0 && (rates[1] + 500_000.0).abs() < 1_000.0, "{rates:?}");
}

#[test]
fn a_step_between_two_windows_is_seen_by_the_second() {
    let mut clock = SimClock::perfect().with_step(4 * SECOND_NS - 1, Span::from_nanos(MS_NS));
    let mut window = |start_ns| exchanges(start_ns, 2_000, |ns| clock.local_ns(ns) - ns, queue(5));
    let before = only(&fit_window(&window(0), None, &options()));
    let found = fit_window(&window(4 * SECOND_NS), Some(&before), &options());
    assert!(matches!(found.events[..], [ClockEvent::Step { size, .. }] if (size.as_nanos() - MS_NS).abs() < 300), "{found:?}");
    assert!(found.parts().next().is_some_and(|(_, event)| event.is_some()));
    let calm = fit_window(&window(8 * SECOND_NS), found.fits[0].as_ref().ok(), &options());
    assert!(calm.events.is_empty(), "{calm:?}");
}

#[test]
fn early_stamps_degrade_the_window_and_leave_the_line_alone() {
    let mut window = exchanges(0, 2_000, |_| 0, queue(6));
    let mut rng = Rng::new(2);
    for exchange in &mut window {
        for passage in exchange.forward.iter_mut().chain(&mut exchange.reverse) {
            if rng.below(100) == 0 {
                passage.received = passage.received.map(|at| at - Span::from_nanos((400.0 * rng.exponential()) as i64));
            }
        }
    }
    let found = fit_window(&window, None, &options());
    let fit = only(&found);
    assert!(fit.degraded && fit.offset.as_nanos().abs() < 60, "{fit:?}");
    assert!(fit.bound.lo.as_nanos() < -500 && fit.bound.hi.as_nanos() > 500, "{fit:?}");
    assert!(found.filtered > 0);
}

#[test]
fn the_svm_is_pulled_off_by_queues_and_the_band_is_not() {
    let window = exchanges(0, 1_500, |_| 0, {
        let (mut rng, mut turn) = (Rng::new(9), 0u32);
        move || {
            turn += 1;
            // Queues on the way there only.
            500 + if turn % 4 < 2 { (1e6 * rng.exponential()) as i64 } else { 0 }
        }
    });
    let pure = |estimator| only(&fit_window(&window, None, &FitOptions::usual(estimator)));
    let (band, svm) = (pure(Estimator::Band), pure(Estimator::Svm));
    assert!(band.offset.as_nanos().abs() < 3_000, "{band:?}");
    assert!(svm.offset.as_nanos() > 10 * band.offset.as_nanos().abs(), "{svm:?}");
    assert_eq!(band.bound, svm.bound);
}
