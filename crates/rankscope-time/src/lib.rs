//! Time for a whole job: instants typed by their clock, signed spans, rates, and the map from one clock to another.
//!
//! The one idea: an instant belongs to a clock, and only a [`ClockMap`] may take it to another one. Every absolute time is an
//! `i64` of nanoseconds; no absolute time ever passes through a float, which would round it to 256 ns.
//!
//! This crate does not measure clocks, reads none, and has no dependencies.
//!
//! # Example
//!
//! Two readings of a rank's clock beside the reference clock make a map, which converts any other stamp and says how far it may be off:
//!
//! ```
//! use rankscope_time::{ClockMap, Instant, Knot, Rate, RankClock, ReferenceClock, Span};
//!
//! let knots = vec![
//!     Knot { from_ns: 1_000_000_000, to_ns: 1_000_500_000, uncertainty_ns: 200 },
//!     Knot { from_ns: 2_000_000_000, to_ns: 2_000_510_000, uncertainty_ns: 300 },
//! ];
//! let map: ClockMap<RankClock, ReferenceClock> = ClockMap::from_knots(knots, Rate::from_ppb(200_000))?;
//! let start = Instant::<RankClock>::from_nanos_since_epoch(1_500_000_000);
//! let aligned = map.map(start);
//! assert_eq!(aligned.nanos_since_epoch(), 1_500_505_000);
//! assert!(map.uncertainty_ns(start) < 1_000);
//! assert_eq!(map.inverse().map(aligned), start);
//! assert_eq!(start - Instant::from_nanos_since_epoch(1_400_000_000), Span::from_nanos(100_000_000));
//! # Ok::<(), rankscope_time::MapError>(())
//! ```

mod clock_map;
mod ids;
mod instant;
mod rate;

pub use clock_map::{ClockCursor, ClockMap, Knot, MapError, MapStage, StageError};
pub use ids::{HostId, Rank};
pub use instant::{HostClock, Instant, RankClock, ReferenceClock, Span};
pub use rate::Rate;
