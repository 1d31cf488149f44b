use rankscope_document::{Document, Rank, Step, Time};
use rankscope_testkit::Rng;
use rankscope_testkit::steps::{Shape, Steps};

use super::*;
use crate::Run;

const STEPS: usize = 30;

/// A run of one rank, whose steps take about `step_ns`.
fn run(step_ns: f64, seed: u64) -> Run {
    let lengths = Steps { level: step_ns, ..Steps::new(Shape::Normal, 0.0) }.run(STEPS, &mut Rng::new(seed));
    of_ranks(&[lengths])
}

fn of_ranks(ranks: &[Vec<f64>]) -> Run {
    let rank = |(rank, lengths): (usize, &Vec<f64>)| {
        let time = |length: f64| Time { total: length as i64, ..Time::default() };
        let step = |(number, length): (usize, &f64)| Step {
            step: number as i64,
            window_ns: [number as i64, 0],
            time_ns: time(*length),
        };
        Rank { rank: rank as u32, steps: lengths.iter().enumerate().map(step).collect(), ..Rank::default() }
    };
    Run::new("run", Document { ranks: ranks.iter().enumerate().map(rank).collect(), ..Document::default() })
}

fn sides(base: &[f64], test: &[f64]) -> [Side; 2] {
    let runs = |levels: &[f64], first: u64| levels.iter().zip(first..).map(|(level, seed)| run(*level, seed)).collect();
    [Side::new("base", runs(base, 1)), Side::new("test", runs(test, 100))]
}

fn judged(sides: &[Side], policy: &str) -> GateResult {
    gate(sides, &Policy::parse(policy).unwrap(), "gate.toml", &Settings::default())
}

fn metrics(checks: &[GateCheck]) -> Vec<&str> {
    checks.iter().map(|check| check.metric.as_str()).collect()
}

const STEP: &str = "[[metric]]\nname = \"step_ns\"\n";

/// Levels of three runs around one million nanoseconds.
const THREE: [f64; 3] = [1.000e6, 1.002e6, 0.998e6];

fn times(levels: [f64; 3], factor: f64) -> [f64; 3] {
    levels.map(|level| level * factor)
}

#[test]
fn a_regression_fails_and_nothing_else_does() {
    let outcomes = [1.05, 1.0, 0.95].map(|factor| judged(&sides(&THREE, &times(THREE, factor)), STEP));
    assert_eq!(outcomes.each_ref().map(|gate| gate.passed), [false, true, true], "{outcomes:?}");
    assert_eq!((metrics(&outcomes[0].failed), &outcomes[0].failed[0].verdict), (vec!["step_ns"], &ChangeVerdict::Regressed));
    assert!(outcomes[0].failed[0].reason.contains("margin of 1 %"), "{}", outcomes[0].failed[0].reason);
    assert_eq!(outcomes[2].held[0].verdict, ChangeVerdict::Improved);
}

#[test]
fn a_direction_of_the_policy_goes_before_that_of_the_metric() {
    let faster = sides(&THREE, &times(THREE, 0.95));
    for (direction, passed) in [("lower", true), ("higher", false), ("neutral", false)] {
        assert_eq!(judged(&faster, &format!("{STEP}direction = \"{direction}\"\n")).passed, passed, "{direction}");
    }
}

#[test]
fn a_metric_that_is_not_there_fails_with_the_reason() {
    let gate = judged(&sides(&THREE, &THREE), &format!("{STEP}[[metric]]\nname = \"comm.*.busbw\"\n"));
    assert!(!gate.passed && gate.failed[0].reason.contains("neither side"), "{gate:?}");
    assert_eq!((metrics(&gate.failed), metrics(&gate.held)), (vec!["comm.*.busbw"], vec!["step_ns"]));
}

#[test]
fn a_metric_of_one_side_fails() {
    let lengths = vec![1e6; STEPS];
    let wide = || vec![of_ranks(&[lengths.clone(), lengths.clone()])];
    let narrow = || vec![of_ranks(std::slice::from_ref(&lengths))];
    let policy = "[[metric]]\nname = \"step_ns@rank1\"\n";
    let gate = judged(&[Side::new("base", wide()), Side::new("test", narrow())], policy);
    assert_eq!(gate.failed[0].reason, "only the base has this metric");
    let gate = judged(&[Side::new("base", narrow()), Side::new("test", wide())], policy);
    assert_eq!(gate.failed[0].reason, "only the test has this metric");
}

