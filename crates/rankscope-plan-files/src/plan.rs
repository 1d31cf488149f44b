//! Plan files: JSON, or the compact form (`.rkd`), told apart by their first bytes.
//!
//! A JSON plan lists documents, each as its shards from start to end: `[linear rank, attention rank, tokens]`. Cases as golden
//! files keep them are plans too: `docs` or `shards` with `[linear rank, attention rank, position in the document, tokens]`.
//! Keys that are not known are passed over.
//!
//! A plan that splits heads or keys is of schema 2, which programs that know neither refuse. `head_groups` says how often the same
//! documents follow each other, once for every group of heads; `rows` are those of one group. Where keys are split `layout` takes
//! the place of `documents`, a shard being `[linear rank, tokens]`, and `tasks` has a list for every document of them:
//! `[first query, end of the queries, first key, end of the keys, rank]`.

mod error;
mod parse;
#[cfg(test)]
mod tests;
mod write;

use rankscope_dispatch::{Assignment, Rows, binary};

use crate::MOST_BYTES;

pub use self::error::PlanError;
pub use self::write::json;

/// A plan that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Who computes what.
    pub assignment: Assignment<'static>,
    /// Sizes of rows, of one group of heads.
    pub rows: Rows,
}

/// The hash that names a plan, in hexadecimal.
#[must_use]
pub fn hash<'a>(plan: impl Into<Assignment<'a>>, rows: &Rows) -> String {
    hex(&binary::hash(plan, rows))
}

/// Two digits for each byte.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a plan of either form.
///
/// # Errors
/// [`PlanError`]: bytes that are no plan, with their place; a plan of another schema, one that was changed after its hash was
/// written, or one beyond the bounds of [`bounded`].
pub fn read(bytes: &[u8]) -> Result<Plan, PlanError> {
    if bytes.len() > MOST_BYTES {
        return Err(PlanError::TooLong { bytes: bytes.len() });
    }
    let (assignment, rows) = match bytes.starts_with(b"RKDP") {
        true => binary::decode(bytes)?,
        false => parse::of_json(bytes)?,
    };
    bounded(Plan { assignment, rows })
}

/// A plan that is not too large to be one.
///
/// # Errors
/// [`PlanError::TooManyRanks`] beyond [`MOST_RANKS`]; [`PlanError::Rows`] beyond [`MOST_ELEMENTS`] or [`MOST_ELEMENT_BYTES`].
pub fn bounded(plan: Plan) -> Result<Plan, PlanError> {
    within(&plan.assignment, &plan.rows).map(|()| plan)
}

/// Whether a plan is not too large to be one.
///
/// # Errors
/// Those of [`bounded`].
pub fn within<'a>(assignment: impl Into<Assignment<'a>>, rows: &Rows) -> Result<(), PlanError> {
    let (ranks, rows) = (assignment.into().world_size(), *rows);
    if ranks > MOST_RANKS {
        return Err(PlanError::TooManyRanks { ranks });
    }
    let widest = [rows.hidden_q, rows.hidden_kv, rows.lse].into_iter().max();
    match widest <= Some(MOST_ELEMENTS) && rows.element_bytes <= MOST_ELEMENT_BYTES {
        true => Ok(()),
        false => Err(PlanError::Rows { rows }),
    }
}

/// Layout version of the file.
const SCHEMA: u32 = 1;
/// The same where heads or keys are split.
const SPLIT_SCHEMA: u32 = 2;
/// `kind` of a plan.
pub const KIND: &str = "rankscope_dispatch_plan";

/// Every rank takes some memory, whether it has a shard or not; a larger number is a mistake in a file.
pub const MOST_RANKS: u32 = 1 << 18;

/// A row of more is a mistake in a file; with less, no sum of sizes leaves 64 bits before the tokens do.
pub const MOST_ELEMENTS: u32 = 1 << 24;
/// The widest elements.
pub const MOST_ELEMENT_BYTES: u32 = 16;
