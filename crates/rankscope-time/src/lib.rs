//! Time for a whole job: instants typed by their clock, signed spans, rates, and the map from one clock to another.
//!
//! The one idea: an instant belongs to a clock, and only a [`ClockMap`] may take it to another one. Every absolute time is an
//! `i64` of nanoseconds; no absolute time ever passes through a float, which would round it to 256 ns.
//!
//! This crate does not measure clocks, reads none, and has no dependencies.

mod clock_map;
mod ids;
mod instant;
mod rate;

pub use clock_map::{ClockCursor, ClockMap, Knot, MapError};
pub use ids::{HostId, Rank};
pub use instant::{HostClock, Instant, RankClock, ReferenceClock, Span};
pub use rate::Rate;
