//! Many runs of a job in order of time: where the level of each metric changed, and what the latest run is beside those before it.
//!
//! A run is one value of a metric, the median of its steps: how much runs differ is then in the values themselves. Runs since the last
//! change of level tell how much runs of one configuration differ, which is what a gate lacks that has one run a side.

use std::collections::BTreeMap;

use rankscope_document::{
    ChangeVerdict, Direction, HistoryDocument, HistoryMetric, HistoryOrder, LevelChange, Note, NoteLevel, PastRun, Segment,
    StartSource,
};
use rankscope_stats::{ChangePoint, RunSpread};

use rustc_hash::FxHashMap;

use crate::series::{self, Family, Metric};
use crate::side::Run;
use crate::{Settings, evidence};

/// Layout version of the document.
const SCHEMA: u32 = 1;

/// A run of the past.
#[derive(Clone, Debug)]
pub struct Past {
    /// What its file or folder is called.
    pub name: String,
    /// The run.
    pub run: Run,
    /// When it began, in nanoseconds since the Unix epoch, as its manifest says.
    pub started_unix_ns: Option<i64>,
}

/// Stamps before this, the year 2001, count from some boot and not from the epoch.
const EPOCH_NS_MIN: i64 = 978_307_200_000_000_000;

/// Runs of the last segment that the latest is compared with, step by step: more of them tell nothing new.
const RUNS_COMPARED: usize = 20;

/// The history of `past`, runs of the folder `title` in any order.
pub fn history(title: &str, past: Vec<Past>, settings: &Settings) -> HistoryDocument {
    let mut starts: Vec<(Past, Option<i64>, StartSource)> = past.into_iter().map(started).collect();
    let is_dated = starts.iter().all(|(_, start, _)| start.is_some());
    // The name decides between runs that began at once, and among all where not all are dated.
    starts.sort_by(|(a, a_start, _), (b, b_start, _)| {
        let dates = if is_dated { a_start.cmp(b_start) } else { std::cmp::Ordering::Equal };
        dates.then_with(|| a.name.cmp(&b.name)).then_with(|| a.run.path().cmp(b.run.path()))
    });
    let columns = columns(&starts.iter().map(|(past, ..)| &past.run).collect::<Vec<_>>());
    let counts = [Family::Job, Family::Ranks, Family::Collectives]
        .map(|family| (family, columns.iter().filter(|(metric, _)| metric.family == family).count()));
    let metrics = columns.into_iter().map(|(metric, values)| {
        let of_family = counts.iter().find(|(family, _)| *family == metric.family).map_or(1, |(_, count)| *count);
        of_metric(metric, &values, settings.alpha / of_family as f64, settings)
    });
    let metrics = metrics.collect();
    HistoryDocument {
        schema: SCHEMA,
        rankscope_version: env!("CARGO_PKG_VERSION").to_owned(),
        title: title.to_owned(),
        order: if is_dated { HistoryOrder::Start } else { HistoryOrder::Name },
        alpha: settings.alpha,
        notes: notes(&starts, is_dated),
        runs: starts.into_iter().map(|(past, start, from)| described(past, start, from)).collect(),
        metrics,
    }
}

/// How much runs differ in each metric by those since its last change of level, where two or more tell.
pub fn run_spreads(history: &HistoryDocument) -> BTreeMap<String, RunSpread> {
    let of = |metric: &HistoryMetric| {
        let first = metric.changes.last().map_or(0, |change| change.run);
        let values: Vec<f64> = metric.values[first..].iter().flatten().copied().collect();
        Some((metric.name.clone(), rankscope_stats::run_spread(&values)?))
    };
    history.metrics.iter().filter_map(of).collect()
}

fn started(past: Past) -> (Past, Option<i64>, StartSource) {
    if let Some(start) = past.started_unix_ns {
        return (past, Some(start), StartSource::Manifest);
    }
    let document = &past.run.document;
    let of_windows = document.windows.iter().map(|window| window.start_ns).min();
    let of_ranks = || document.ranks.iter().map(|rank| rank.window_ns[0]).min();
    match of_windows.or_else(of_ranks).filter(|start| *start >= EPOCH_NS_MIN) {
        Some(start) => (past, Some(start), StartSource::Windows),
        None => (past, None, StartSource::Unknown),
    }
}

fn described(past: Past, start_ns: Option<i64>, start_from: StartSource) -> PastRun {
    PastRun {
        name: past.name,
        path: past.run.path().to_owned(),
        start_ns,
        start_from,
        ranks: past.run.document.ranks.len(),
        steps: past.run.kept(),
    }
}

/// The values of each run that has them, by step.
type Column<'a> = Vec<Option<&'a [f64]>>;

