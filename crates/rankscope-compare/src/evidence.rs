//! What the evidence says of each metric of two sides.
//!
//! A verdict of a metric that somebody looks at anyway stands on its own interval. Among many, of ranks and of collectives, some differ by
//! chance: there a difference counts only where it stays one when all of its family are looked at together.

use rankscope_document::{ChangeVerdict, Direction, MetricComparison, MetricUnit, MoreEvidence, Observation};
use rankscope_stats::{Evidence, Needed, RUNS_MIN, RunSpread, Unit, Verdict};
use rustc_hash::FxHashMap;

use crate::Settings;
use crate::series::{self, Family, Metric};
use crate::side::{Run, Side};

/// The values of a metric, a list a run.
pub(crate) type Runs<'a> = Vec<&'a [f64]>;

/// Every metric that both sides have, the time of a step first.
pub(crate) fn metrics(base: &Side, test: &Side, settings: &Settings) -> Vec<MetricComparison> {
    let mut test_series: FxHashMap<&str, Runs<'_>> =
        of_side(test).into_iter().map(|(metric, runs)| (metric.name.as_str(), runs)).collect();
    let clocks = uncertainty_ns(base).max(uncertainty_ns(test));
    let mut compared: Vec<(&Metric, Evidence)> = of_side(base)
        .into_iter()
        .filter_map(|(metric, base)| {
            let test = test_series.remove(metric.name.as_str())?;
            Some((metric, evidence(metric, &base, &test, clocks, settings)))
        })
        .collect();
    compared.sort_by_key(|(metric, _)| metric.family);
    let adjusted = adjusted(&compared);
    compared.into_iter().zip(adjusted).map(|((metric, evidence), p)| row(metric, &evidence, p, settings)).collect()
}

/// The metrics that every run of `side` has, with the values of each run.
pub(crate) fn of_side(side: &Side) -> Vec<(&Metric, Runs<'_>)> {
    let Some((first, others)) = side.runs.split_first() else { return Vec::new() };
    let by_name = |run| -> FxHashMap<&str, &[f64]> {
        let run: &Run = run;
        run.series.iter().map(|(metric, values)| (metric.name.as_str(), values.as_slice())).collect()
    };
    let others: Vec<FxHashMap<&str, &[f64]>> = others.iter().map(by_name).collect();
    let with_others = |(metric, values)| {
        let (metric, values): (&Metric, &Vec<f64>) = (metric, values);
        let of_others = others.iter().map(|other| other.get(metric.name.as_str()).copied());
        let runs: Option<Runs<'_>> = std::iter::once(Some(values.as_slice())).chain(of_others).collect();
        Some((metric, runs?))
    };
    first.series.iter().filter_map(|(metric, values)| with_others((metric, values))).collect()
}

/// What the clocks of two ranks may be off against each other in any run of `side`.
pub(crate) fn uncertainty_ns(side: &Side) -> i64 {
    let rows = side.documents().filter_map(|document| document.collective_tables.as_ref()?.nccl_implicit_sync.as_ref());
    rows.flatten().filter_map(|row| row.clock_error_ns).max().unwrap_or(0)
}

/// What `base` and `test`, the values of each run, say of `metric`.
pub(crate) fn evidence(metric: &Metric, base: &[&[f64]], test: &[&[f64]], clocks_ns: i64, settings: &Settings) -> Evidence {
    evidence_or(metric, base, test, None, clocks_ns, settings)
}

/// The same; where neither the settings nor the two sides tell how much runs differ, they do by `spread`.
pub(crate) fn evidence_or(
    metric: &Metric,
    base: &[&[f64]],
    test: &[&[f64]],
    spread: Option<RunSpread>,
    clocks_ns: i64,
    settings: &Settings,
) -> Evidence {
    let spread = settings.run_spread_of(&metric.name).or_else(|| of_repeats(base, test)).or(spread);
    let direction = match metric.direction {
        Direction::LowerIsBetter => rankscope_stats::Direction::LowerIsBetter,
        Direction::HigherIsBetter => rankscope_stats::Direction::HigherIsBetter,
        _ => rankscope_stats::Direction::Neutral,
    };
    let mut asked = rankscope_stats::Settings::new(direction).with_alpha(settings.alpha).with_margin(margin(metric, settings));
    if let Some(spread) = spread {
        asked = asked.with_run_spread(spread);
    }
    if metric.crosses_ranks {
        asked = asked.with_clock_uncertainty(clocks_ns as f64);
    }
    rankscope_stats::compare(&rankscope_stats::Side { runs: base }, &rankscope_stats::Side { runs: test }, &asked)
}

/// How much runs differ by those of the side that has several, where the other has too few to be counted in runs.
fn of_repeats(base: &[&[f64]], test: &[&[f64]]) -> Option<RunSpread> {
    let side = match (base.len() >= RUNS_MIN, test.len() >= RUNS_MIN) {
        (true, false) => base,
        (false, true) => test,
        _ => return None,
    };
    spread(side)
}

