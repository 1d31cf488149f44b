//! The library as C and C++ have it: programs are compiled against the header, linked with the library, run, and what they recorded
//! is read back.
#![expect(clippy::unwrap_used, reason = "a test that does not unwrap says less")]

mod built;
mod examples;
mod header;
mod plugins;
mod programs;
mod symbols;