#[test]
fn one_run_a_side_is_undecided_until_the_spread_between_runs_is_known() {
    let slower = sides(&[1e6], &[1.05e6]);
    for (answer, passed) in [("fail", false), ("warn", true), ("pass", true)] {
        let gate = judged(&slower, &format!("on_inconclusive = \"{answer}\"\n{STEP}"));
        let checks = if passed { &gate.undecided } else { &gate.failed };
        assert_eq!((gate.passed, &checks[0].verdict), (passed, &ChangeVerdict::Differs));
        assert!(checks[0].reason.contains("three runs a side"), "{}", checks[0].reason);
    }
    let known = judged(&slower, &format!("run_spread = 0.003\n{STEP}"));
    assert_eq!((known.passed, &known.failed[0].verdict), (false, &ChangeVerdict::Regressed));
    let settings = Settings::default()
        .with_run_spreads(BTreeMap::from([("step_ns".to_owned(), RunSpread { relative: 0.003, runs: Some(20) })]));
    let of_history = gate(&slower, &Policy::parse(STEP).unwrap(), "gate.toml", &settings);
    assert_eq!(of_history.failed[0].verdict, ChangeVerdict::Regressed, "runs of before tell it, too");
}

#[test]
fn repeats_of_the_base_tell_how_much_runs_differ() {
    let gate = judged(&sides(&THREE, &[1.05e6]), STEP);
    assert_eq!((gate.passed, &gate.failed[0].verdict), (false, &ChangeVerdict::Regressed), "{gate:?}");
}

#[test]
fn with_less_than_the_policy_asks_for_nothing_is_decided() {
    let slower = sides(&THREE, &times(THREE, 1.05));
    for (asks, says) in [("least_runs = 5", "3 of the 5 runs"), ("least_steps = 500", "75 of the 500 steps")] {
        let gate = judged(&slower, &format!("{asks}\n{STEP}"));
        assert!(gate.passed && gate.undecided[0].reason.contains(says), "{gate:?}");
    }
}

#[test]
fn what_two_entries_match_is_judged_by_the_first() {
    let gate = judged(
        &sides(&THREE, &times(THREE, 1.05)),
        &format!("{STEP}margin = 0.2\n[[metric]]\nname = \"step*\"\nscope = \"job\"\n"),
    );
    assert_eq!((gate.passed, gate.family, metrics(&gate.held)), (true, 1, vec!["step_ns"]), "{gate:?}");
}

#[test]
fn a_scope_keeps_to_ranks_or_to_the_job() {
    let same = sides(&THREE, &THREE);
    let of = |scope: &str| judged(&same, &format!("{STEP}scope = \"{scope}\"\n"));
    assert_eq!(metrics(&of("ranks").held), ["step_ns@rank0"]);
    assert_eq!(metrics(&of("job").held), ["step_ns"]);
    assert_eq!(metrics(&of("collectives").failed), ["step_ns"]);
}

#[test]
fn the_same_runs_on_both_sides_pass() {
    let side = |label| Side::new(label, vec![run(1e6, 1)]);
    let gate = judged(&[side("base"), side("test")], &format!("on_inconclusive = \"fail\"\n{STEP}"));
    assert_eq!((gate.passed, &gate.held[0].verdict), (true, &ChangeVerdict::Equivalent));
}

/// A hundred metrics, runs that differ by half a percent, steps that resemble the one before: nothing changed.
#[test]
fn a_hundred_metrics_raise_no_more_false_alarms_than_one_may() {
    const RANKS: usize = 100;
    const SEEDS: u64 = 100;
    let policy = |more: &str| {
        Policy::parse(&format!("{more}[[metric]]\nname = \"step_ns\"\nscope = \"ranks\"\nmargin = 0.0\n")).unwrap()
    };
    for (runs, more) in [(3, ""), (1, "run_spread = 0.005\n")] {
        let policy = policy(more);
        let is_alarm = |seed: u64| {
            let mut rng = Rng::new(seed);
            let mut run = || {
                let mut level = || 1e6 * (1.0 + 0.005 * rng.normal());
                let levels: Vec<f64> = (0..RANKS).map(|_| level()).collect();
                of_ranks(
                    &levels
                        .iter()
                        .map(|level| Steps { level: *level, ..Steps::new(Shape::Spikes, 0.3) }.run(16, &mut rng))
                        .collect::<Vec<_>>(),
                )
            };
            let mut side = |label: &str| Side::new(label, (0..runs).map(|_| run()).collect());
            let sides = [side("base"), side("test")];
            let gate = gate(&sides, &policy, "gate.toml", &Settings::default());
            assert_eq!(gate.family, RANKS);
            !gate.passed
        };
        let alarms = (1..=SEEDS).filter(|seed| is_alarm(*seed)).count();
        // Of a hundred gates, each with a chance of 5 %, more than twelve fail once in eight hundred times.
        assert!(alarms <= 12, "{alarms} of {SEEDS} gates failed, seeds 1 to {SEEDS}, {runs} runs a side");
    }
}
