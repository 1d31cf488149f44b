//! Columns of a block. Each says its codec, its rows and its bytes, so that reading them in another order than they were written
//! is an error and never a wrong value.

mod flags;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::Columns;
pub use write::ColumnsWriter;
