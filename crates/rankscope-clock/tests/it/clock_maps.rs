//! Maps of wandering clocks: monotone, closer than the rounds they are made of, and right about how far off they are.

use proptest::prelude::*;
use rankscope_clock::nodes::{ClockFilter, NodeEstimate, NodeStep, Solution, joined, smooth, smoothed_estimates};
use rankscope_clock::simulate::SimClock;
use rankscope_clock::{HostInstant, Interval, NodeId, Rng};
use rankscope_time::{ClockMap, HostClock, Rate, ReferenceClock, Span};

const NODE: NodeId = NodeId(3);
const EPOCH_NS: i64 = 1_790_000_000_000_000_000;
const WINDOW_NS: i64 = 4_000_000_000;

/// Skews of these clocks walk by 3 ppb in a second; over a window they change no faster than this.
const WANDER_PPB: f64 = 3.0;
const CHANGE_PPB_PER_S: u32 = 15;

fn clock(seed: u64) -> SimClock {
    let mut rng = Rng::lane(seed, 1);
    let offset = Span::from_nanos(rng.below(10_000_000_000) as i64 - 5_000_000_000);
    SimClock::new(EPOCH_NS, offset, Rate::from_ppb(rng.below(100_000) as i64 - 50_000), WANDER_PPB, seed)
}

/// Estimates of `clock` every window, normally 20 ns off, within intervals that hold.
fn estimates(clock: &mut SimClock, rounds: i64, seed: u64) -> Vec<NodeEstimate> {
    let mut rng = Rng::lane(seed, 2);
    let estimate = |round: i64| {
        let reference_ns = EPOCH_NS + round * WINDOW_NS + WINDOW_NS / 2;
        let local_ns = clock.local_ns(reference_ns);
        let truth_ns = local_ns - reference_ns;
        let second = |from: i64| clock.local_ns(from + 1_000_000_000) - clock.local_ns(from) - 1_000_000_000;
        let skew_ppb = [reference_ns - 1_000_000_000, reference_ns].map(second).iter().sum::<i64>() as f64 / 2.0;
        let offset = Span::from_nanos(truth_ns + (20.0 * rng.normal()) as i64);
        let side = |rng: &mut Rng| Span::from_nanos(120 + rng.below(500) as i64);
        let truth = Span::from_nanos(truth_ns);
        NodeEstimate {
            node: NODE,
            // The node reads this when the reference would, were the estimate right.
            at: HostInstant::from_nanos_since_epoch(local_ns),
            offset,
            skew_ppb: skew_ppb + 5.0 * rng.normal(),
            bound: Interval { lo: truth - side(&mut rng), hi: truth + side(&mut rng) },
            skew_bound_ppb: (skew_ppb - 150.0, skew_ppb + 150.0),
            sigma_ns: 20.0,
            residual_ns: 0.0,
            degraded: false,
        }
    };
    (0..rounds).map(estimate).collect()
}

fn solutions(estimates: &[NodeEstimate]) -> Vec<Solution> {
    estimates.iter().map(|estimate| Solution { nodes: vec![*estimate], ..Solution::default() }).collect()
}

/// How far the map is off where the reference reads `reference_ns`, and how far it says it may be.
fn error_ns(map: &ClockMap<HostClock, ReferenceClock>, clock: &mut SimClock, reference_ns: i64) -> (i64, u64) {
    let at = HostInstant::from_nanos_since_epoch(clock.local_ns(reference_ns));
    (map.map(at).nanos_since_epoch() - reference_ns, map.uncertainty_ns(at))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_truth_is_within_the_stated_uncertainty(rounds in 1i64..40, seed: u64) {
        let mut clock = clock(seed);
        let estimates = estimates(&mut clock, rounds, seed);
        let stretches = smooth(NODE, &solutions(&estimates), CHANGE_PPB_PER_S).unwrap();
        prop_assert_eq!(stretches.len(), 1);
        prop_assert_eq!((stretches[0].from, stretches[0].until), (None, None));
        let mut last = i64::MIN;
        for step in 0..rounds * 16 {
            let reference_ns = EPOCH_NS + step * WINDOW_NS / 16;
            let (error, uncertainty) = error_ns(&stretches[0].map, &mut clock, reference_ns);
            prop_assert!(error.unsigned_abs() <= uncertainty, "{} of {} ns at step {}", error, uncertainty, step);
            prop_assert!(reference_ns + error > last);
            last = reference_ns + error;
        }
    }

    #[test]
    fn the_live_map_is_right_until_the_next_round(rounds in 1i64..20, seed: u64) {
        let mut clock = clock(seed);
        let estimates = estimates(&mut clock, rounds, seed);
        let mut filter = ClockFilter::new(CHANGE_PPB_PER_S);
        prop_assert!(filter.map().is_none());
        for (round, estimate) in (0..).zip(&estimates) {
            filter.update(estimate, &[]);
            let map = filter.map().unwrap();
            for step in 0..=16 {
                let reference_ns = EPOCH_NS + round * WINDOW_NS + WINDOW_NS / 2 + step * WINDOW_NS / 16;
                let (error, uncertainty) = error_ns(&map, &mut clock, reference_ns);
                prop_assert!(error.unsigned_abs() <= uncertainty, "{} of {} ns at step {}", error, uncertainty, step);
            }
        }
    }

    /// Whatever estimates say, there is a map or an error.
    #[test]
    fn nonsense_is_survived(numbers in prop::collection::vec(any::<(i64, i64, f64)>(), 1..12), seed: u64) {
        let mut estimates = estimates(&mut clock(seed), 12, seed);
        for (estimate, (a, b, c)) in estimates.iter_mut().zip(numbers) {
            estimate.at = HostInstant::from_nanos_since_epoch(a);
            (estimate.bound.lo, estimate.bound.hi) = (Span::from_nanos(b), Span::from_nanos(a));
            (estimate.skew_bound_ppb, estimate.sigma_ns) = ((c, -c), c);
        }
        let _ = smooth(NODE, &solutions(&estimates), CHANGE_PPB_PER_S);
        let mut filter = ClockFilter::new(CHANGE_PPB_PER_S);
        estimates.iter().for_each(|estimate| filter.update(estimate, &[]));
        let _ = filter.map();
    }
}

