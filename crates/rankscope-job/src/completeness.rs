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

/// Ranks that a job may have. What a file says beyond is damage, and to list so many as missing would take all memory there is.
const WORLD_MAX: u32 = 1 << 20;

impl Completeness {
    /// Compares the ranks of `parts`, which are settled and sorted, with what they say about the size of the job and with `told`,
    /// what its run directory says of it. Sizes that no job has are not believed.
    pub(crate) fn of(parts: &[Part], told: Option<u32>) -> Self {
        let world_size =
            parts.iter().filter_map(|part| part.about.world_size).chain(told).filter(|size| *size <= WORLD_MAX).max();
        let mut present: Vec<Rank> = parts.iter().map(Part::rank).collect();
        present.dedup();
        let missing = (0..world_size.unwrap_or(0)).map(Rank).filter(|rank| present.binary_search(rank).is_err()).collect();
        Self { world_size, missing }
    }
}

#[cfg(test)]
mod tests {
    use rankscope_analyze::Classes;
    use rankscope_trace::{RankSource, Trace};

    use super::*;

    fn part(rank: u32, world: Option<u32>) -> Part {
        let mut trace = Trace::default();
        trace.provenance.rank = Some((Rank(rank), RankSource::Header));
        trace.provenance.world_size = world;
        Part::of(&mut trace, &Classes::default())
    }

    #[test]
    fn ranks_without_a_file_are_missing_however_many_there_are() {
        let of = |present: &[u32], world, told| {
            let parts: Vec<Part> = present.iter().map(|rank| part(*rank, world)).collect();
            let found = Completeness::of(&parts, told);
            (found.world_size, found.missing.iter().map(|rank| rank.0).collect::<Vec<_>>())
        };
        assert_eq!(of(&[0, 1, 3], Some(4), None), (Some(4), vec![2]));
        assert_eq!(of(&[0], Some(4), None), (Some(4), vec![1, 2, 3]));
        assert_eq!(of(&[0, 1], Some(2), None), (Some(2), vec![]));
        assert_eq!(of(&[0, 1], None, Some(3)), (Some(3), vec![2]), "traces of some formats do not say it, and the run does");
        assert_eq!(of(&[0, 1], None, None), (None, vec![]));
    }

    #[test]
    fn a_size_that_no_job_has_makes_nobody_missing() {
        assert_eq!(Completeness::of(&[part(0, Some(u32::MAX))], Some(u32::MAX)), Completeness::default());
        let found = Completeness::of(&[part(0, Some(u32::MAX)), part(1, Some(3))], None);
        assert_eq!((found.world_size, found.missing), (Some(3), vec![Rank(2)]));
    }
}
