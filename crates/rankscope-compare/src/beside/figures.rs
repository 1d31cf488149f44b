//! The figures of one side: from its documents, each the median of its runs.

use std::collections::BTreeMap;

use rankscope_document::{CollectiveKind, CollectiveSummary, Document, RankCollectiveSummary, Time};

use crate::series::median;
use crate::side::Side;

/// What one side has to be put beside another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SideFigures {
    /// What it is called.
    pub label: String,
    /// Time by rank and class, in nanoseconds.
    pub times: Vec<TimeFigures>,
    /// Collectives by what they move, and process group.
    pub collectives: Vec<CollectiveFigures>,
    /// Time of ranks in them.
    pub rank_collectives: Vec<RankCollectiveFigures>,
}

/// A class of time of one rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeFigures {
    /// The rank.
    pub rank: u32,
    /// The class: `computation_time`.
    pub name: String,
    /// Nanoseconds.
    pub ns: f64,
    /// Percent of the rank's total; none of a total of zero.
    pub percent: Option<f64>,
}

/// Collectives that move the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CollectiveFigures {
    /// Name as recorded, or the kind's.
    pub name: String,
    /// The operation.
    pub kind: CollectiveKind,
    /// Element type as recorded.
    pub dtype: String,
    /// Elements each rank puts in.
    pub in_elements: Option<u64>,
    /// The process group.
    pub process_group: String,
    /// Bytes that bandwidths count.
    pub bytes: Option<u64>,
    /// Mean of the shortest time that any rank spends in one, in nanoseconds.
    pub latency_ns: Option<f64>,
    /// Bytes over it, in 1e9 a second.
    pub algbw_gbps: Option<f64>,
    /// The same times the operation's factor.
    pub busbw_gbps: Option<f64>,
    /// Sum of these times, in nanoseconds.
    pub total_ns: Option<f64>,
    /// How many.
    pub count: f64,
}

/// Time of one rank in collectives that move the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankCollectiveFigures {
    /// The rank.
    pub rank: u32,
    /// Name as recorded, or the kind's.
    pub name: String,
    /// Element type as recorded.
    pub dtype: String,
    /// Elements it puts in.
    pub in_elements: Option<u64>,
    /// The process group.
    pub process_group: String,
    /// Sum, mean, shortest and longest of its time in one, in nanoseconds.
    pub sum_mean_min_max_ns: [f64; 4],
    /// How many.
    pub count: f64,
}

