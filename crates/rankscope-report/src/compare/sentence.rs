//! The answer of a comparison in a sentence: what the time of a step does, by how much, and on what evidence that is said.
//!
//! "Regressed" and "improved" are words for configurations. Where nothing tells how much runs of one configuration differ, the
//! sentence is about the runs at hand and says what would tell more.

use rankscope_document::{ChangeVerdict, Comparison, MetricComparison, Observation};

use crate::units::{counted, duration, or_absent};

/// What `pair` says of the time of a step. `runs` are those of base and test.
pub(super) fn of_pair(pair: &Comparison, runs: [usize; 2]) -> String {
    let sides = format!("{} beside {}", pair.test, pair.base);
    match pair.metrics.iter().find(|metric| metric.name == "step_ns") {
        Some(step) => format!("{sides}: {}", of_step(step, &pair.unit, runs)),
        None => format!("{sides}: they have no metric in common"),
    }
}

fn of_step(step: &MetricComparison, unit: &Observation, runs: [usize; 2]) -> String {
    let these = if runs == [1, 1] { "these two runs" } else { "these runs" };
    let evidence = evidence(step, unit, runs);
    match step.verdict {
        ChangeVerdict::Regressed => format!("regressed: a step takes {} longer {evidence}", change(step)),
        ChangeVerdict::Improved => format!("improved: a step takes {} less {evidence}", change(step)),
        ChangeVerdict::Equivalent if step.is_measurable => {
            format!("equivalent, measurably {} {evidence}", signed_percent(step.ratio))
        }
        ChangeVerdict::Equivalent => format!("equivalent {evidence}"),
        ChangeVerdict::Differs => format!(
            "the step time differs between {these} by {} {evidence}. Whether the configurations differ takes three runs a side, or \
             --run-spread",
            signed_percent(step.ratio)
        ),
        ChangeVerdict::NoDifferenceSeen => {
            format!("no difference of the step time seen between {these} {evidence}{}", more(step))
        }
        ChangeVerdict::NoEvidence => format!(
            "no evidence, as fewer than ten steps are left on a side; the step time is {} and was {}",
            or_absent(step.test, duration),
            or_absent(step.base, duration)
        ),
        _ => format!("inconclusive: the step time is {} off the base's {evidence}{}", signed_percent(step.ratio), more(step)),
    }
}

/// What the interval is, and what it was made of.
fn evidence(step: &MetricComparison, unit: &Observation, runs: [usize; 2]) -> String {
    let interval = match (step.ratio_lo, step.ratio_hi) {
        (Some(lo), Some(hi)) if (lo, hi) == (0.0, 0.0) => return "(the same values on both sides)".to_owned(),
        (Some(lo), Some(hi)) => format!("{} to {}, ", signed_percent(Some(lo)), signed_percent(Some(hi))),
        _ => "no bound, ".to_owned(),
    };
    let of = |[base, test]: [usize; 2], noun: &str| match base == test {
        true => format!("{} a side", counted(base, noun)),
        false => format!("{} beside {}", counted(test, noun), base),
    };
    match unit {
        Observation::Run => format!("({interval}{})", of(step.observations, "run")),
        _ => format!("({interval}{} of {})", of(step.observations, "step"), of(runs, "run")),
    }
}

fn more(step: &MetricComparison) -> String {
    let Some(needed) = &step.needed else { return String::new() };
    match needed.unit {
        Observation::Run => format!("; {} a side would decide", counted(needed.count, "run")),
        _ => format!("; {} in each run would decide", counted(needed.count, "step")),
    }
}

fn change(metric: &MetricComparison) -> String {
    let percent = or_absent(metric.ratio, |ratio| format!("{:.1} %", ratio.abs() * 100.0));
    format!("{} ({percent})", or_absent(metric.shift, |shift| duration(shift.abs())))
}

pub(crate) fn signed_percent(ratio: Option<f64>) -> String {
    or_absent(ratio, |ratio| if ratio == 0.0 { "0 %".to_owned() } else { format!("{:+.1} %", ratio * 100.0) })
}

