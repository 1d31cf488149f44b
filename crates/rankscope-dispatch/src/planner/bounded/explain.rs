//! Why a shard moved: whom it relieves, what it costs, and what it would have cost elsewhere. Asked of a finished plan, whoever
//! made it, so that what is said is what holds.

use rankscope_time::Rank;

use super::assignment::{Assignment, Transfer};
use super::nearness::Nodes;
use super::{Limits, Options};
use crate::{Batch, Error};

/// One run of queries that is computed away from home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Which document.
    pub document: usize,
    /// The first token of the run, and the first behind it.
    pub start: u32,
    /// See `start`.
    pub end: u32,
    /// Where it lies.
    pub from: Rank,
    /// Where it is computed.
    pub to: Rank,
    /// What `from` would have to do if nothing moved.
    pub load_before: u64,
    /// What it may have.
    pub limit: u64,
    /// What it would have if only this run went back.
    pub load_without: u64,
    /// Work that the run takes from `from`.
    pub freed: u64,
    /// Bytes that the plan would save without it; below zero where moving it saves context.
    pub cost_bytes: i64,
    /// Other ranks that have room for it now, the cheapest first, at most [`ALTERNATIVES`].
    pub alternatives: Vec<Alternative>,
}

/// What the same run would cost on another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// Which rank.
    pub rank: Rank,
    /// Bytes that the run would cost there.
    pub cost_bytes: i64,
}

/// Explains every run of `plan` that is computed away from home, in the order of the documents.
///
/// # Errors
/// Those of [`Limits::new`].
pub fn explain(layout: &Batch, plan: &Batch, options: &Options) -> Result<Vec<Explanation>, Error> {
    let limits = Limits::new(layout, &options.work, options.eps, &options.weights)?;
    let before = Assignment::at_home(layout, &options.work, options.prices, Nodes::ALIKE)?;
    let after = Assignment::planned(plan, &options.work, options.prices)?;
    let kept = limits.kept_by(after.loads());
    let mut explanations = Vec::new();
    for document in 0..plan.len() {
        for (place, piece) in after.pieces(document).iter().enumerate().filter(|(_, piece)| piece.at != piece.home) {
            let to = |to: u32| Transfer { document, piece: place, start: piece.start, end: piece.end, to };
            let cost_bytes = -after.cost(&to(piece.home), after.reach(document, piece.home));
            let freed = options.work.of(piece.start, piece.end);
            let room = |rank: u32| kept[rank as usize].saturating_sub(after.load(rank));
            let mut alternatives: Vec<Alternative> = (0..plan.world_size())
                .filter(|&rank| rank != piece.at && rank != piece.home && room(rank) >= freed)
                .map(|rank| Alternative {
                    rank: Rank(rank),
                    cost_bytes: cost_bytes + after.cost(&to(rank), after.reach(document, rank)),
                })
                .collect();
            alternatives.sort_by_key(|alternative| (alternative.cost_bytes, alternative.rank));
            alternatives.truncate(ALTERNATIVES);
            explanations.push(Explanation {
                document,
                start: piece.start,
                end: piece.end,
                from: Rank(piece.home),
                to: Rank(piece.at),
                load_before: before.load(piece.home),
                limit: kept[piece.home as usize],
                load_without: after.load(piece.home).saturating_add(freed),
                freed,
                cost_bytes,
                alternatives,
            });
        }
    }
    Ok(explanations)
}

/// How many other ranks are named.
pub const ALTERNATIVES: usize = 3;
