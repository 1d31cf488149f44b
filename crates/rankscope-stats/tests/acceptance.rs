//! How often comparisons are wrong, over seeds, where the truth is known. `cargo xtask bench compare --statistics` asks the same
//! with more seeds, and prints it.

mod common;

use common::{compared, lower};
use rankscope_stats::{Evidence, RunSpread, Settings, Verdict, benjamini_hochberg, holm, trend, whole_run};
use rankscope_testkit::Rng;
use rankscope_testkit::steps::{ALARMS, COVER, RHOS, Rates, SIZES, Said, Shape, Steps, error, share};

/// The benchmark takes 1,500.
const SEEDS: u64 = 300;

/// Eighty cells are looked at, so each may be this many standard errors off.
const ERRORS: f64 = 3.5;

fn at_least(found: f64, gate: f64, what: &str) {
    assert!(found >= gate - ERRORS * error(gate, SEEDS), "{what}: {found} of {SEEDS} seeds, not {gate}");
}

fn at_most(found: f64, gate: f64, what: &str) {
    assert!(found <= gate + ERRORS * error(gate, SEEDS), "{what}: {found} of {SEEDS} seeds, not {gate}");
}

/// Runs of thirty steps with spikes, as the gates about runs ask for.
fn sides(runs: [usize; 2], spread: f64, shift: f64, seed: u64) -> [Vec<Vec<f64>>; 2] {
    Steps::new(Shape::Spikes, 0.3).sides(runs, whole_run(30), spread, shift, seed)
}

fn said(evidence: &Evidence) -> Said {
    Said { interval: evidence.interval, p: evidence.p.expect("ten steps or more") }
}

#[test]
fn intervals_by_steps_hold_the_truth_however_steps_scatter_and_resemble_each_other() {
    for (n, m) in SIZES {
        for shape in Shape::REQUIRED {
            for rho in RHOS {
                let steps = Steps::new(shape, rho);
                let rates = Rates::of(SEEDS, |seed| {
                    let base = steps.run(whole_run(n), &mut Rng::lane(seed, 0));
                    let test = steps.run(whole_run(m), &mut Rng::lane(seed, 1));
                    said(&compared(&[base], &[test], &lower()))
                });
                let what = format!("{n} against {m}, {}, rho {rho}", shape.name());
                at_least(rates.cover, COVER.0, &what);
                at_most(rates.cover, COVER.1, &what);
                at_most(rates.alarms, ALARMS, &what);
            }
        }
    }
}

#[test]
fn runs_raise_no_more_false_alarms_than_they_claim() {
    for runs in [3, 5, 10] {
        let rates = Rates::of(SEEDS, |seed| {
            let [base, test] = sides([runs; 2], 0.005, 0.0, seed);
            said(&compared(&base, &test, &lower()))
        });
        at_most(rates.alarms, 0.07, &format!("{runs} runs"));
    }
}

#[test]
fn a_side_that_was_repeated_tells_how_runs_differ() {
    for runs in [[3, 1], [1, 3], [2, 5]] {
        let alarms = share(SEEDS, |seed| {
            let [base, test] = sides(runs, 0.01, 0.0, seed);
            let verdict = compared(&base, &test, &lower()).verdict;
            assert!(!matches!(verdict, Verdict::Differs | Verdict::NoDifferenceSeen), "{verdict:?}");
            matches!(verdict, Verdict::Improved | Verdict::Regressed)
        });
        at_most(alarms, 0.05, &format!("{runs:?}"));
    }
}

#[test]
fn a_stated_spread_keeps_two_runs_from_raising_alarms() {
    let alarms = |settings: Settings| {
        share(SEEDS, |seed| {
            let [base, test] = sides([1, 1], 0.01, 0.0, seed);
            compared(&base, &test, &settings).p.unwrap() <= 0.05
        })
    };
    at_most(alarms(lower().with_run_spread(RunSpread::stated(0.01))), 0.05, "stated");
    assert!(alarms(lower()) > 0.3, "without it, two runs differ, which is all that is said of them");
}

#[test]
fn two_percent_are_seen_with_five_runs_a_side() {
    let called = share(SEEDS, |seed| {
        let [base, test] = sides([5; 2], 0.003, 0.02, seed);
        compared(&base, &test, &lower()).verdict == Verdict::Regressed
    });
    at_least(called, 0.9, "power");
}

#[test]
fn a_shift_of_the_margin_is_seldom_equivalent() {
    let equivalent = |shift| {
        share(SEEDS, |seed| {
            let [base, test] = sides([5; 2], 0.003, shift, seed);
            compared(&base, &test, &lower()).verdict == Verdict::Equivalent
        })
    };
    at_most(equivalent(0.01), 0.05, "at the margin");
    assert!(equivalent(0.0) > 0.6);
}

/// p values of metrics correlated by a half, five runs a side, none of which changed but the first `changed`.
fn family(metrics: usize, changed: usize, seed: u64) -> Vec<f64> {
    let [base, mut test] = Steps::new(Shape::Spikes, 0.3).families(metrics, 5, whole_run(10), 0.005, seed);
    test[..changed].iter_mut().flatten().flatten().for_each(|step| *step *= 1.03);
    base.iter().zip(&test).map(|(base, test)| said(&compared(base, test, &lower())).p).collect()
}

#[test]
fn a_family_of_metrics_raises_no_more_alarms_than_one() {
    for (metrics, gate) in [(20, 0.06), (100, 0.05)] {
        let any = share(SEEDS, |seed| holm(&family(metrics, 0, seed)).iter().any(|p| *p <= 0.05));
        at_most(any, gate, &format!("{metrics} metrics"));
    }
}

#[test]
fn of_what_stands_out_few_did_not_change() {
    let (mut false_ones, mut found) = (0.0, 0.0);
    for seed in 0..SEEDS {
        let out: Vec<bool> = benjamini_hochberg(&family(20, 5, seed)).iter().map(|p| *p <= 0.05).collect();
        let count = |out: &[bool]| out.iter().filter(|out| **out).count() as f64;
        false_ones += count(&out[5..]) / count(&out).max(1.0);
        found += count(&out[..5]) / 5.0;
    }
    at_most(false_ones / SEEDS as f64, 0.05, "false discoveries");
    at_least(found / SEEDS as f64, 0.9, "changes found");
}

#[test]
fn steps_that_resemble_each_other_are_no_trend_and_a_drift_is() {
    for rho in [0.0, 0.3, 0.6] {
        let steps = Steps::new(Shape::Normal, rho);
        let run = |seed| steps.run(100, &mut Rng::lane(seed, 3));
        at_most(share(SEEDS, |seed| trend(&run(seed)).unwrap().p <= 0.01), 0.015, &format!("rho {rho}"));
        let drifting =
            |seed| -> Vec<f64> { run(seed).iter().enumerate().map(|(step, value)| value + 0.04 * step as f64).collect() };
        at_least(share(SEEDS, |seed| trend(&drifting(seed)).unwrap().p <= 0.01), 0.9, &format!("drift, rho {rho}"));
    }
}
