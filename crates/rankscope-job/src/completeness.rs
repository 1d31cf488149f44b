//! Whether ranks are missing.

use rankscope_time::Rank;

use crate::Part;

/// Which ranks of the job there are files for.
///
/// One rule for every verb that reads a job: ranks that are missing never keep one from an answer. It says in front which are
/// missing, and gives no all-clear, since the missing one may be the one that was late or failed. Whether a file may be left out that is there and cannot be read is another question, and what `--partial` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completeness {
    /// Ranks in the job, where any file or the run says so.
    pub world_size: Option<u32>,
    /// Ranks of the job without a file, ascending.
    pub missing: Vec<Rank>,
}

impl Completeness {
    /// Compares the ranks of `parts`, which are settled and sorted, with what they say about the size of the job and with `told`,
    /// what its run directory says of it.
    pub(crate) fn of(parts: &[Part], told: Option<u32>) -> Self {
        let world_size = parts.iter().filter_map(|part| part.about.world_size).chain(told).max();
        let mut present: Vec<Rank> = parts.iter().map(Part::rank).collect();
        present.dedup();
        let missing = (0..world_size.unwrap_or(0)).map(Rank).filter(|rank| present.binary_search(rank).is_err()).collect();
        Self { world_size, missing }
    }
}
