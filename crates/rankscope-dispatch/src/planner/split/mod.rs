//! Tasks that take part of their keys: a range of queries by a range of keys.
//!
//! A plan gives every task the whole document up to its end. Here several ranks may share the keys of the same queries. Each
//! sends back a partial output beside its log-sum-exp (the logarithm of the sum of the exponentials of its scores), and the
//! home of the queries weighs the partial outputs by them; what comes out is the attention over all keys.
//!
//! It begins with a plan and changes it only where that moves fewer bytes, with nobody above the limit or further above a cap, and the
//! heaviest rank no heavier. If all of it moves no fewer, or is above a cap, since every output then has a log-sum-exp beside it,
//! tasks keep their whole contexts.
//!
//! A backward pass splits as a forward one does: each rank makes what its keys add to the gradient of a query, and the home of the query
//! adds that up. It takes the log-sum-exp over all keys, which goes out with the query.

mod document;
mod search;
mod tile;

use rankscope_time::Rank;

use super::Remote;
use super::bounded::{Ledger, Limits, Options};
use super::ways::Ways;
use crate::cost::Work;
use crate::{Batch, Error, SplitBatch, SplitTask};
use document::{Costs, Document};
use search::Standing;
use tile::{Corner, Tile};

/// Who computes which queries by which keys, and what that moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitPlan {
    /// Tasks are cut where the home of their queries changes.
    pub batch: SplitBatch,
    /// What crosses between ranks, in the pass that prices are of, per layer: queries and outputs, or their gradients, once per token
    /// and rank that computes something of it, a log-sum-exp beside each if any query has several tasks, and keys and values once per
    /// token and rank that needs them.
    pub bytes: u64,
    /// What a log-sum-exp takes that goes beside a row, if any goes.
    pub lse_bytes: u64,
}

/// Splits keys where that makes `plan`, which is a plan of `layout`, cheaper. A log-sum-exp takes `lse_bytes` for each output.
///
/// # Errors
/// Those of [`Limits::new`]; [`Error::Options`] with measured time, which is not known for part of the keys.
pub fn split(layout: &Batch, plan: &Batch, options: &Options, lse_bytes: u64) -> Result<SplitPlan, Error> {
    if options.work != Work::Cells {
        return Err(Error::Options {
            what: "keys are split by cells: a table of times does not say what part of a context takes",
        });
    }
    let costs = Costs { prices: options.prices, lse_bytes };
    let loads = plan.cells()?;
    let limits = limits(&Limits::new(layout, &options.work, options.eps, &options.weights)?, &loads, &options.weights);
    let mut documents: Vec<Document> = plan.documents().map(Document::new).collect();
    let mut standing = Standing { loads, limits: &limits, ledger: ledger(&documents, plan.world_size(), options, lse_bytes) };
    let (mut bytes, mut unmerged_bytes, mut tasks) = (0, 0, Vec::new());
    for (index, document) in documents.iter_mut().enumerate() {
        search::improve(document, &mut standing, costs);
        for (rank, tiles) in &document.parts {
            bytes += document.bytes(*rank, tiles, costs);
            unmerged_bytes += document.bytes(*rank, tiles, Costs { lse_bytes: 0, ..costs });
            tasks.extend(cut(index, *rank, document, tiles));
        }
    }
    let batch = SplitBatch::new(layout, tasks)?;
    let (bytes, beside) = if batch.merges() { (bytes, lse_bytes) } else { (unmerged_bytes, 0) };
    let whole = Remote::of(plan).bytes(options.prices);
    let ledger = ledger(&documents, plan.world_size(), options, beside);
    match bytes < whole && ledger.is_none_or(|ledger| ledger.check().is_ok()) {
        true => Ok(SplitPlan { batch, bytes, lse_bytes }),
        false => Ok(SplitPlan { batch: SplitBatch::of_whole(plan), bytes: whole, lse_bytes }),
    }
}

/// What ranks send, receive and hold of all documents, if that is capped.
fn ledger(documents: &[Document], world_size: u32, options: &Options, lse_bytes: u64) -> Option<Ledger> {
    let ways = Ways::of(options.prices, options.pass).with_lse(lse_bytes, options.pass);
    let mut ledger = Ledger::new(options.caps, ways, world_size as usize)?;
    for document in documents {
        let mut entry = ledger.entry();
        document.parts.iter().for_each(|(rank, tiles)| document.enter(&mut entry, *rank, tiles, 1));
        ledger.enter(&entry);
    }
    Some(ledger)
}

/// The tiles of a rank, cut where the home of the queries changes.
fn cut(index: usize, rank: u32, document: &Document, tiles: &[Tile]) -> Vec<SplitTask> {
    let mut tasks = Vec::new();
    for tile in tiles {
        for (run, _) in &document.runs {
            let cut = |query, later_queries| Corner { query, key: 0, later_queries, later_keys: true };
            let own = tile.within(cut(run.start, true)).flat_map(|part| part.within(cut(run.end, false)));
            tasks.extend(own.map(|part| SplitTask {
                document: index,
                queries: part.q_start..part.q_end,
                keys: part.k_start..part.k_end,
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
