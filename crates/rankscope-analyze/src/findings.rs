//! The three answers a reader wants first: where the time goes, who is late, what is exposed.
//!
//! A straggler is named only if it leads by more than the clocks leave open.

use crate::{Accounting, CollectiveTable, RankArrivals};

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
    /// A rank comes last to collectives more often than chance would have it, and costs the job time.
    Late {
        /// Index of the rank.
        rank: usize,
        /// Times it came last.
        last: u64,
        /// Of how many.
        of: u64,
        /// What it cost.
        delay_ns: i64,
        /// Whether the mean lead exceeds what the clocks leave open.
        certain: bool,
        /// What the clocks leave open.
        uncertainty_ns: i64,
    },
    /// No rank stands out.
    NobodyLate {
        /// Matched collectives looked at.
        of: u64,
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

/// The answers about a job. `uncertainty_ns` is the width of what the clocks leave open between two ranks.
pub fn findings(accounts: &[&Accounting], table: &CollectiveTable, uncertainty_ns: i64) -> Vec<Finding> {
    [split(accounts), late(table, uncertainty_ns), most_exposed(table)].into_iter().flatten().collect()
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

fn late(table: &CollectiveTable, uncertainty_ns: i64) -> Option<Finding> {
    let of = table.arrivals.iter().filter(|arrival| arrival.order.len() > 1).count() as u64;
    if of == 0 || table.by_rank.iter().filter(|rank| rank.matched > 0).count() < 2 {
        return None;
    }
    let Some(rank) = latest(&table.by_rank) else { return Some(Finding::NobodyLate { of }) };
    let worst = &table.by_rank[rank];
    let lead_ns = worst.delay_ns / worst.last.max(1) as i64;
    let (last, delay_ns) = (worst.last, worst.delay_ns);
    Some(Finding::Late { rank, last, of: worst.matched, delay_ns, certain: lead_ns > uncertainty_ns, uncertainty_ns })
}

/// The rank that costs the job most, if it comes last often enough to stand out.
pub(crate) fn latest(by_rank: &[RankArrivals]) -> Option<usize> {
    let ranks = by_rank.iter().filter(|rank| rank.matched > 0).count() as u64;
    let (rank, worst) = by_rank.iter().enumerate().max_by_key(|(_, rank)| (rank.delay_ns, rank.last))?;
    // Twice its fair share of last places, and at least three: less than that happens by chance.
    (ranks > 1 && worst.last >= 3 && worst.last * ranks >= worst.matched * 2).then_some(rank)
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
