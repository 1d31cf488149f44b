//! Why bytes are no plan.

use rankscope_dispatch::Rows;
use thiserror::Error;

use super::{MOST_ELEMENT_BYTES, MOST_ELEMENTS, MOST_RANKS, SCHEMA, SPLIT_SCHEMA};
use crate::MOST_BYTES;

/// Why bytes are no plan. The fault is the file's, and each message says where.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Longer than any plan.
    #[error("{bytes} bytes; files of plans have at most {MOST_BYTES}")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// Neither of the two forms.
    #[error("not a plan, which is a JSON object with `documents`, or the compact form that begins with `RKDP`")]
    NotAPlan,
    /// JSON that is no plan; the source has the line and the column.
    #[error("not a plan: {0}")]
    Json(#[source] serde_json::Error),
    /// A plan of another layout.
    #[error("schema {found}; this program reads schemas {SCHEMA} and {SPLIT_SCHEMA}")]
    Schema {
        /// What the file says.
        found: u32,
    },
    /// Tasks without the documents that they are of, or with those of another plan.
    #[error("`tasks` are of the documents in `layout`: {layout} of them here, and {tasks} lists of tasks")]
    Tasks {
        /// Documents.
        layout: usize,
        /// Lists of tasks.
        tasks: usize,
    },
    /// No group of heads at all.
    #[error("`head_groups` is 0; heads are in one group at least")]
    NoHeadGroups,
    /// An object that says nothing of ranks.
    #[error("neither `world_size` nor `documents`: this is no plan")]
    NoRanks,
    /// The plan is another than the one whose hash the file has.
    #[error("`plan_hash` is {written}, but the plan's is {found}: the file was changed; without the key it is read")]
    Changed {
        /// The hash in the file, in hexadecimal.
        written: String,
        /// The plan's.
        found: String,
    },
    /// More ranks than plans are for.
    #[error("{ranks} ranks; plans are for {MOST_RANKS} at most")]
    TooManyRanks {
        /// How many.
        ranks: u32,
    },
    /// Rows beyond what is taken.
    #[error(
        "rows: {}, {} and {} elements of {} bytes; at most {MOST_ELEMENTS} elements of {MOST_ELEMENT_BYTES} bytes are taken",
        rows.hidden_q, rows.hidden_kv, rows.lse, rows.element_bytes
    )]
    Rows {
        /// Their sizes.
        rows: Rows,
    },
    /// Documents that no plan can have.
    #[error(transparent)]
    Plan(#[from] rankscope_dispatch::Error),
}
