//! What holds for every pair of sides, and the rank interval by brute force.

mod common;

use common::{compared, lower};
use proptest::prelude::*;
use rankscope_stats::{Basis, Direction, Evidence, RunSpread, Settings, Unit, Verdict, run_spread};

type Runs = Vec<Vec<f64>>;

/// Runs as jobs leave them: one to four of them, positive, with ties.
fn runs() -> impl Strategy<Value = Runs> {
    let step = prop_oneof![90.0..110.0_f64, (90..110_i32).prop_map(f64::from), 50.0..500.0_f64];
    proptest::collection::vec(proptest::collection::vec(step, 13..40), 1..5)
}

/// Anything at all.
fn wild() -> impl Strategy<Value = Runs> {
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, 1e300];
    let step = prop_oneof![any::<f64>(), proptest::sample::select(special.to_vec()), -3.0..3.0_f64, Just(7.0)];
    proptest::collection::vec(proptest::collection::vec(step, 0..40), 0..5)
}

fn settings() -> impl Strategy<Value = Settings> {
    let direction = proptest::sample::select(vec![Direction::LowerIsBetter, Direction::HigherIsBetter, Direction::Neutral]);
    let spread = proptest::option::of(prop_oneof![Just(0.003), Just(f64::NAN), Just(-1.0), Just(f64::INFINITY)]);
    let odd = || prop_oneof![Just(0.05), Just(0.0), Just(f64::NAN), Just(-1.0), Just(2.0), Just(f64::INFINITY)];
    (direction, spread, odd(), odd(), odd()).prop_map(|(direction, spread, alpha, margin, clocks)| {
        let settings = Settings::new(direction).with_alpha(alpha).with_margin(margin).with_clock_uncertainty(clocks);
        spread.map_or(settings, |spread| settings.with_run_spread(RunSpread::stated(spread)))
    })
}

fn turned(interval: Option<(f64, f64)>) -> Option<(f64, f64)> {
    interval.map(|(low, high)| (-high, -low))
}

fn mapped(runs: &Runs, map: impl Fn(f64) -> f64 + Copy) -> Runs {
    runs.iter().map(|run| run.iter().copied().map(map).collect()).collect()
}

fn close(a: f64, b: f64, size: f64) -> bool {
    (a - b).abs() <= 1e-9 * size
}

/// Both, or neither, and as close as rounding leaves them.
fn close_intervals(a: Option<(f64, f64)>, b: Option<(f64, f64)>, size: f64) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => close(a.0, b.0, size) && close(a.1, b.1, size),
        (None, None) => true,
        _ => false,
    }
}

