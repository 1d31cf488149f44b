//! Which of several sides is the fastest, and whether that is certain.
//!
//! A winner is named only where the evidence tells it apart from each of the others: with many sides, some are in front by chance, so the
//! pairs are corrected as one family.

use rankscope_document::{ChangeVerdict, Place, Ranking};
use rankscope_stats::{Direction, Evidence, Verdict};

use crate::side::Side;
use crate::{Settings, evidence, series};

/// The ranking of more than two sides that have steps; of fewer there is none to make.
pub(crate) fn of(sides: &[Side], settings: &Settings) -> Option<Ranking> {
    if sides.len() < 3 {
        return None;
    }
    let series: Vec<(&str, Vec<Vec<f64>>)> =
        sides.iter().map(|side| (side.label(), side.runs.iter().map(series::step_times).collect())).collect();
    let mut known: Vec<(usize, f64)> =
        series.iter().enumerate().filter_map(|(index, (_, runs))| Some((index, typical(runs)?))).collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    let fastest = known.first()?.0;
    let pairs: Vec<(usize, Evidence)> =
        known[1..].iter().map(|(other, _)| (*other, slower(&series[fastest].1, &series[*other].1, settings))).collect();
    let p: Vec<f64> = pairs.iter().map(|(_, evidence)| evidence.p.unwrap_or(1.0)).collect();
    let corrected = rankscope_stats::holm(&p);
    let is_certain =
        pairs.iter().zip(&corrected).all(|((_, pair), p)| pair.verdict == Verdict::Regressed && *p < settings.alpha);
    let first = Place {
        label: series[fastest].0.to_owned(),
        step_ns: Some(known[0].1),
        shift: Some(0.0),
        lo: Some(0.0),
        hi: Some(0.0),
        verdict: ChangeVerdict::Equivalent,
    };
    let others = pairs.iter().map(|(other, pair)| Place {
        label: series[*other].0.to_owned(),
        step_ns: typical(&series[*other].1),
        shift: pair.shift,
        lo: pair.interval.map(|(lo, _)| lo),
        hi: pair.interval.map(|(_, hi)| hi),
        verdict: evidence::verdict(pair.verdict),
    });
    let places = std::iter::once(first).chain(others).collect();
    Some(Ranking { places, winner: is_certain.then(|| series[fastest].0.to_owned()), pairs: Vec::new() })
}

/// The median of the medians of `runs`, once warm-up is dropped.
fn typical(runs: &[Vec<f64>]) -> Option<f64> {
    let of_run = |run: &Vec<f64>| {
        let mut kept = run[rankscope_stats::warm_up(run.len())..].to_vec();
        series::median(&mut kept)
    };
    let mut medians: Vec<f64> = runs.iter().map(of_run).filter(|median| median.is_finite()).collect();
    (!medians.is_empty()).then(|| series::median(&mut medians))
}

/// How much slower `other` is than `fastest`.
fn slower(fastest: &[Vec<f64>], other: &[Vec<f64>], settings: &Settings) -> Evidence {
    let fastest: Vec<&[f64]> = fastest.iter().map(Vec::as_slice).collect();
    let other: Vec<&[f64]> = other.iter().map(Vec::as_slice).collect();
    let mut asked =
        rankscope_stats::Settings::new(Direction::LowerIsBetter).with_alpha(settings.alpha).with_margin(settings.time_margin);
    if let Some(spread) = settings.run_spread_of(series::STEP) {
        asked = asked.with_run_spread(spread);
    }
    rankscope_stats::compare(&rankscope_stats::Side { runs: &fastest }, &rankscope_stats::Side { runs: &other }, &asked)
}
