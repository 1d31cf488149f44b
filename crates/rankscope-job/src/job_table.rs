//! The tables of a job by their names, as users ask for them.

use std::fmt;
use std::str::FromStr;

/// A table over all ranks. Names are those of TraceLens' sheets where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobTable {
    /// Collectives by name, type, size and process group.
    CollectiveSummary,
    /// Time in collectives, by rank and the same.
    RankCollectiveSummary,
    /// Every collective.
    Collectives,
    /// Every rank's part in every collective.
    RankCollectives,
    /// Who came last and who waited.
    Stragglers,
    /// Uneven all-to-alls by name, type and process group.
    UnevenSummary,
    /// Every uneven all-to-all.
    Uneven,
    /// What each rank sent each in them.
    Heatmap,
    /// Time in collectives by process group.
    Groups,
    /// Time in collectives by what groups are for.
    Parallelism,
    /// Transfer times by size, beside a line.
    SizeClasses,
}

impl JobTable {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::CollectiveSummary,
        Self::RankCollectiveSummary,
        Self::Collectives,
        Self::RankCollectives,
        Self::Stragglers,
        Self::UnevenSummary,
        Self::Uneven,
        Self::Heatmap,
        Self::Groups,
        Self::Parallelism,
        Self::SizeClasses,
    ];

    /// Its name, which is its key in the document.
    pub fn name(self) -> &'static str {
        match self {
            Self::CollectiveSummary => "nccl_summary_implicit_sync",
            Self::RankCollectiveSummary => "nccl_summary_long",
            Self::Collectives => "nccl_implicit_sync",
            Self::RankCollectives => "nccl_long",
            Self::Stragglers => "straggler_summary",
            Self::UnevenSummary => "nccl_summary_all2allv",
            Self::Uneven => "nccl_all2allv",
            Self::Heatmap => "nccl_all2allv_heatmap",
            Self::Groups => "by_group",
            Self::Parallelism => "by_parallelism",
            Self::SizeClasses => "size_classes",
        }
    }
}

impl fmt::Display for JobTable {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

impl FromStr for JobTable {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|table| table.name() == text).ok_or(())
    }
}
