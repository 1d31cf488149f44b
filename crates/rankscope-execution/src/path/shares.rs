//! What a path consists of, summed up.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{Path, PathClass};
use crate::JobExecution;

/// A path's time by class, by rank and by what it went to. Each list adds up to the length of the path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathSums<'j> {
    /// By class, those that have any.
    pub by_class: BTreeMap<PathClass, i64>,
    /// By index of the rank.
    pub by_rank: BTreeMap<u32, i64>,
    /// By what it went to, the longest first.
    pub shares: Vec<PathShare<'j>>,
}

/// One part of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathShare<'j> {
    /// The operator, kernel or whatever else it is.
    pub name: &'j str,
    /// The kernel that most of it is, where it has another name.
    pub kernel: Option<&'j str>,
    /// Its class.
    pub class: PathClass,
    /// Index of the rank.
    pub rank: u32,
    /// How much of the path it is, in nanoseconds.
    pub ns: i64,
    /// In how many segments.
    pub count: u64,
}

/// Rank, class, name and kernel.
type Named<'j> = (u32, PathClass, &'j str, Option<&'j str>);

impl Path {
    /// What it consists of.
    pub fn sums<'j>(&self, job: &'j JobExecution<'_>) -> PathSums<'j> {
        let mut sums = PathSums::default();
        let mut parts: FxHashMap<Named<'_>, (i64, u64)> = FxHashMap::default();
        for segment in &self.segments {
            *sums.by_class.entry(segment.class).or_default() += segment.ns();
            *sums.by_rank.entry(segment.rank).or_default() += segment.ns();
            let part = parts.entry((segment.rank, segment.class, segment.name(job), segment.kernel(job))).or_default();
            *part = (part.0 + segment.ns(), part.1 + 1);
        }
        let share = |((rank, class, name, kernel), (ns, count))| PathShare { name, kernel, class, rank, ns, count };
        let mut parts: Vec<PathShare<'j>> = parts.into_iter().map(share).collect();
        let what = |part: &PathShare<'j>| (part.rank, part.class, part.name);
        // The kernel that most of an operator's time went to stands for it.
        parts.sort_unstable_by_key(|part| (what(part), Reverse(part.ns), part.kernel));
        let all = |own: &[PathShare<'j>]| {
            let (ns, count) = own.iter().fold((0, 0), |(ns, count), part| (ns + part.ns, count + part.count));
            PathShare { ns, count, ..own[0] }
        };
        sums.shares = parts.chunk_by(|a, b| what(a) == what(b)).map(all).collect();
        sums.shares.sort_unstable_by_key(|part| (Reverse(part.ns), part.rank, part.class, part.name));
        sums
    }
}