proptest! {
    #[test]
    fn swapping_sides_negates_to_the_last_bit(base in runs(), test in runs(), clocks in 0.0..2.0_f64) {
        let settings = lower().with_clock_uncertainty(clocks);
        let (there, back) = (compared(&base, &test, &settings), compared(&test, &base, &settings));
        prop_assert_eq!(there.shift.unwrap(), -back.shift.unwrap());
        prop_assert_eq!(there.interval, turned(back.interval));
        prop_assert_eq!(there.between_runs, turned(back.between_runs));
        prop_assert_eq!((there.base, there.test), (back.test, back.base));
        prop_assert_eq!(there.rho, back.rho);
        prop_assert_eq!(there.p, back.p);
        for (a, b) in [(there.verdict, back.verdict), (back.verdict, there.verdict)] {
            prop_assert!(a != Verdict::Regressed || b != Verdict::Regressed);
            prop_assert!(a != Verdict::Improved || b != Verdict::Improved);
        }
    }

    #[test]
    fn anything_has_an_outcome(base in wild(), test in wild(), settings in settings()) {
        let evidence = compared(&base, &test, &settings);
        for (low, high) in [evidence.interval, evidence.ratio_interval, evidence.between_runs].into_iter().flatten() {
            prop_assert!(low <= high && low.is_finite() && high.is_finite(), "{:?}", evidence);
        }
        let numbers = [evidence.base, evidence.test, evidence.shift, evidence.ratio, evidence.p, evidence.rho];
        prop_assert!(numbers.into_iter().flatten().all(f64::is_finite), "{:?}", evidence);
        let decided = matches!(evidence.verdict, Verdict::Improved | Verdict::Regressed | Verdict::Changed | Verdict::Differs);
        let excludes_zero = evidence.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
        let bounded = evidence.interval.is_some() || settings.alpha != 0.05;
        prop_assert!(bounded || evidence.p.is_none_or(|p| p > 0.05), "{:?}", evidence);
        prop_assert!(!decided || evidence.unit == Unit::Run || excludes_zero, "{:?}", evidence);
    }

    #[test]
    fn a_side_is_equivalent_to_itself_to_the_last_bit(side in runs(), by in 0..4_usize) {
        let mut other = side.clone();
        let runs = other.len();
        other.rotate_left(by % runs);
        let evidence = compared(&side, &other, &lower());
        prop_assert_eq!((evidence.shift, evidence.interval), (Some(0.0), Some((0.0, 0.0))));
        prop_assert_eq!((evidence.ratio, evidence.ratio_interval), (Some(0.0), Some((0.0, 0.0))));
        prop_assert_eq!((evidence.p, evidence.verdict, evidence.needed), (Some(1.0), Verdict::Equivalent, None));
    }

    #[test]
    fn the_order_of_runs_does_not_matter(base in runs(), test in runs(), by in 0..4_usize) {
        let mut turned = base.clone();
        turned.reverse();
        let runs = turned.len();
        turned.rotate_left(by % runs);
        prop_assert_eq!(compared(&base, &test, &lower()), compared(&turned, &test, &lower()));
    }

    #[test]
    fn another_unit_is_another_scale(base in runs(), test in runs(), exponent in -20..20_i32) {
        // Powers of two, so that nothing is rounded on the way.
        let factor = 2.0_f64.powi(exponent);
        let (one, other) = (compared(&base, &test, &lower()), compared(&mapped(&base, |v| v * factor), &mapped(&test, |v| v * factor), &lower()));
        prop_assert_eq!(one.shift.unwrap() * factor, other.shift.unwrap());
        prop_assert!(close_intervals(one.interval.map(|(low, high)| (low * factor, high * factor)), other.interval, 1e3 * factor));
        prop_assert!(close_intervals(one.ratio_interval, other.ratio_interval, 10.0));
        prop_assert_eq!((one.verdict, one.basis), (other.verdict, other.basis));
        // Logarithms of scaled values are rounded differently, and what is needed to tell a shift from the margin depends on the last bits.
        prop_assert!(one.needed == other.needed || one.basis == Basis::Logarithms);
    }

    #[test]
    fn what_is_added_to_both_sides_does_not_shift_them(base in runs(), test in runs(), by in 0..1_000_i32) {
        let by = f64::from(by);
        let (one, other) = (compared(&base, &test, &lower()), compared(&mapped(&base, |v| v + by), &mapped(&test, |v| v + by), &lower()));
        prop_assert!(close(one.shift.unwrap(), other.shift.unwrap(), 1e3));
        // A spread between runs is relative, so it does not stay the same.
        prop_assert!(one.run_spread.is_some() || close_intervals(one.interval, other.interval, 1e3));
    }

    #[test]
    fn what_is_added_to_the_test_moves_its_interval_up(base in runs(), test in runs(), by in 0.0..100.0_f64) {
        let (one, other) = (compared(&base, &test, &lower()), compared(&base, &mapped(&test, |v| v + by), &lower()));
        prop_assert!(other.shift.unwrap() >= one.shift.unwrap() - 1e-9);
        let moved = one.interval.map(|(low, high)| (low + by, high + by));
        prop_assert!(one.run_spread.is_some() || close_intervals(moved, other.interval, 1e3));
        prop_assert!(close(other.shift.unwrap(), one.shift.unwrap() + by, 1e3));
    }

    #[test]
    fn clocks_and_spread_only_widen(base in runs(), test in runs(), clocks in 0.0..5.0_f64, spread in 0.0..0.05_f64) {
        let plain = compared(&base, &test, &lower());
        let settings = lower().with_clock_uncertainty(clocks).with_run_spread(RunSpread::stated(spread));
        let wide = compared(&base, &test, &settings);
        // A side with repeats has a spread of its own, which may be the larger one.
        if let (Some(a), Some(b), None) = (plain.interval, wide.interval, plain.run_spread) {
            prop_assert!(b.0 <= a.0 && a.1 <= b.1);
            prop_assert!(wide.p >= plain.p);
        }
    }

    #[test]
    fn the_rank_interval_is_the_one_of_brute_force(base in runs(), test in runs()) {
        let (base, test) = (vec![base[0].clone()], vec![test[0].clone()]);
        let evidence = compared(&base, &test, &lower());
        let expected = brute_force(&base[0], &test[0]);
        prop_assert_eq!(evidence.shift, Some(expected.shift));
        prop_assert!(close(evidence.rho.unwrap(), expected.rho, 1.0), "{} {}", evidence.rho.unwrap(), expected.rho);
        // A count on the edge of a whole number may fall on either side of it.
        prop_assert!(evidence.same_as(&expected.interval) || expected.on_the_edge, "{:?} {:?}", evidence.interval, expected.interval);
    }
}

