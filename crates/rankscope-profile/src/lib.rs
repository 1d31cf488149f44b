//! Spans to the files that profilers and collectors of other programs read: folded stacks, speedscope, pprof, OTLP.
//!
//! The idea: one writer a format, each of which takes what the analysis found and a `Write`. Flame graphs show the time of
//! threads, so asynchronous spans, which overlap freely, are in OTLP alone. Nothing here computes: a weight is a self time as
//! the table has it. What these formats have no place for (instants, counters, flows) is not written, and the caller says so.
//!
//! ```
//! use rankscope_analyze::spans::{By, Selection, Stacks};
//!
//! # let stacks = Stacks::default();
//! let mut text = Vec::new();
//! rankscope_profile::folded(&stacks, &mut text)?;
//! // A line a stack, for `inferno-flamegraph`; spans that take no time of their own have none.
//! assert!(text.is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```

mod folded;
mod otlp;
mod pprof;
mod speedscope;
#[cfg(test)]
mod tests;

pub use folded::folded;
pub use otlp::otlp;
pub use pprof::pprof;
pub use speedscope::speedscope;
