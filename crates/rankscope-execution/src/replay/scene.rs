//! [`Scene`]: a job as a replay sees it: its graph, and what users call the things in it.

use rankscope_analyze::StepWindow;
use rankscope_collectives::RankCollectives;
use rankscope_time::Rank;

use super::Reach;
use crate::{JobExecution, Meeting};

/// A job and the names in it. Lists are by rank, in the order of the graph.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The graph.
    pub job: &'a JobExecution<'a>,
    /// The collectives it was made with.
    pub collectives: &'a [RankCollectives],
    /// The steps of each rank, on its own clock, in order of their start. Without any the whole recording is one.
    pub windows: &'a [&'a [StepWindow]],
    /// The node of each rank, where it is known.
    pub nodes: &'a [Option<u32>],
}

impl Scene<'_> {
    /// The number of the rank at index `at`.
    pub(super) fn rank(&self, at: usize) -> Rank {
        self.collectives[at].rank
    }

    /// The index of `rank`.
    pub(super) fn index(&self, rank: Rank) -> Option<usize> {
        self.collectives.iter().position(|own| own.rank == rank)
    }

    /// Whether `meeting` uses the link `reach`; nothing where the node of any of its ranks is not known.
    pub(super) fn uses(&self, meeting: &Meeting, reach: Reach) -> Option<bool> {
        let nodes = meeting.participants.iter().map(|one| self.nodes.get(one.rank as usize).copied().flatten());
        let mut nodes: Vec<u32> = nodes.collect::<Option<_>>()?;
        nodes.sort_unstable();
        nodes.dedup();
        Some(match reach {
            Reach::Intra => nodes.len() == 1,
            Reach::Inter => nodes.len() > 1,
            Reach::Between(one, other) => nodes == [one, other],
        })
    }

    /// Whether any rank has steps.
    pub(super) fn has_steps(&self) -> bool {
        self.windows.iter().any(|windows| !windows.is_empty())
    }

    /// The windows of the rank at index `at`.
    pub(super) fn windows(&self, at: usize) -> &[StepWindow] {
        self.windows.get(at).copied().unwrap_or_default()
    }
}
