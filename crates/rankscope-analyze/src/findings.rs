//! Answers a reader wants first: where the time goes, and what is exposed. Who is late is a matter of evidence and has its own
//! module.

use crate::{Accounting, CollectiveTable};

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
pub(crate) fn findings(accounts: &[&Accounting], table: &CollectiveTable) -> Vec<Finding> {
    [split(accounts), most_exposed(table)].into_iter().flatten().collect()
}

fn split(accounts: &[&Accounting]) -> Option<Finding> {
    let wholes: Vec<_> = accounts.iter().map(|account| account.whole()).collect();
    let total = wholes.iter().map(|whole| whole.total_ns as f64).sum::<f64>();
    let share = |of: fn(&crate::Account) -> i64| wholes.iter().map(|whole| of(whole) as f64).sum::<f64>() / total;
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