#[test]
fn smoothing_brings_errors_down() {
    let (mut raw, mut smoothed, mut live, mut count) = (0.0, 0.0, 0.0, 0.0);
    for seed in 0..20 {
        let mut clock = clock(seed);
        let estimates = estimates(&mut clock, 60, seed);
        let map = smooth(NODE, &solutions(&estimates), CHANGE_PPB_PER_S).unwrap().remove(0).map;
        let mut filter = ClockFilter::new(CHANGE_PPB_PER_S);
        for (round, estimate) in (0..).zip(&estimates) {
            filter.update(estimate, &[]);
            let reference_ns = EPOCH_NS + round * WINDOW_NS + WINDOW_NS / 2;
            let square = |error: i64| (error as f64).powi(2);
            raw += square((estimate.at - estimate.offset).nanos_since_epoch() - reference_ns);
            smoothed += square(error_ns(&map, &mut clock, reference_ns).0);
            live += square(error_ns(&filter.map().unwrap(), &mut clock, reference_ns).0);
            count += 1.0;
        }
    }
    let [raw, smoothed, live] = [raw, smoothed, live].map(|squares: f64| (squares / count).sqrt());
    assert!((19.0..21.0).contains(&raw), "{raw}");
    assert!(smoothed < 0.75 * raw, "smoothed {smoothed:.1} ns, raw {raw:.1} ns");
    assert!(live < 0.97 * raw && smoothed < live, "live {live:.1} ns, smoothed {smoothed:.1} ns");
}

