//! The metrics of a run: each one value a step, in order of time.
//!
//! The time of a job's step is that of its slowest rank, as all others wait for it. Classes of time are the median of all ranks', so that
//! one odd rank does not hide what the others do; each rank has its own, too, which are parts of one observation and never repeats of it.
//! Collectives have latency, wait and bandwidth by what they move, the median of a step.

use std::collections::BTreeMap;

use rankscope_document::{CollectiveInstanceRow, Direction, Document, MetricUnit, Over, Time};

use crate::names;
use crate::steps::Steps;

/// Metrics among which a change is looked for together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Family {
    /// The job's time and its classes, which everybody looks at.
    Job,
    /// The same of each rank.
    Ranks,
    /// Collectives.
    Collectives,
}

/// What a metric is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Metric {
    pub(crate) name: String,
    pub(crate) unit: MetricUnit,
    pub(crate) direction: Direction,
    pub(crate) over: Over,
    pub(crate) family: Family,
    /// Whether its values are differences of two ranks' stamps, so that clocks may be off in them.
    pub(crate) crosses_ranks: bool,
}

/// A class of time by its name, which way is better, and how it is read.
type Class = (&'static str, Direction, fn(&Time) -> i64);

/// The time account. What ranks are busy with is better or worse only with what it is for, so those are neutral.
const CLASSES: [Class; 8] = [
    ("computation_ns", Direction::LowerIsBetter, |time| time.computation),
    ("exposed_comm_ns", Direction::LowerIsBetter, |time| time.exposed_comm),
    ("exposed_memcpy_ns", Direction::LowerIsBetter, |time| time.exposed_memcpy),
    ("busy_ns", Direction::Neutral, |time| time.busy),
    ("idle_ns", Direction::LowerIsBetter, |time| time.idle),
    ("total_ns", Direction::LowerIsBetter, |time| time.total),
    ("total_comm_ns", Direction::Neutral, |time| time.total_comm),
    ("total_memcpy_ns", Direction::Neutral, |time| time.total_memcpy),
];

/// The metric of the job's time.
pub(crate) const STEP: &str = "step_ns";

/// A metric, and its values in a run.
pub(crate) type Series = (Metric, Vec<f64>);

/// A run's document, and the steps of it that are compared.
#[derive(Clone, Copy)]
struct Source<'a> {
    document: &'a Document,
    steps: &'a Steps,
}

/// All metrics of the run of `document` by its `steps`, the time of a step first.
pub(crate) fn of(document: &Document, steps: &Steps) -> Vec<Series> {
    let run = Source { document, steps };
    let mut all = of_job(run);
    all.extend(of_ranks(run));
    all.extend(of_collectives(run));
    all
}