trait SameAs {
    fn same_as(&self, interval: &Option<(f64, f64)>) -> bool;
}

impl SameAs for Evidence {
    fn same_as(&self, interval: &Option<(f64, f64)>) -> bool {
        self.interval == *interval || self.verdict == Verdict::Equivalent && self.interval == Some((0.0, 0.0))
    }
}

struct BruteForce {
    shift: f64,
    rho: f64,
    interval: Option<(f64, f64)>,
    on_the_edge: bool,
}

/// Word for word: drop, rank, correlate, count, sort.
fn brute_force(base: &[f64], test: &[f64]) -> BruteForce {
    let drop = |run: &[f64]| run[(run.len() / 4).min(5)..].to_vec();
    let (a, b) = (drop(base), drop(test));
    let (n, m) = (a.len() as f64, b.len() as f64);
    let rank = |v: f64, run: &[f64]| {
        let below = run.iter().filter(|other| **other < v).count() as f64;
        below + (run.iter().filter(|other| **other == v).count() as f64 + 1.0) / 2.0
    };
    let (mut product, mut square) = (0.0, 0.0);
    for run in [&a, &b] {
        let ranks: Vec<f64> = run.iter().map(|v| rank(*v, run)).collect();
        let mean = ranks.iter().sum::<f64>() / ranks.len() as f64;
        for t in 0..ranks.len() {
            square += (ranks[t] - mean) * (ranks[t] - mean);
            if t > 0 {
                product += (ranks[t] - mean) * (ranks[t - 1] - mean);
            }
        }
    }
    let length = (n + m) / 2.0;
    let rho = ((product / square + 1.0 / length) / (1.0 - 3.0 / length)).clamp(0.0, 0.95);
    let v = (1.0 + rho) / (1.0 - rho);
    let df = ((n + m) / v - 2.0).max(2.0);
    let depth = n * m / 2.0 - upper_quantile(df) * (n * m * (n + m + 1.0) / 12.0 * v).sqrt();
    let mut d: Vec<f64> = a.iter().flat_map(|a| b.iter().map(move |b| b - a)).collect();
    d.sort_by(f64::total_cmp);
    let shift = if d.len() % 2 == 1 { d[d.len() / 2] } else { (d[d.len() / 2 - 1] + d[d.len() / 2]) / 2.0 };
    let k = depth.floor();
    let interval = (k >= 0.0).then(|| (d[k as usize], d[d.len() - 1 - k as usize]));
    BruteForce { shift, rho, interval, on_the_edge: (depth - depth.round()).abs() < 1e-6 }
}

/// What Student's t exceeds in 2.5 % of cases, by adding up its density and halving: slow, and nobody else's.
fn upper_quantile(df: f64) -> f64 {
    // With x = sqrt(df) tan(u), the density is proportional to cos(u)^(df - 1) between -pi/2 and pi/2.
    let mass = |from: f64, to: f64| -> f64 {
        let pieces = 2_000;
        let width = (to - from) / f64::from(pieces);
        let at = |piece: f64| (from + piece * width).cos().max(0.0).powf(df - 1.0);
        let sum: f64 = (0..pieces).map(f64::from).map(|piece| at(piece) + 4.0 * at(piece + 0.5) + at(piece + 1.0)).sum();
        sum * width / 6.0
    };
    let half = mass(0.0, std::f64::consts::FRAC_PI_2);
    let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if mass(0.0, middle) / half < 0.95 { low = middle } else { high = middle }
    }
    df.sqrt() * low.tan()
}

#[test]
fn the_slow_quantile_is_that_of_the_tables() {
    for (df, expected) in [(2.0, 4.302652729749464), (8.0, 2.3060041352041662), (28.0, 2.0484071417952445)] {
        assert!((upper_quantile(df) - expected).abs() < 1e-6, "{df}");
    }
}

fn series(count: usize, of: impl Fn(usize) -> f64) -> Vec<f64> {
    (0..count).map(of).collect()
}

#[test]
fn one_step_is_no_evidence_and_two_equal_series_are_equivalent() {
    let one = vec![vec![5.0]];
    assert_eq!(compared(&one, &one, &lower()).verdict, Verdict::NoEvidence);
    let three = vec![vec![5.0, 6.0, 7.0]];
    assert_eq!(compared(&three, &three, &lower()).verdict, Verdict::Equivalent);
    let none: Runs = vec![];
    let evidence = compared(&none, &three, &lower());
    assert_eq!((evidence.verdict, evidence.base, evidence.shift), (Verdict::NoEvidence, None, None));
    assert_eq!(compared(&none, &none, &lower()).verdict, Verdict::NoEvidence);
    assert_eq!(compared(&[vec![f64::NAN; 50]], &[vec![f64::NAN; 50]], &lower()).verdict, Verdict::NoEvidence);
}