#[cfg(test)]
mod tests {
    use rankscope_document::{MetricUnit, MoreEvidence};

    use super::*;

    fn step(verdict: ChangeVerdict) -> MetricComparison {
        MetricComparison {
            name: "step_ns".to_owned(),
            unit: MetricUnit::Nanoseconds,
            base: Some(1e8),
            test: Some(1.05e8),
            shift: Some(5e6),
            ratio: Some(0.05),
            ratio_lo: Some(0.04),
            ratio_hi: Some(0.06),
            verdict,
            observations: [25, 25],
            ..MetricComparison::default()
        }
    }

    fn by_runs(verdict: ChangeVerdict) -> String {
        let step = MetricComparison { observations: [5, 4], ..step(verdict) };
        of_step(&step, &Observation::Run, [5, 4])
    }

    #[test]
    fn several_runs_tell_of_configurations() {
        for (verdict, sentence) in [
            (ChangeVerdict::Regressed, "regressed: a step takes 5.00 ms (5.0 %) longer (+4.0 % to +6.0 %, 4 runs beside 5)"),
            (ChangeVerdict::Improved, "improved: a step takes 5.00 ms (5.0 %) less (+4.0 % to +6.0 %, 4 runs beside 5)"),
            (ChangeVerdict::Equivalent, "equivalent (+4.0 % to +6.0 %, 4 runs beside 5)"),
            (
                ChangeVerdict::Inconclusive,
                "inconclusive: the step time is +5.0 % off the base's (+4.0 % to +6.0 %, 4 runs beside 5)",
            ),
        ] {
            assert_eq!(by_runs(verdict), sentence);
        }
    }

    #[test]
    fn one_run_a_side_tells_of_two_runs() {
        let differs = of_step(&step(ChangeVerdict::Differs), &Observation::Step, [1, 1]);
        assert_eq!(
            differs,
            "the step time differs between these two runs by +5.0 % (+4.0 % to +6.0 %, 25 steps a side of 1 run a side). Whether the \
             configurations differ takes three runs a side, or --run-spread"
        );
        let unseen = of_step(&step(ChangeVerdict::NoDifferenceSeen), &Observation::Step, [2, 1]);
        assert_eq!(
            unseen,
            "no difference of the step time seen between these runs (+4.0 % to +6.0 %, 25 steps a side of 1 run beside 2)"
        );
        for sentence in [differs, unseen] {
            assert!(!sentence.contains("regressed") && !sentence.contains("improved"));
        }
    }

    #[test]
    fn too_few_steps_are_no_evidence() {
        let sentence = of_step(&step(ChangeVerdict::NoEvidence), &Observation::Step, [1, 1]);
        assert!(sentence.starts_with("no evidence, as fewer than ten steps"), "{sentence}");
    }

    #[test]
    fn a_difference_within_the_margin_is_said_all_the_same() {
        let step = MetricComparison { ratio: Some(0.003), is_measurable: true, ..step(ChangeVerdict::Equivalent) };
        let sentence = of_step(&step, &Observation::Run, [3, 3]);
        assert!(sentence.starts_with("equivalent, measurably +0.3 % ("), "{sentence}");
    }

    #[test]
    fn the_same_values_are_said_to_be_that() {
        let step = MetricComparison { ratio_lo: Some(0.0), ratio_hi: Some(0.0), ..step(ChangeVerdict::Equivalent) };
        assert_eq!(of_step(&step, &Observation::Step, [1, 1]), "equivalent (the same values on both sides)");
    }

    #[test]
    fn what_is_not_decided_says_what_would_decide() {
        for (unit, count, says) in
            [(Observation::Run, 7, "7 runs a side would"), (Observation::Step, 300, "300 steps in each run")]
        {
            let step = MetricComparison {
                ratio_lo: None,
                needed: Some(MoreEvidence { unit, count }),
                ..step(ChangeVerdict::Inconclusive)
            };
            let sentence = of_step(&step, &Observation::Step, [1, 1]);
            assert!(sentence.contains(says) && sentence.contains("(no bound, "), "{sentence}");
        }
    }
}