fn of_job(run: Source<'_>) -> Vec<Series> {
    if run.document.ranks.is_empty() {
        return Vec::new();
    }
    let time = |name: &str, direction, over| Metric {
        name: name.to_owned(),
        unit: MetricUnit::Nanoseconds,
        direction,
        over,
        family: Family::Job,
        crosses_ranks: false,
    };
    let slowest = |values: &mut [f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let steps = over_ranks(run, |time| time.total, slowest);
    let mut all = vec![(time(STEP, Direction::LowerIsBetter, Over::MaxOfRanks), steps)];
    all.extend(
        CLASSES.iter().map(|(name, direction, class)| {
            (time(name, direction.clone(), Over::MedianOfRanks), over_ranks(run, class, median))
        }),
    );
    all
}

/// One value a step, `of` all ranks' values of `class`.
fn over_ranks(run: Source<'_>, class: impl Fn(&Time) -> i64, of: impl Fn(&mut [f64]) -> f64) -> Vec<f64> {
    let by_rank: Vec<Vec<f64>> = (0..run.document.ranks.len()).map(|index| of_rank(run, index, &class)).collect();
    let mut values = Vec::with_capacity(by_rank.len());
    let step = |step: usize| {
        values.clear();
        values.extend(by_rank.iter().map(|rank| rank[step]));
        of(&mut values)
    };
    (0..by_rank.first().map_or(0, Vec::len)).map(step).collect()
}

fn of_rank(run: Source<'_>, index: usize, class: impl Fn(&Time) -> i64) -> Vec<f64> {
    run.steps.accounts(run.document, index).map(|time| class(time) as f64).collect()
}

fn of_ranks(run: Source<'_>) -> impl Iterator<Item = Series> + '_ {
    let step: Class = (STEP, Direction::LowerIsBetter, |time| time.total);
    let classes = move || std::iter::once(step.clone()).chain(CLASSES);
    run.document.ranks.iter().enumerate().flat_map(move |(index, rank)| {
        classes().map(move |(name, direction, class)| {
            let metric = Metric {
                name: format!("{name}@rank{}", rank.rank),
                unit: MetricUnit::Nanoseconds,
                direction,
                over: Over::OneRank,
                family: Family::Ranks,
                crosses_ranks: false,
            };
            (metric, of_rank(run, index, class))
        })
    })
}

/// What a collective's metric is of: what it moves, and the process group where several move the same.
type CollectiveKey = (String, Option<String>);

fn of_collectives(run: Source<'_>) -> Vec<Series> {
    let Some(rows) = run.document.collective_tables.as_ref().and_then(|tables| tables.nccl_implicit_sync.as_ref()) else {
        return Vec::new();
    };
    let mut groups: BTreeMap<String, BTreeMap<&str, Vec<&CollectiveInstanceRow>>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.matched) {
        groups.entry(collective_name(row)).or_default().entry(&row.process_group).or_default().push(row);
    }
    let several = |name: &String, groups: &BTreeMap<_, _>, group: &str| -> CollectiveKey {
        (name.clone(), (groups.len() > 1).then(|| group.to_owned()))
    };
    let each = groups.iter().flat_map(|(name, groups)| {
        groups.iter().flat_map(move |(group, rows)| collective_series(run, &several(name, groups, group), rows))
    });
    each.collect()
}

/// The beginning of the names of its collective's metrics: `comm.all_reduce.float32.1048576`.
pub(crate) fn collective_name(row: &CollectiveInstanceRow) -> String {
    format!("comm.{}", names::collective(row.kind.as_str(), &row.dtype, row.in_elements))
}

/// A figure of a collective by its name, unit, which way is better, whether it compares ranks' stamps, and how it is read.
type Figure = (&'static str, MetricUnit, Direction, bool, fn(&CollectiveInstanceRow) -> Option<f64>);

const FIGURES: [Figure; 3] = [
    ("latency", MetricUnit::Nanoseconds, Direction::LowerIsBetter, false, |row| row.transfer_ns.map(|ns| ns as f64)),
    ("busbw", MetricUnit::GigabytesPerSecond, Direction::HigherIsBetter, false, |row| row.busbw_gbps),
    ("wait", MetricUnit::Nanoseconds, Direction::LowerIsBetter, true, |row| row.wait_mean_ns),
];

fn collective_series(run: Source<'_>, (name, group): &CollectiveKey, rows: &[&CollectiveInstanceRow]) -> Vec<Series> {
    let named = |figure: &str| match group {
        Some(group) => format!("{name}.{figure}@{group}"),
        None => format!("{name}.{figure}"),
    };
    let series = |(figure, unit, direction, crosses_ranks, value): &Figure| {
        let metric = Metric {
            name: named(figure),
            unit: unit.clone(),
            direction: direction.clone(),
            over: Over::MedianOfCollectives,
            family: Family::Collectives,
            crosses_ranks: *crosses_ranks,
        };
        (metric, by_step(run, rows, value))
    };
    FIGURES.iter().map(series).filter(|(_, values)| !values.is_empty()).collect()
}

/// The median of `value` in each step that has any; of all `rows` where nothing marks steps.
fn by_step(
    run: Source<'_>,
    rows: &[&CollectiveInstanceRow],
    value: impl Fn(&CollectiveInstanceRow) -> Option<f64>,
) -> Vec<f64> {
    if run.steps.is_whole() {
        let mut values: Vec<f64> = rows.iter().filter_map(|row| value(row)).collect();
        return if values.is_empty() { values } else { vec![median(&mut values)] };
    }
    let mut steps: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for row in rows {
        if let (Some(step), Some(value)) = (row.step, value(row)) {
            steps.entry(step).or_default().push(value);
        }
    }
    let kept = run.steps.keys().map(|(number, _)| number);
    kept.filter_map(|number| Some(median(steps.get_mut(&number)?))).collect()
}

/// The median of `values`, which are put in order; not a number where there are none.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

/// The median of a run's `values` once warm-up is dropped; none where none is left.
pub(crate) fn median_of_run(values: &[f64]) -> Option<f64> {
    let mut kept = values[rankscope_stats::warm_up(values.len())..].to_vec();
    Some(median(&mut kept)).filter(|median| median.is_finite())
}