#[test]
fn constants_that_differ_differ_exactly() {
    let evidence = compared(&[vec![100.0; 30]], &[vec![103.0; 30]], &lower());
    assert_eq!((evidence.shift, evidence.interval), (Some(3.0), Some((3.0, 3.0))));
    assert_eq!(evidence.verdict, Verdict::Differs);
    let runs = |value: f64| vec![vec![value; 30]; 3];
    assert_eq!(compared(&runs(100.0), &runs(103.0), &lower()).verdict, Verdict::Regressed);
    assert_eq!(compared(&runs(103.0), &runs(100.0), &lower()).verdict, Verdict::Improved);
    assert_eq!(compared(&runs(100.0), &runs(100.3), &lower()).verdict, Verdict::Equivalent);
    assert!(compared(&runs(100.0), &runs(100.3), &lower()).measurable);
    assert_eq!(compared(&runs(100.0), &runs(103.0), &Settings::new(Direction::Neutral)).verdict, Verdict::Changed);
}

#[test]
fn what_appears_from_nothing_is_a_change_without_a_ratio() {
    let runs = |value: f64| vec![vec![value; 30]; 3];
    let evidence = compared(&runs(0.0), &runs(5.0), &lower());
    assert_eq!((evidence.verdict, evidence.ratio, evidence.shift), (Verdict::Regressed, None, Some(5.0)));
    assert_eq!(compared(&runs(0.0), &runs(0.0), &lower()).verdict, Verdict::Equivalent);
}

#[test]
fn a_negative_baseline_keeps_the_sign_of_the_shift() {
    let runs = |value: f64| vec![vec![value; 30]; 3];
    let evidence = compared(&runs(-100.0), &runs(-90.0), &lower());
    assert_eq!((evidence.verdict, evidence.ratio), (Verdict::Regressed, Some(0.1)));
}

#[test]
fn ten_steps_against_a_hundred_thousand_are_compared_in_little_memory() {
    let noise = |step: usize| 100.0 + ((step * 7_919) % 101) as f64 / 50.0;
    let evidence = compared(&[series(13, noise)], &[series(100_000, noise)], &lower());
    assert!(evidence.interval.is_some() && evidence.verdict == Verdict::NoDifferenceSeen, "{evidence:?}");
}

#[test]
fn short_runs_are_set_aside_and_said() {
    let noise = |step: usize| 100.0 + ((step * 7) % 11) as f64 / 10.0;
    let base = vec![series(30, noise), series(3, noise), series(40, noise), series(35, noise)];
    let evidence = compared(&base, &[series(30, noise)], &lower());
    assert_eq!((evidence.short_runs, evidence.runs, evidence.dropped_warmup), ([1, 0], [3, 1], [15, 5]));
    assert_eq!(evidence.run_spread.unwrap().runs, Some(3));
}

#[test]
fn an_uncertain_baseline_is_judged_by_logarithms() {
    let wide = |step: usize| 100.0 * (((step * 7_919) % 101) as f64 / 50.0 - 1.0).exp();
    let evidence = compared(&[series(35, wide)], &[series(35, |step| 2.0 * wide(step + 3))], &lower());
    assert_eq!(evidence.basis, Basis::Logarithms);
    let (low, high) = evidence.ratio_interval.unwrap();
    assert!(low < 1.0 && 1.0 < high && evidence.ratio.unwrap() > 0.5, "{evidence:?}");
    assert_eq!((low > 0.0), evidence.interval.unwrap().0 > 0.0);
}

#[test]
fn the_spread_that_is_found_is_the_one_that_is_used() {
    let spread = run_spread(&[99.0, 100.0, 101.0]).unwrap();
    let noise = |step: usize| 100.0 + ((step * 7_919) % 101) as f64 / 50.0;
    let sides = (vec![series(30, noise)], vec![series(30, |step| noise(step + 1) + 3.0)]);
    let evidence = compared(&sides.0, &sides.1, &lower().with_run_spread(spread));
    assert_eq!((evidence.run_spread, evidence.verdict), (Some(spread), Verdict::Inconclusive));
    assert_eq!(compared(&sides.0, &sides.1, &lower().with_run_spread(RunSpread::stated(0.001))).verdict, Verdict::Regressed);
    assert_eq!(compared(&sides.0, &sides.1, &lower()).verdict, Verdict::Differs);
}
