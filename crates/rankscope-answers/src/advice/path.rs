//! [`PathTime`]: what the critical paths of all steps consist of, by what it is called.

use rankscope_execution::{JobExecution, Key, KeyId, Path, PathClass};
use rustc_hash::FxHashMap;

/// One name on the paths.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Named {
    pub(super) class: PathClass,
    pub(super) name: String,
    pub(super) place: String,
}

/// Time on the paths, in nanoseconds, over all steps.
#[derive(Clone, Debug, Default)]
pub(super) struct PathTime {
    /// The longest first.
    pub(super) names: Vec<(Named, i64)>,
    /// The same of each path, in order.
    pub(super) by_path: Vec<FxHashMap<Named, i64>>,
    /// By index of the rank and class.
    by_rank: FxHashMap<(u32, PathClass), i64>,
}

impl PathTime {
    pub(super) fn of(job: &JobExecution<'_>, paths: &[Path]) -> Self {
        let by_path: Vec<FxHashMap<Named, i64>> = paths.iter().map(|path| of_path(job, path)).collect();
        let mut sums: FxHashMap<&Named, i64> = FxHashMap::default();
        by_path.iter().flatten().for_each(|(named, ns)| *sums.entry(named).or_default() += ns);
        let mut names: Vec<(Named, i64)> = sums.into_iter().map(|(named, ns)| (named.clone(), ns)).collect();
        names.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
        let mut by_rank: FxHashMap<(u32, PathClass), i64> = FxHashMap::default();
        for segment in paths.iter().flat_map(|path| &path.segments) {
            *by_rank.entry((segment.rank, segment.class)).or_default() += segment.ns();
        }
        Self { names, by_path, by_rank }
    }

    /// The share of the host and of launches in what of the paths is not on `ranks`, 0 to 1.
    pub(super) fn host_share_beside(&self, ranks: &[usize]) -> f64 {
        let beside = || self.by_rank.iter().filter(|((rank, _), _)| !ranks.contains(&(*rank as usize)));
        let of_host = beside().filter(|((_, class), _)| matches!(class, PathClass::Host | PathClass::Launch));
        of_host.map(|(_, ns)| *ns).sum::<i64>() as f64 / beside().map(|(_, ns)| *ns).sum::<i64>().max(1) as f64
    }

    /// What of the host's time on the paths `is` true of.
    pub(super) fn host_ns(&self, is: impl Fn(&Named) -> bool) -> i64 {
        self.names.iter().filter(|(named, _)| named.class == PathClass::Host && is(named)).map(|(_, ns)| ns).sum()
    }
}

fn of_path(job: &JobExecution<'_>, path: &Path) -> FxHashMap<Named, i64> {
    let mut sums: FxHashMap<(u32, PathClass, Option<u32>), i64> = FxHashMap::default();
    for segment in &path.segments {
        *sums.entry((segment.rank, segment.class, segment.key.map(|key| key.0))).or_default() += segment.ns();
    }
    let mut named: FxHashMap<Named, i64> = FxHashMap::default();
    for ((rank, class, key), ns) in sums {
        let key = key.map(|key| job.ranks[rank as usize].key(KeyId(key)));
        let text = |of: fn(&Key) -> &String| key.map(of).cloned().unwrap_or_default();
        let name = Named { class, name: text(|key| &key.name), place: text(|key| &key.place) };
        *named.entry(name).or_default() += ns;
    }
    named
}
