//! Bytes that any plan of a layout must move, whoever makes it: the better of two bounds.
//!
//! What a plan moves is a sum over ranks, of queries that a rank computes and does not hold and of context that it needs and does
//! not hold. So both let every rank be asked alone what it would do if it were paid for queries, and differ in the pay. [`by_work`]
//! pays for work, and takes one rank's own queries exactly; it is the better one where most documents lie on one rank.
//! [`by_position`] pays more for late queries than their work, because they need more context; it is the better one where
//! documents lie on many.
//!
//! Where ranks may share the keys of the same queries neither holds for all plans, and [`by_part`] asks every rank for queries and
//! keys apart.

mod by_part;
mod by_position;
mod by_work;
mod in_time;

use crate::cost::Work;
use crate::planner::Prices;
use crate::{Batch, Error};

pub use in_time::{Least, time_lower_bound};

/// A lower bound on the bytes of every plan of `layout` in which no rank has more than its entry in `limits` of score cells.
///
/// # Errors
/// [`Error::Overflow`]; [`Error::Weights`] when there is not one limit for each rank.
pub fn lower_bound(layout: &Batch, prices: Prices, limits: &[u64]) -> Result<u64, Error> {
    if limits.len() != layout.world_size() as usize {
        return Err(Error::Weights { what: format!("{} limits for {} ranks", limits.len(), layout.world_size()) });
    }
    let by_work = by_work::bound(layout, prices, limits)?;
    Ok(by_work.max(by_position::bound(layout, prices, limits)))
}

/// The same where plans may split keys as well, and then move a log-sum-exp of `lse_bytes` beside every query or output.
///
/// A plan that computes each query on one rank moves no less than one with whole contexts. In any other, some query is computed away
/// from where it lives.
///
/// # Errors
/// Those of [`lower_bound`].
pub fn split_lower_bound(layout: &Batch, prices: Prices, lse_bytes: u64, limits: &[u64]) -> Result<u64, Error> {
    let whole = lower_bound(layout, prices, limits)?;
    let query = prices.query.saturating_add(lse_bytes);
    let shared = by_part::bound(layout, Prices { query, ..prices }, limits)?;
    Ok(whole.min(shared.max(query)))
}

/// The most score cells of ranks that keep to `limits` of work. Of measured time that is what the fastest kernel of the table could
/// do in it.
#[must_use]
pub fn cell_limits(layout: &Batch, work: &Work, limits: &[u64]) -> Vec<u64> {
    let Work::Time(table) = work else { return limits.to_vec() };
    let longest = layout.documents().map(|document| document.iter().map(|shard| shard.tokens).sum()).max().unwrap_or(0);
    let rate = table.most_cells_per_nanosecond(longest) * (1.0 + 1e-9);
    // Saturates where a limit is.
    limits.iter().map(|&limit| (limit as f64 * rate) as u64).collect()
}

/// How far `bytes` are above `bound`; nothing when the bound says nothing.
#[must_use]
pub fn gap(bytes: u64, bound: u64) -> Option<f64> {
    match (bytes, bound) {
        (0, 0) => Some(0.0),
        (_, 0) => None,
        _ => Some(bytes as f64 / bound as f64 - 1.0),
    }
}
