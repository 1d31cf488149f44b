//! Answers a reader wants first: where the time goes, and what is exposed. Who is late is a matter of evidence and has its own
//! module.

use crate::{Account, CollectiveTable, PlacedRank};

/// One answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// How the time of all ranks divides, as shares of their total.
    Split {
        /// Share of compute.
        computation: f64,
        /// Share of exposed communication.
        exposed_comm: f64,
        /// Share of exposed memory work.
        exposed_memcpy: f64,
        /// Share of idle time.
        idle: f64,
    },
    /// The collective that costs most exposed time.
    MostExposed {
        /// Index of its row.
        row: usize,
        /// Its exposed time, summed over ranks.
        exposed_ns: i64,
        /// Its share of all exposed communication.
        share: f64,
        /// Share of its stay that is waiting for others, where it is matched.
        waiting: Option<f64>,
    },
}

/// The answers about a job beside who is late.
pub(crate) fn findings(ranks: &[PlacedRank], table: &CollectiveTable) -> Vec<Finding> {
    [split(ranks), most_exposed(table)].into_iter().flatten().collect()
}

fn split(ranks: &[PlacedRank]) -> Option<Finding> {
    let sum = |of: fn(&Account) -> i64| ranks.iter().map(|rank| i128::from(of(&rank.whole))).sum::<i128>() as f64;
    let total = sum(|whole| whole.total_ns);
    let share = |of: fn(&Account) -> i64| sum(of) / total;
    (total > 0.0).then(|| Finding::Split {
        computation: share(|whole| whole.computation_ns),
        exposed_comm: share(|whole| whole.exposed_comm_ns),
        exposed_memcpy: share(|whole| whole.exposed_memcpy_ns),
        idle: share(|whole| whole.idle_ns),
    })
}

fn most_exposed(table: &CollectiveTable) -> Option<Finding> {
    let all: i64 = table.rows.iter().map(|row| row.exposed_ns).sum();
    let (row, worst) = table.rows.iter().enumerate().max_by_key(|(at, row)| (row.exposed_ns, std::cmp::Reverse(*at)))?;
    (worst.exposed_ns > 0).then(|| Finding::MostExposed {
        row,
        exposed_ns: worst.exposed_ns,
        share: worst.exposed_ns as f64 / all as f64,
        waiting: worst.wait_ns_mean.filter(|_| worst.stay_ns_mean > 0.0).map(|wait| (wait / worst.stay_ns_mean).min(1.0)),
    })
}