/// How much `runs` of one side differ, by their medians.
pub(crate) fn spread(runs: &[&[f64]]) -> Option<RunSpread> {
    let medians: Vec<f64> = runs.iter().filter_map(|run| series::median_of_run(run)).collect();
    rankscope_stats::run_spread(&medians)
}

fn margin(metric: &Metric, settings: &Settings) -> f64 {
    match metric.unit {
        MetricUnit::GigabytesPerSecond => settings.bandwidth_margin,
        _ => settings.time_margin,
    }
}

/// The p value of each metric, corrected for the others of its family; none where there is none.
fn adjusted(compared: &[(&Metric, Evidence)]) -> Vec<Option<f64>> {
    let mut adjusted = vec![None; compared.len()];
    for family in [Family::Job, Family::Ranks, Family::Collectives] {
        let own = || compared.iter().enumerate().filter(move |(_, (metric, _))| metric.family == family);
        let tested: Vec<(usize, f64)> = own().filter_map(|(index, (_, evidence))| Some((index, evidence.p?))).collect();
        let p: Vec<f64> = tested.iter().map(|(_, p)| *p).collect();
        let corrected = match family {
            Family::Job => rankscope_stats::holm(&p),
            Family::Ranks | Family::Collectives => rankscope_stats::benjamini_hochberg(&p),
        };
        for ((index, _), p) in tested.into_iter().zip(corrected) {
            adjusted[index] = Some(p);
        }
    }
    adjusted
}

fn row(metric: &Metric, evidence: &Evidence, p_adjusted: Option<f64>, settings: &Settings) -> MetricComparison {
    let verdict = match metric.family {
        Family::Job => verdict(evidence.verdict),
        Family::Ranks | Family::Collectives => verdict_of_many(evidence, p_adjusted, settings),
    };
    figures(metric.clone(), evidence, p_adjusted, verdict, settings)
}

/// What `evidence` says that is one of many: a difference counts where it stays one in `p_adjusted`, corrected for them.
pub(crate) fn verdict_of_many(evidence: &Evidence, p_adjusted: Option<f64>, settings: &Settings) -> ChangeVerdict {
    let own = verdict(evidence.verdict);
    if p_adjusted.is_none_or(|p| p >= settings.alpha) { tempered(own) } else { own }
}

/// The figures of `metric`, with what they are taken to say.
pub(crate) fn figures(
    metric: Metric,
    evidence: &Evidence,
    p_adjusted: Option<f64>,
    verdict: ChangeVerdict,
    settings: &Settings,
) -> MetricComparison {
    MetricComparison {
        margin: margin(&metric, settings),
        verdict,
        name: metric.name,
        unit: metric.unit,
        direction: metric.direction,
        over: metric.over,
        base: evidence.base,
        test: evidence.test,
        shift: evidence.shift,
        lo: evidence.interval.map(|(lo, _)| lo),
        hi: evidence.interval.map(|(_, hi)| hi),
        ratio: evidence.ratio,
        ratio_lo: evidence.ratio_interval.map(|(lo, _)| lo),
        ratio_hi: evidence.ratio_interval.map(|(_, hi)| hi),
        p: evidence.p,
        p_adjusted,
        is_measurable: evidence.measurable,
        observations: match evidence.unit {
            Unit::Run => evidence.runs,
            Unit::Step => evidence.steps,
        },
        needed: evidence.needed.map(|needed| match needed {
            Needed::Runs(runs) => MoreEvidence { unit: Observation::Run, count: runs },
            Needed::Steps(steps) => MoreEvidence { unit: Observation::Step, count: steps },
        }),
    }
}

/// `verdict` where the difference may be one of those that many metrics show by chance.
fn tempered(verdict: ChangeVerdict) -> ChangeVerdict {
    match verdict {
        ChangeVerdict::Improved | ChangeVerdict::Regressed | ChangeVerdict::Changed => ChangeVerdict::Inconclusive,
        ChangeVerdict::Differs => ChangeVerdict::NoDifferenceSeen,
        other => other,
    }
}

pub(crate) fn verdict(verdict: Verdict) -> ChangeVerdict {
    match verdict {
        Verdict::Improved => ChangeVerdict::Improved,
        Verdict::Regressed => ChangeVerdict::Regressed,
        Verdict::Changed => ChangeVerdict::Changed,
        Verdict::Equivalent => ChangeVerdict::Equivalent,
        Verdict::Inconclusive => ChangeVerdict::Inconclusive,
        Verdict::Differs => ChangeVerdict::Differs,
        Verdict::NoDifferenceSeen => ChangeVerdict::NoDifferenceSeen,
        _ => ChangeVerdict::NoEvidence,
    }
}
