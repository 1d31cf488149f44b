//! A judged job as a dataset of Parquet files: the contract with the SQL engines and data frames that people have.
//!
//! [`Table`] is the schema, written once: what is written, what the views name and what docs/reference/dataset.md says all come from
//! it. Each table's module makes [`Frame`]s of it, columns of at most [`GROUP_ROWS`] rows, out of a [`Job`](rankscope_job::Job) and
//! its traces; `write`, behind the feature `parquet`, puts frames into a file. The same job gives the same bytes.
//!
//! Events are on the job's clock, which is known only when all ranks have been judged; so they are written where traces are read for
//! the second time, here or by workers that are told what the judge knows of a rank, and never by whoever maps one of them first. Pure: no path is opened here.

mod clock;
mod collectives;
mod events;
mod frame;
mod groups;
mod kernels;
mod manifest;
mod numbered;
mod ranks;
mod schema;
mod steps;
mod views;
#[cfg(feature = "parquet")]
mod write;

pub use clock::{clock, is_bounded};
pub use collectives::collectives;
pub use events::{EventsOf, events};
pub use frame::{Frame, Texts, Values};
pub use groups::NO_GROUP;
pub use kernels::kernels;
pub use manifest::{FileEntry, Manifest, ManifestError, RunEntry, TableEntry, run_name};
pub use numbered::Numbered;
pub use ranks::ranks;
pub use schema::{Column, Kind, SCHEMA, Table};
pub use steps::steps;
pub use views::{Dialect, Layouts, asked, views};
#[cfg(feature = "parquet")]
pub use write::{Error, Written, write};

/// Rows of a frame at most, and so of a row group: what engines read at a time, and what a writer holds.
pub const GROUP_ROWS: usize = 256 << 10;
