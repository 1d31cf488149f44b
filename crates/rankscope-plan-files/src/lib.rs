//! The files of [`rankscope_dispatch`]: bytes to plans, batches of documents and networks, and back.
//!
//! Readers take bytes and say what is wrong with them and where; they believe no size. Writers give text whose layout is fixed
//! within its schema. Nothing here opens a path, and nothing is planned or predicted. What the verbs of
//! `rankscope dispatch` answer in JSON are documents of this crate too: [`planned`], [`predicted`], [`simulated`], [`played`],
//! [`calibrated`] and [`exported`].
//!
//! # Example
//!
//! ```
//! use rankscope_plan_files::plan;
//!
//! let plan = plan::read(br#"{"world_size": 2, "documents": [[[0, 0, 5], [1, 0, 3]]]}"#)?;
//! assert_eq!(plan.assignment.linear_tokens(), [5, 3]);
//! assert_eq!(plan::read(plan::json(&plan.assignment, &plan.rows).as_bytes())?, plan);
//! # Ok::<(), plan::PlanError>(())
//! ```

pub mod calibrated;
pub mod documents;
pub mod exported;
pub mod network;
pub mod plan;
pub mod planned;
pub mod played;
pub mod predicted;
pub mod simulated;
mod spelling;
pub mod time_table;

/// The longest file that is read: every value of a JSON document takes several times its text in memory.
pub const MOST_BYTES: usize = 64 << 20;
