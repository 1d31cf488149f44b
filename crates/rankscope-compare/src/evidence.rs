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

/// Every metric that both sides have, the time of a step first.
pub(crate) fn metrics(base: &Side, test: &Side, settings: &Settings) -> Vec<MetricComparison> {
    let base_series = of_side(base);
    let mut test_series: FxHashMap<String, Vec<Vec<f64>>> =
        of_side(test).into_iter().map(|(metric, runs)| (metric.name, runs)).collect();
    let clocks = uncertainty_ns(base).max(uncertainty_ns(test));
    let both = base_series.into_iter().filter_map(|(metric, base)| Some((test_series.remove(&metric.name)?, metric, base)));
    let mut compared: Vec<(Metric, Evidence)> = both
        .map(|(test, metric, base)| {
            let evidence = evidence(&metric, &base, &test, clocks, settings);
            (metric, evidence)
        })
        .collect();
    compared.sort_by_key(|(metric, _)| metric.family);
    let adjusted = adjusted(&compared);
    compared.into_iter().zip(adjusted).map(|((metric, evidence), p)| row(metric, &evidence, p, settings)).collect()
}

/// The metrics that every run of `side` has, with the values of each run.
pub(crate) fn of_side(side: &Side) -> Vec<(Metric, Vec<Vec<f64>>)> {
    let Some((first, others)) = side.runs.split_first() else { return Vec::new() };
    let mut others: Vec<FxHashMap<String, Vec<f64>>> = others.iter().map(by_name).collect();
    let with_others = |(metric, values): (Metric, Vec<f64>)| {
        let mut runs = vec![values];
        for other in &mut others {
            runs.push(other.remove(&metric.name)?);
        }
        Some((metric, runs))
    };
    series::of(first).into_iter().filter_map(with_others).collect()
}

fn by_name(run: &Run) -> FxHashMap<String, Vec<f64>> {
    series::of(run).into_iter().map(|(metric, values)| (metric.name, values)).collect()
}

/// What the clocks of two ranks may be off against each other in any run of `side`.
pub(crate) fn uncertainty_ns(side: &Side) -> i64 {
    let rows = side.documents().filter_map(|document| document.collective_tables.as_ref()?.nccl_implicit_sync.as_ref());
    rows.flatten().filter_map(|row| row.clock_error_ns).max().unwrap_or(0)
}

/// What `base` and `test`, the values of each run, say of `metric`.
pub(crate) fn evidence(metric: &Metric, base: &[Vec<f64>], test: &[Vec<f64>], clocks_ns: i64, settings: &Settings) -> Evidence {
    let spread = settings.run_spread_of(&metric.name).or_else(|| of_repeats(base, test));
    let base: Vec<&[f64]> = base.iter().map(Vec::as_slice).collect();
    let test: Vec<&[f64]> = test.iter().map(Vec::as_slice).collect();
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
    rankscope_stats::compare(&rankscope_stats::Side { runs: &base }, &rankscope_stats::Side { runs: &test }, &asked)
}

/// How much runs differ by those of the side that has several, where the other has too few to be counted in runs.
fn of_repeats(base: &[Vec<f64>], test: &[Vec<f64>]) -> Option<RunSpread> {
    let side = match (base.len() >= RUNS_MIN, test.len() >= RUNS_MIN) {
        (true, false) => base,
        (false, true) => test,
        _ => return None,
    };
    let medians: Vec<f64> = side.iter().filter_map(|run| series::median_of_run(run)).collect();
    rankscope_stats::run_spread(&medians)
}

fn margin(metric: &Metric, settings: &Settings) -> f64 {
    match metric.unit {
        MetricUnit::GigabytesPerSecond => settings.bandwidth_margin,
        _ => settings.time_margin,
    }
}

/// The p value of each metric, corrected for the others of its family; none where there is none.
fn adjusted(compared: &[(Metric, Evidence)]) -> Vec<Option<f64>> {
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

fn row(metric: Metric, evidence: &Evidence, p_adjusted: Option<f64>, settings: &Settings) -> MetricComparison {
    let own = verdict(evidence.verdict);
    let is_by_chance = metric.family != Family::Job && p_adjusted.is_none_or(|p| p >= settings.alpha);
    let verdict = if is_by_chance { tempered(own) } else { own };
    figures(metric, evidence, p_adjusted, verdict, settings)
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
pub(crate) fn tempered(verdict: ChangeVerdict) -> ChangeVerdict {
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