/// Every metric of the latest run, with the steps of each run.
fn columns<'a>(runs: &[&'a Run]) -> Vec<(&'a Metric, Column<'a>)> {
    let Some(latest) = runs.last() else { return Vec::new() };
    let by_name = |run: &&'a Run| -> FxHashMap<&'a str, &'a [f64]> {
        run.series.iter().map(|(metric, values)| (metric.name.as_str(), values.as_slice())).collect()
    };
    let all: Vec<FxHashMap<&str, &[f64]>> = runs.iter().map(by_name).collect();
    let column = |metric: &Metric| all.iter().map(|run| run.get(metric.name.as_str()).copied()).collect();
    let mut columns: Vec<(&Metric, Column<'_>)> = latest.series.iter().map(|(metric, _)| (metric, column(metric))).collect();
    columns.sort_by_key(|(metric, _)| metric.family);
    columns
}

fn of_metric(metric: &Metric, steps: &Column<'_>, alpha: f64, settings: &Settings) -> HistoryMetric {
    let values: Vec<Option<f64>> = steps.iter().map(|run| series::median_of_run((*run)?)).collect();
    // What a run lacks is passed over.
    let series: Vec<f64> = values.iter().map(|value| value.unwrap_or(f64::NAN)).collect();
    let points = rankscope_stats::change_points(&series, alpha);
    let first = points.last().map_or(0, |point| point.index);
    let before = &values[first..values.len().saturating_sub(1).max(first)];
    HistoryMetric {
        changes: points.iter().map(|point| change(point, &metric.direction)).collect(),
        segment: segment(first, before),
        latest: latest(metric, &steps[first..], before, settings),
        name: metric.name.clone(),
        unit: metric.unit.clone(),
        direction: metric.direction.clone(),
        over: metric.over.clone(),
        values,
    }
}

fn change(point: &ChangePoint, direction: &Direction) -> LevelChange {
    let is_more = point.after > point.before;
    LevelChange {
        run: point.index,
        before: point.before,
        after: point.after,
        ratio: Some((point.after - point.before) / point.before.abs()).filter(|ratio| ratio.is_finite()),
        p: point.p,
        verdict: match (direction, is_more) {
            (Direction::LowerIsBetter, true) | (Direction::HigherIsBetter, false) => ChangeVerdict::Regressed,
            (Direction::LowerIsBetter, false) | (Direction::HigherIsBetter, true) => ChangeVerdict::Improved,
            _ => ChangeVerdict::Changed,
        },
    }
}

fn segment(first_run: usize, before: &[Option<f64>]) -> Option<Segment> {
    let mut values: Vec<f64> = before.iter().flatten().copied().collect();
    let run_spread = rankscope_stats::run_spread(&values).map(|spread| spread.relative);
    (!values.is_empty()).then(|| Segment { first_run, runs: values.len(), median: series::median(&mut values), run_spread })
}

/// The last of `steps` beside the others, where runs are known to differ as `before` do.
fn latest(
    metric: &Metric,
    steps: &[Option<&[f64]>],
    before: &[Option<f64>],
    settings: &Settings,
) -> Option<rankscope_document::MetricComparison> {
    let (last, others) = steps.split_last()?;
    let test = [(*last)?];
    let mut base: Vec<&[f64]> = others.iter().rev().flatten().take(RUNS_COMPARED).copied().collect();
    base.reverse();
    if base.is_empty() {
        return None;
    }
    let medians: Vec<f64> = before.iter().flatten().copied().collect();
    let mut own = settings.clone();
    own.run_spread = settings.run_spread.or_else(|| rankscope_stats::run_spread(&medians));
    let found = evidence::evidence(metric, &base, &test, 0, &own);
    let verdict = evidence::verdict(found.verdict);
    Some(evidence::figures(metric.clone(), &found, None, verdict, &own))
}

fn notes(starts: &[(Past, Option<i64>, StartSource)], is_dated: bool) -> Vec<Note> {
    let mut texts = Vec::new();
    let undated: Vec<&str> =
        starts.iter().filter(|(_, start, _)| start.is_none()).map(|(past, ..)| past.name.as_str()).collect();
    if !is_dated && let Some(first) = undated.first() {
        let n = undated.len();
        texts.push(format!(
            "runs are in order of their names, as nothing tells when {n} of {} began, such as {first}",
            starts.len()
        ));
    }
    if let Some((latest, ..)) = starts.last() {
        let size = latest.run.document.ranks.len();
        let other = starts.iter().filter(|(past, ..)| past.run.document.ranks.len() != size).count();
        if other > 0 {
            texts.push(format!("{other} of {} runs have another number of ranks than the latest, {size}", starts.len()));
        }
    }
    texts.into_iter().map(|text| Note { level: NoteLevel::Caution, text }).collect()
}

#[cfg(test)]
mod tests;
