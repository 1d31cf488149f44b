//! [`Taken`]: what the files kept of one rank recorded, to see whether another stands in their way.
//!
//! Files that are kept recorded one after the other, so whatever overlaps a time stands together, and the last of it is found by
//! halving. Nothing here says which of two files is kept.

use std::collections::BTreeMap;

use crate::About;
use crate::part::Outline;

/// How two files of one rank stand in each other's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clash {
    /// One is a copy of the other.
    Same,
    /// They recorded one time, or one of them says nothing of its time.
    Overlap,
}

/// The times of the files that are kept. They are added in order of time: first those of the run, then those it keeps aside.
#[derive(Debug, Default)]
pub(super) struct Taken {
    count: usize,
    /// By what copies agree in, which file that is.
    outlines: BTreeMap<Outline, usize>,
    /// Whether the file says nothing of its time. Then it is the only one, as it stands in the way of any other.
    is_of_any_time: bool,
    /// When files recorded and which they are, in order of time: those of the run, and those kept aside.
    times: [Vec<((i64, i64), usize)>; 2],
}

impl Taken {
    /// Keeps the next file, in whose way none stands.
    pub(super) fn add(&mut self, about: &About) {
        self.outlines.insert(about.outline(), self.count);
        match about.bounds_ns {
            Some(bounds) => self.times[usize::from(about.earlier)].push((bounds, self.count)),
            None => self.is_of_any_time = true,
        }
        self.count += 1;
    }

    /// The last of the files kept that stands in the way of this one, by its number.
    pub(super) fn clash(&self, about: &About) -> Option<(usize, Clash)> {
        let same = self.outlines.get(&about.outline()).map(|file| (*file, Clash::Same));
        let overlap = self.overlapping(about.bounds_ns).map(|file| (file, Clash::Overlap));
        // Of one file that does both, a copy is the better word.
        overlap.into_iter().chain(same).max_by_key(|(file, _)| *file)
    }

    fn overlapping(&self, bounds_ns: Option<(i64, i64)>) -> Option<usize> {
        let Some((from, to)) = bounds_ns.filter(|_| !self.is_of_any_time) else { return self.count.checked_sub(1) };
        let last = |times: &Vec<((i64, i64), usize)>| {
            let begun = times.partition_point(|((other, _), _)| *other < to);
            times[..begun].last().filter(|((_, until), _)| from < *until).map(|(_, file)| *file)
        };
        self.times.iter().filter_map(last).max()
    }
}