/// A class by its name in TraceLens' sheets.
type Class = (&'static str, fn(&Time) -> i64);

/// In order of names, as aorta lists them.
const CLASSES: [Class; 8] = [
    ("busy_time", |time| time.busy),
    ("computation_time", |time| time.computation),
    ("exposed_comm_time", |time| time.exposed_comm),
    ("exposed_memcpy_time", |time| time.exposed_memcpy),
    ("idle_time", |time| time.idle),
    ("total_comm_time", |time| time.total_comm),
    ("total_memcpy_time", |time| time.total_memcpy),
    ("total_time", |time| time.total),
];

impl SideFigures {
    /// Those of `side`: of several runs the median of each figure.
    pub fn of(side: &Side) -> Self {
        let runs: Vec<Self> = side.documents().map(of_run).collect();
        Self { label: side.label().to_owned(), ..middle(runs) }
    }
}

fn of_run(document: &Document) -> SideFigures {
    let time = |rank: &rankscope_document::Rank, (name, of): Class| {
        let (ns, total) = (of(&rank.time_ns) as f64, rank.time_ns.total as f64);
        let percent = (total > 0.0).then(|| ns / total * 100.0);
        TimeFigures { rank: rank.rank, name: name.to_owned(), ns, percent }
    };
    let tables = document.collective_tables.as_ref();
    let groups = tables.and_then(|tables| tables.nccl_summary_implicit_sync.as_ref());
    let by_rank = tables.and_then(|tables| tables.nccl_summary_long.as_ref());
    SideFigures {
        label: String::new(),
        times: document.ranks.iter().flat_map(|rank| CLASSES.map(|class| time(rank, class))).collect(),
        collectives: groups.into_iter().flatten().map(group).collect(),
        rank_collectives: by_rank.into_iter().flatten().map(rank_group).collect(),
    }
}

fn group(row: &CollectiveSummary) -> CollectiveFigures {
    CollectiveFigures {
        name: row.name.clone(),
        kind: row.kind.clone(),
        dtype: row.dtype.clone(),
        in_elements: row.in_elements,
        process_group: row.process_group.clone(),
        bytes: row.bytes,
        latency_ns: row.transfer_mean_ns,
        algbw_gbps: row.algbw_mean_gbps,
        busbw_gbps: row.busbw_mean_gbps,
        total_ns: row.transfer_mean_ns.map(|_| row.total_transfer_ns as f64),
        count: row.matched as f64,
    }
}

fn rank_group(row: &RankCollectiveSummary) -> RankCollectiveFigures {
    RankCollectiveFigures {
        rank: row.rank,
        name: row.name.clone(),
        dtype: row.dtype.clone(),
        in_elements: row.in_elements,
        process_group: row.process_group.clone(),
        sum_mean_min_max_ns: [row.sum_ns as f64, row.mean_ns, row.min_ns as f64, row.max_ns as f64],
        count: row.count as f64,
    }
}

/// The median of each figure over `runs`, for what any of them has.
fn middle(mut runs: Vec<SideFigures>) -> SideFigures {
    if runs.len() == 1 {
        return runs.remove(0);
    }
    let times = grouped(runs.iter().flat_map(|run| &run.times), |time| (time.rank, time.name.clone()));
    let groups = grouped(runs.iter().flat_map(|run| &run.collectives), |row| {
        (row.name.clone(), row.dtype.clone(), row.in_elements, row.process_group.clone())
    });
    let by_rank = grouped(runs.iter().flat_map(|run| &run.rank_collectives), |row| {
        (row.rank, row.name.clone(), row.dtype.clone(), row.in_elements, row.process_group.clone())
    });
    SideFigures {
        label: String::new(),
        times: times.map(|rows| middle_time(&rows)).collect(),
        collectives: groups.map(|rows| middle_group(&rows)).collect(),
        rank_collectives: by_rank.map(|rows| middle_rank_group(&rows)).collect(),
    }
}

fn grouped<'a, T: 'a, K: Ord>(rows: impl Iterator<Item = &'a T>, key: impl Fn(&T) -> K) -> impl Iterator<Item = Vec<&'a T>> {
    let mut groups: BTreeMap<K, Vec<&T>> = BTreeMap::new();
    for row in rows {
        groups.entry(key(row)).or_default().push(row);
    }
    groups.into_values()
}

fn middle_of<T>(rows: &[&T], figure: impl Fn(&T) -> Option<f64>) -> Option<f64> {
    let mut values: Vec<f64> = rows.iter().filter_map(|row| figure(row)).collect();
    (!values.is_empty()).then(|| median(&mut values))
}

fn middle_time(rows: &[&TimeFigures]) -> TimeFigures {
    TimeFigures {
        ns: middle_of(rows, |row| Some(row.ns)).unwrap_or(0.0),
        percent: middle_of(rows, |row| row.percent),
        ..rows[0].clone()
    }
}

fn middle_group(rows: &[&CollectiveFigures]) -> CollectiveFigures {
    CollectiveFigures {
        latency_ns: middle_of(rows, |row| row.latency_ns),
        algbw_gbps: middle_of(rows, |row| row.algbw_gbps),
        busbw_gbps: middle_of(rows, |row| row.busbw_gbps),
        total_ns: middle_of(rows, |row| row.total_ns),
        count: middle_of(rows, |row| Some(row.count)).unwrap_or(0.0),
        ..rows[0].clone()
    }
}

fn middle_rank_group(rows: &[&RankCollectiveFigures]) -> RankCollectiveFigures {
    let at = |index: usize| middle_of(rows, |row| Some(row.sum_mean_min_max_ns[index])).unwrap_or(0.0);
    RankCollectiveFigures {
        sum_mean_min_max_ns: std::array::from_fn(at),
        count: middle_of(rows, |row| Some(row.count)).unwrap_or(0.0),
        ..rows[0].clone()
    }
}
