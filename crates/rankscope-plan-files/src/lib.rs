//! The files of [`rankscope_dispatch`]: bytes to plans, batches of documents and networks, and back. Nothing here opens a path.

pub mod documents;
pub mod network;
pub mod plan;
