//! One task: which queries, which keys, on which rank; and what can be wrong with it.

use std::ops::Range;

use rankscope_time::Rank;
use thiserror::Error;

/// Queries of a document and the keys they attend to, on one rank. The keys come before all queries, or end with them; then
/// each query attends to those up to itself. Attention kernels know both shapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitTask {
    /// Position of the document in the batch.
    pub document: usize,
    /// Positions in the document.
    pub queries: Range<u32>,
    /// Positions in the document.
    pub keys: Range<u32>,
    /// Who computes it.
    pub rank: Rank,
}

/// What is wrong with a task. Each reads after the task.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SplitFault {
    /// It is of a document that there is not.
    #[error("it is of a document beyond the last of {documents}")]
    NoSuchDocument {
        /// Documents of the batch.
        documents: usize,
    },
    /// It is for a rank that there is not.
    #[error("its rank is none of the {world_size}")]
    NoSuchRank {
        /// Ranks of the job.
        world_size: u32,
    },
    /// It has no query or no key.
    #[error("it has no queries or no keys")]
    Empty,
    /// It goes beyond the end of its document.
    #[error("it goes beyond the {tokens} tokens of the document")]
    Outside {
        /// Tokens of the document.
        tokens: u32,
    },
    /// Some queries see their keys in part, and not up to themselves.
    #[error("its keys neither come before all queries nor end with the queries, having begun no later")]
    Shape,
    /// It computes what another task computes as well.
    #[error("query {query} and key {key} are another task's as well")]
    Twice {
        /// Position of the query.
        query: u32,
        /// Position of the key.
        key: u32,
    },
}

impl SplitTask {
    /// Whether the queries see the keys up to themselves, and not all of them.
    #[must_use]
    pub fn is_causal(&self) -> bool {
        self.keys.end > self.queries.start
    }

    /// Whether it takes the whole context of its queries.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.keys.start == 0 && self.is_causal()
    }

    /// Score cells.
    #[must_use]
    pub fn cells(&self) -> u64 {
        let (queries, keys) = (u64::from(self.queries.end - self.queries.start), u64::from(self.keys.end - self.keys.start));
        match self.is_causal() {
            true => crate::causal_cells(queries, keys),
            false => queries * keys,
        }
    }

    /// By what tasks are in order.
    pub(super) fn place(&self) -> (usize, u32, u32, u32, u32) {
        (self.document, self.queries.start, self.keys.start, self.queries.end, self.keys.end)
    }

    pub(super) fn fault(&self, tokens: u32, world_size: u32) -> Option<SplitFault> {
        if self.rank.0 >= world_size {
            return Some(SplitFault::NoSuchRank { world_size });
        }
        if self.queries.is_empty() || self.keys.is_empty() {
            return Some(SplitFault::Empty);
        }
        if self.queries.end.max(self.keys.end) > tokens {
            return Some(SplitFault::Outside { tokens });
        }
        let causal = self.keys.end == self.queries.end && self.keys.start <= self.queries.start;
        (self.is_causal() && !causal).then_some(SplitFault::Shape)
    }
}
