//! Kernels without tables: every report lists those that took longest, and no others. What a run does not list is not known to be gone.

use std::collections::{BTreeMap, BTreeSet};

use rankscope_document::Kernel;

use crate::iterations::share;
use crate::work::RankWork;

/// The kernels of computation that a run lists.
pub(crate) struct Longest {
    /// Their time in each iteration.
    ns: BTreeMap<String, i64>,
    /// The least of all that are listed, where the list is full: what is not listed took no longer.
    least_ns: Option<i64>,
}

impl Longest {
    pub(crate) fn of(work: RankWork<'_>) -> Self {
        let mut ns: BTreeMap<String, i64> = BTreeMap::new();
        for (name, sum) in work.longest_kernels() {
            *ns.entry(name).or_default() += share(sum.ns, work.iterations);
        }
        let least_ns = work.rank.kernels.iter().map(|row| share(row.total_ns, work.iterations)).min();
        Self { ns, least_ns: least_ns.filter(|_| work.rank.kernels.len() >= Kernel::LISTED_MAX) }
    }
}

/// The kernels that `runs` tell about: all of them list these, or would if they took as long there.
pub(crate) fn told(runs: &[Longest]) -> BTreeSet<String> {
    let most_ns = |name: &str| runs.iter().filter_map(|run| run.ns.get(name)).max().copied().unwrap_or(0);
    let is_told = |name: &&String| {
        let most_ns = most_ns(name);
        runs.iter().all(|run| run.ns.contains_key(*name) || run.least_ns.is_none_or(|least_ns| most_ns > least_ns))
    };
    runs.iter().flat_map(|run| run.ns.keys()).filter(is_told).cloned().collect()
}
