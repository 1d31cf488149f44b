//! A recording streamed into the formats of others: read back, held against rules, and given to those it is for.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod consumers;
mod documents;
#[path = "../engine/mod.rs"]
mod engine;
mod overlaps;
mod plain;
mod scene;
mod strings;
mod validator;
