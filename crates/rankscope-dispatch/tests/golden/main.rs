//! The golden cases: what the Python originals computed, against what this crate computes, value for value.

#![expect(clippy::unwrap_used, reason = "a golden case that cannot be read is a failure")]

mod bytes;
mod case;
mod lengths;
mod logical;
mod refused;
