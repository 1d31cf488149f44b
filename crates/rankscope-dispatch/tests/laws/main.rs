//! What must hold for every batch, whatever its documents.

#![expect(clippy::unwrap_used, reason = "a batch that cannot be built is a failure")]

mod batches;
mod dense;
mod mutations;
mod properties;
mod rules;
mod sparse;
