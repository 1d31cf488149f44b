//! Tasks that take part of their keys: a range of queries by a range of keys.
//!
//! A plan gives every task the whole document up to its end. Here several ranks may share the keys of the same queries. Each
//! sends back a partial output beside its log-sum-exp (the logarithm of the sum of the exponentials of its scores), and the
//! home of the queries weighs the partial outputs by them; what comes out is the attention over all keys.
//!
//! It begins with a plan and changes it only where that moves fewer bytes, with nobody above the limit and the heaviest rank no
//! heavier. Exchanges, exports and transports know whole contexts only; this says what they leave on the table.

mod document;
mod search;
mod tile;

use std::ops::Range;

use rankscope_time::Rank;

use super::bounded::{Caps, Limits, Options};
use crate::cost::Work;
use crate::{Batch, Error};
use document::{Costs, Document};
use tile::{Corner, Tile};

/// Queries of a document and the keys they attend to, on one rank. The keys come before all queries, or end with them; then
/// each query attends to those up to itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitTask {
    /// Position of the document in the batch.
    pub document: usize,
    /// Positions in the document.
    pub queries: Range<u32>,
    /// Positions in the document.
    pub keys: Range<u32>,
    /// Where the queries live, and where the partial outputs are merged.
    pub home: Rank,
    /// Who computes it.
    pub rank: Rank,
}

impl SplitTask {
    /// Score cells.
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.tile().cells()
    }

    fn tile(&self) -> Tile {
        Tile { q_start: self.queries.start, q_end: self.queries.end, k_start: self.keys.start, k_end: self.keys.end }
    }
}

/// Who computes which queries by which keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitPlan {
    /// Ranks of the job.
    pub world_size: u32,
    /// In the order of documents, queries and keys. Each query and key at or before it is in one task.
    pub tasks: Vec<SplitTask>,
    /// What crosses between ranks, forward, per layer: queries and outputs once per token and rank that computes something of
    /// it, a log-sum-exp where that is not all of it, and keys and values once per token and rank that needs them.
    pub bytes: u64,
}

impl SplitPlan {
    /// Score cells of every rank.
    #[must_use]
    pub fn cells(&self) -> Vec<u64> {
        let mut cells = vec![0; self.world_size as usize];
        for task in &self.tasks {
            cells[task.rank.0 as usize] += task.cells();
        }
        cells
    }
}

/// Splits keys where that makes `plan`, which is a plan of `layout`, cheaper. A log-sum-exp takes `lse_bytes` for each token.
///
/// # Errors
/// Those of [`Limits::new`]; [`Error::Options`] with measured time, which is not known for part of the keys, and with caps.
pub fn split(layout: &Batch, plan: &Batch, options: &Options, lse_bytes: u64) -> Result<SplitPlan, Error> {
    if options.work != Work::Cells {
        return Err(Error::Options {
            what: "keys are split by cells: a table of times does not say what part of a context takes",
        });
    }
    if options.caps != Caps::default() {
        return Err(Error::Options { what: "keys are split without regard to caps: leave one of both out" });
    }
    let costs = Costs { prices: options.prices, lse_bytes };
    let mut loads = plan.cells()?;
    let limits = limits(&Limits::new(layout, &options.work, options.eps, &options.weights)?, &loads, &options.weights);
    let mut split = SplitPlan { world_size: plan.world_size(), tasks: Vec::new(), bytes: 0 };
    for (index, shards) in plan.documents().enumerate() {
        let mut document = Document::new(shards);
        search::improve(&mut document, &mut loads, &limits, costs);
        for (rank, tiles) in &document.parts {
            split.bytes += document.bytes(*rank, tiles, costs);
            split.tasks.extend(tasks(index, *rank, &document, tiles));
        }
    }
    split.tasks.sort_unstable_by_key(|task| (task.document, task.queries.start, task.keys.start));
    Ok(split)
}

/// The tiles of a rank, cut where the home of the queries changes.
fn tasks(index: usize, rank: u32, document: &Document, tiles: &[Tile]) -> Vec<SplitTask> {
    let mut tasks = Vec::new();
    for tile in tiles {
        for (run, home) in &document.runs {
            let cut = |query, later_queries| Corner { query, key: 0, later_queries, later_keys: true };
            let own = tile.within(cut(run.start, true)).flat_map(|part| part.within(cut(run.end, false)));
            tasks.extend(own.map(|part| SplitTask {
                document: index,
                queries: part.q_start..part.q_end,
                keys: part.k_start..part.k_end,
                home: Rank(*home),
                rank: Rank(rank),
            }));
        }
    }
    tasks
}

/// What each rank may have: its target, as far as that makes nobody heavier for its weight than the heaviest is; or what it has.
fn limits(limits: &Limits, loads: &[u64], weights: &[f64]) -> Vec<u64> {
    let weight = |rank: usize| weights.get(rank).copied().unwrap_or(1.0);
    let over = |rank: usize| if loads[rank] == 0 { 0.0 } else { loads[rank] as f64 / weight(rank) };
    let heaviest = (0..loads.len()).map(over).fold(0.0, f64::max);
    let limit = |rank: usize| ((heaviest * weight(rank)) as u64).min(limits.target[rank]).max(loads[rank]);
    (0..loads.len()).map(limit).collect()
}
