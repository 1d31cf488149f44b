//! SQL over a dataset of `rankscope report --parquet`, by DataFusion.
//!
//! [`Dataset`] knows the tables and views that `views.sql` has, by the same names, out of the schema and the manifest, and two functions
//! for intervals: `union_ns(start, end)`, an aggregate, and `overlap_ns(start, end, start, end)`. A query reads and never writes.
//!
//! A dataset is a folder or, once somebody has registered stores, a URL of one; then only what a query needs is fetched. Who speaks to
//! stores is not known here: `main.rs` registers rankscope-store.
//!
//! This is a leaf: nothing of rankscope depends on it, and it judges nothing. What a column means stands in the dataset's reference.

mod answer;
mod dataset;
mod error;
mod intervals;
mod overlap;
mod stored;
mod union;

pub use answer::{Answer, Format};
pub use dataset::Dataset;
pub use error::Error;
