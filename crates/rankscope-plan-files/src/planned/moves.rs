//! Why a run of queries is computed away from home.

use rankscope_dispatch::planner::bounded::Explanation;
use serde::Serialize;

/// Why a run of queries is computed away from home; see [`Explanation`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Move {
    /// Which document.
    pub document: usize,
    /// First token.
    pub start: u32,
    /// Token after the last.
    pub end: u32,
    /// Whose queries they are.
    pub from: u32,
    /// Who computes them.
    pub to: u32,
    /// Work of the rank it leaves, before.
    pub load_before: u64,
    /// The most work of that rank.
    pub limit: u64,
    /// Its work without this move.
    pub load_without: u64,
    /// Work that leaves it.
    pub freed: u64,
    /// Bytes that the move costs.
    pub cost_bytes: i64,
    /// Rank and bytes.
    pub alternatives: Vec<(u32, i64)>,
}

impl From<Explanation> for Move {
    fn from(why: Explanation) -> Self {
        let Explanation { document, start, end, load_before, limit, load_without, freed, cost_bytes, .. } = why;
        let alternatives = why.alternatives.iter().map(|other| (other.rank.0, other.cost_bytes)).collect();
        let (from, to) = (why.from.0, why.to.0);
        Self { document, start, end, from, to, load_before, limit, load_without, freed, cost_bytes, alternatives }
    }
}