#[test]
fn a_jump_ends_a_stretch_whether_seen_or_not() {
    let jump_at_ns = EPOCH_NS + 10 * WINDOW_NS + 3_400_000_000;
    for (size_ns, seen) in
        [(1_000_000_000, true), (-1_000_000_000, true), (1_000_000, true), (-1_000_000, false), (20_000, false)]
    {
        let size = Span::from_nanos(size_ns);
        let mut clock = clock(5).with_step(jump_at_ns, size);
        let mut solutions = solutions(&estimates(&mut clock, 20, 5));
        let at = HostInstant::from_nanos_since_epoch(clock.local_ns(jump_at_ns - 1) + 1);
        if seen {
            solutions[10].steps.push(NodeStep { node: NODE, at, size });
        }
        let stretches = smooth(NODE, &solutions, CHANGE_PPB_PER_S).unwrap();
        assert_eq!(stretches.len(), 2, "{size_ns}");
        if seen {
            assert_eq!((stretches[0].until, stretches[1].from), (Some(at), Some(at + size)));
        }
        for (stretch, rounds) in stretches.iter().zip([0..=10, 11..=19]) {
            for round in rounds {
                let reference_ns = EPOCH_NS + round * WINDOW_NS + WINDOW_NS / 2;
                let (error, uncertainty) = error_ns(&stretch.map, &mut clock, reference_ns);
                assert!(error.unsigned_abs() <= uncertainty && error.abs() < 100, "{size_ns}: {error} of {uncertainty} ns");
            }
        }

        let mut filter = ClockFilter::new(CHANGE_PPB_PER_S);
        solutions[..=10].iter().for_each(|solution| filter.update(&solution.nodes[0], &solution.steps));
        let after = error_ns(&filter.map().unwrap(), &mut clock, jump_at_ns + 500_000_000);
        assert!(!seen || after.0.unsigned_abs() <= after.1, "{size_ns}: {} of {} ns", after.0, after.1);
        filter.update(&solutions[11].nodes[0], &[]);
        let later = error_ns(&filter.map().unwrap(), &mut clock, jump_at_ns + WINDOW_NS);
        assert!(later.0.unsigned_abs() <= later.1, "{size_ns}: {} of {} ns", later.0, later.1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// A clock that was set costs the moment at which it was set, and nothing is surer than it is. Not within a second of a round's
    /// instant: skews there are measured over that.
    #[test]
    fn a_jump_costs_the_moments_about_it(
        round in 3i64..16, within_ns in prop_oneof![0i64..900_000_000, 3_100_000_000..WINDOW_NS], size_us in prop_oneof![-4_000_000i64..-50, 50i64..2_000_000],
        seen: bool, seed: u64,
    ) {
        let (jump_at_ns, size_ns) = (EPOCH_NS + round * WINDOW_NS + within_ns, size_us * 1_000);
        let mut clock = clock(seed).with_step(jump_at_ns, Span::from_nanos(size_ns));
        let mut solutions = solutions(&estimates(&mut clock, 20, seed));
        let at = HostInstant::from_nanos_since_epoch(clock.local_ns(jump_at_ns - 1) + 1);
        if seen {
            solutions[round as usize].steps.push(NodeStep { node: NODE, at, size: Span::from_nanos(size_ns) });
        }
        let stretches = smooth(NODE, &solutions, CHANGE_PPB_PER_S).unwrap();
        prop_assume!(stretches.len() == 2);
        let map = joined(&stretches).unwrap();
        // An unseen jump may have been anywhere between two rounds.
        let about_ns = 3 * size_ns.abs() + if seen { 100_000 } else { 2 * WINDOW_NS };
        let mut rng = Rng::lane(seed, 7);
        for _ in 0..400 {
            let reference_ns = EPOCH_NS + rng.below(20 * WINDOW_NS as u64) as i64;
            let (error, uncertainty) = error_ns(&map, &mut clock, reference_ns);
            prop_assert!(error.unsigned_abs() <= uncertainty, "{} of {} ns", error, uncertainty);
            if (reference_ns - jump_at_ns).abs() > about_ns {
                prop_assert!(uncertainty < 3_000, "{} ns, {} ns from the jump", uncertainty, reference_ns - jump_at_ns);
            }
        }
    }
}

/// Nothing is left between two jumps of a minute within a second, so there is no map of both.
#[test]
fn jumps_that_leave_no_room_are_refused() {
    let mut clock = clock(3).with_step(EPOCH_NS + 10 * WINDOW_NS, Span::from_nanos(600_000_000_000));
    let solutions = solutions(&estimates(&mut clock, 20, 3));
    let stretches = smooth(NODE, &solutions, CHANGE_PPB_PER_S).unwrap();
    assert_eq!(stretches.len(), 2);
    assert!(joined(&stretches).is_none());
    assert!(joined(&stretches[..1]).is_some_and(|map| map == stretches[0].map));
    assert!(joined(&[]).is_none());
}

#[test]
fn missing_rounds_are_bridged_and_cost_certainty() {
    let mut clock = clock(9);
    let mut solutions = solutions(&estimates(&mut clock, 30, 9));
    solutions[10..20].iter_mut().for_each(|solution| solution.nodes.clear());
    let stretches = smooth(NODE, &solutions, CHANGE_PPB_PER_S).unwrap();
    assert_eq!(stretches.len(), 1);
    let mut at = |round: i64| error_ns(&stretches[0].map, &mut clock, EPOCH_NS + round * WINDOW_NS);
    let (error, uncertainty) = at(15);
    assert!(error.unsigned_abs() <= uncertainty);
    assert!(uncertainty > 3 * at(5).1);
    assert_eq!(smooth(NodeId(4), &solutions, CHANGE_PPB_PER_S).unwrap().len(), 0);
}

/// Smoothed estimates are closer than those of the rounds, and as far off as they say.
#[test]
fn smoothed_estimates_say_how_far_off_they_are() {
    let (mut squares, mut stated, mut plain, mut beyond, mut count) = (0.0, 0.0, 0.0, 0, 0);
    for seed in 0..200 {
        let mut clock = clock(seed);
        let estimates = estimates(&mut clock, 30, seed);
        let smoothed = smoothed_estimates(NODE, &solutions(&estimates), CHANGE_PPB_PER_S);
        assert_eq!(smoothed.len(), estimates.len());
        for (round, (estimate, smoothed)) in estimates.iter().zip(&smoothed).enumerate() {
            let reference_ns = EPOCH_NS + round as i64 * WINDOW_NS + WINDOW_NS / 2;
            let truth = Span::from_nanos(clock.local_ns(reference_ns) - reference_ns);
            assert!(estimate.bound.lo <= smoothed.offset && smoothed.offset <= estimate.bound.hi);
            let error_ns = (smoothed.offset - truth).as_nanos() as f64;
            squares += error_ns * error_ns;
            stated += smoothed.sigma_ns * smoothed.sigma_ns;
            plain += ((estimate.offset - truth).as_nanos() as f64).powi(2);
            beyond += u32::from(error_ns.abs() > 3.0 * smoothed.sigma_ns);
            count += 1;
        }
    }
    let ratio: f64 = (stated / squares).sqrt();
    assert!((0.85..1.3).contains(&ratio), "stated sigma is {ratio:.2} of the real one");
    assert!(squares < 0.6 * plain, "{squares} of {plain}");
    assert!(f64::from(beyond) < 0.01 * f64::from(count), "{beyond} of {count} are further off than three sigmas");
}
