//! The values that plots show: the time of each step of the job, its classes, and each rank's steps, for every side.
//!
//! A page cannot show a million points, and a document of them is not read. Beyond the budget evenly spaced values stand for all.

use rankscope_document::{MetricSeries, Over, SideSeries};
use rustc_hash::FxHashMap;

use crate::series;
use crate::side::{Run, Side};

/// Values of all series together.
const VALUES: usize = 100_000;

/// Those of `sides`, the time of the job's step first.
pub(crate) fn series(sides: &[Side]) -> Vec<MetricSeries> {
    let is_shown = |metric: &series::Metric| match metric.over {
        Over::MaxOfRanks | Over::MedianOfRanks => true,
        Over::OneRank => metric.name.starts_with("step_ns@"),
        _ => false,
    };
    let mut all: Vec<MetricSeries> = Vec::new();
    let mut places: FxHashMap<&str, usize> = FxHashMap::default();
    for (index, side) in sides.iter().enumerate() {
        for run in &side.runs {
            for (metric, values) in run.series.iter().filter(|(metric, _)| is_shown(metric)) {
                let at = *places.entry(&metric.name).or_insert_with(|| {
                    let empty = |side: &Side| SideSeries { label: side.label.clone(), ..SideSeries::default() };
                    all.push(MetricSeries { name: metric.name.clone(), sides: sides.iter().map(empty).collect() });
                    all.len() - 1
                });
                let kept = kept(run, values);
                all[at].sides[index].count += kept.len();
                all[at].sides[index].runs.push(kept);
            }
        }
    }
    thinned(&mut all);
    all
}

/// The values once warm-up is left out.
fn kept(run: &Run, values: &[f64]) -> Vec<f64> {
    values[run.steps.warm_up().min(values.len())..].to_vec()
}

fn thinned(all: &mut [MetricSeries]) {
    let count: usize = all.iter().flat_map(|series| &series.sides).map(|side| side.count).sum();
    let every = count.div_ceil(VALUES);
    if every > 1 {
        for run in all.iter_mut().flat_map(|series| &mut series.sides).flat_map(|side| &mut side.runs) {
            *run = run.iter().copied().step_by(every).collect();
        }
    }
}
