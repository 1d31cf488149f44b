//! Tasks that take part of their keys: a range of queries by a range of keys.
//!
//! A plan gives every task the whole document up to its end. Here several ranks may share the keys of the same queries. Each
//! sends back a partial output beside its log-sum-exp (the logarithm of the sum of the exponentials of its scores), and the
//! home of the queries weighs the partial outputs by them; what comes out is the attention over all keys.
//!
//! It begins with a plan, and for documents on several ranks also with bands of queries whose keys ranks share, and looks for what moves
//! fewer bytes, with nobody above the tolerance, or above what it had, or further above a cap; by a table of times the slowest rank is no
//! slower. If all of it moves no fewer, or is above a cap, since every output then has a log-sum-exp beside it,
//! tasks keep their whole contexts.
//!
//! A backward pass splits as a forward one does: each rank makes what its keys add to the gradient of a query, and the home of the query
//! adds that up. It takes the log-sum-exp over all keys, which goes out with the query.

mod bands;
mod document;
mod search;
mod tile;

use rankscope_time::Rank;

use super::Remote;
use super::bounded::{Ledger, Limits, Options, slowest};
use super::ways::Ways;
use crate::cost::Work;
use crate::{Batch, Error, Rows, SplitBatch, SplitTask};
use document::{Costs, Document};
use search::Standing;

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
/// Those of [`Limits::new`]; [`Error::Overflow`].
pub fn split(layout: &Batch, plan: &Batch, options: &Options, lse_bytes: u64) -> Result<SplitPlan, Error> {
    let (costs, work) = (Costs { prices: options.prices, lse_bytes }, &options.work);
    let before = super::bounded::loads(plan, work)?;
    let mut documents: Vec<Document> = plan.documents().map(Document::new).collect();
    let loads = joined_loads(&documents, work, plan.world_size());
    let limits = limits(layout, options, &before, &loads)?;
    let ledger_now = ledger(&documents, plan.world_size(), options, lse_bytes);
    let mut standing = Standing { loads, limits: &limits, work, ledger: ledger_now };
    let (mut bytes, mut unmerged_bytes, mut tasks) = (0, 0, Vec::new());
    for (index, document) in documents.iter_mut().enumerate() {
        improve(document, &mut standing, costs);
        for (rank, tiles) in &document.parts {
            bytes += document.bytes(*rank, tiles, costs);
            unmerged_bytes += document.bytes(*rank, tiles, Costs { lse_bytes: 0, ..costs });
            tasks.extend(tiles.iter().flat_map(|tile| document.cut(tile)).map(|part| SplitTask {
                document: index,
                queries: part.q_start..part.q_end,
                keys: part.k_start..part.k_end,
                rank: Rank(*rank),
            }));
        }
    }
    let batch = SplitBatch::new(layout, tasks)?;
    let (bytes, beside) = if batch.merges() { (bytes, lse_bytes) } else { (unmerged_bytes, 0) };
    let whole = Remote::of(plan).bytes(options.prices);
    let ledger = ledger(&documents, plan.world_size(), options, beside);
    // Measured times of tasks that were joined need not be less than theirs apart.
    let measured = *work != Work::Cells;
    let is_slower = measured && slowest(&loads_of(&batch, work)?, &options.weights) > slowest(&before, &options.weights);
    match bytes < whole && !is_slower && ledger.is_none_or(|ledger| ledger.check().is_ok()) {
        true => Ok(SplitPlan { batch, bytes, lse_bytes }),
        false => Ok(SplitPlan::of_whole(plan, options, lse_bytes)),
    }
}

/// Looks for tiles that cost less from where the plan is, and from where ranks share bands; the better one stays.
fn improve(document: &mut Document, standing: &mut Standing<'_>, costs: Costs) {
    let begun = bands::begin(document, standing, costs).and_then(|parts| {
        let begun = Document { runs: document.runs.clone(), parts };
        Some((standing.replaced(document, &begun)?, begun))
    });
    search::improve(document, standing, costs);
    if let Some((mut other, mut begun)) = begun {
        search::improve(&mut begun, &mut other, costs);
        if begun.all_bytes(costs) < document.all_bytes(costs) {
            (*document, *standing) = (begun, other);
        }
    }
}

impl SplitPlan {
    /// The plan as it is, with whole contexts.
    pub(super) fn of_whole(plan: &Batch, options: &Options, lse_bytes: u64) -> Self {
        Self { batch: SplitBatch::of_whole(plan), bytes: Remote::of(plan).bytes(options.prices), lse_bytes }
    }

    /// `rows` as this plan sends them: with the log-sum-exps it was made for, if any outputs are merged.
    #[must_use]
    pub fn rows(&self, rows: &Rows) -> Rows {
        let heads = self.lse_bytes / u64::from(Rows::lse_bytes(rows.element_bytes));
        if self.batch.merges() { rows.with_lse_of(u32::try_from(heads).unwrap_or(u32::MAX)) } else { *rows }
    }

    /// The work of every rank.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn loads(&self, work: &Work) -> Result<Vec<u64>, Error> {
        loads_of(&self.batch, work)
    }
}

/// The work of every rank, task by task.
pub(super) fn loads_of(batch: &SplitBatch, work: &Work) -> Result<Vec<u64>, Error> {
    let mut loads = vec![0_u64; batch.world_size() as usize];
    for task in batch.tasks() {
        let load = &mut loads[task.rank.0 as usize];
        let sum = load.checked_add(work.of_part(&task.queries, &task.keys));
        *load = sum.ok_or(Error::Overflow { what: "the attention of one rank" })?;
    }
    Ok(loads)
}

/// The work of every rank, its tiles of a document joined.
fn joined_loads(documents: &[Document], work: &Work, world_size: u32) -> Vec<u64> {
    let mut loads = vec![0_u64; world_size as usize];
    for document in documents {
        for (rank, tiles) in &document.parts {
            let load = &mut loads[*rank as usize];
            *load = load.saturating_add(document.work(tiles, work));
        }
    }
    loads
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

/// What each rank may have: its target, or what it has. By measured time also no more than makes nobody slower than the slowest is
/// `before`, as then nobody knows in advance what is gained by it.
fn limits(layout: &Batch, options: &Options, before: &[u64], loads: &[u64]) -> Result<Vec<u64>, Error> {
    let target = Limits::new(layout, &options.work, options.eps, &options.weights)?.target;
    let slowest = slowest(before, &options.weights);
    let limit = |rank: usize| match options.work {
        Work::Cells => target[rank].max(loads[rank]),
        Work::Time(_) => ((slowest * options.weight(rank)) as u64).min(target[rank]).max(loads[rank]),
    };
    Ok((0..loads.len()).map(limit).collect())
}
