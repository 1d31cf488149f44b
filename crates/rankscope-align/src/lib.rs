//! Puts every rank on one clock.
//!
//! Measured clocks are composed: from the clock that stamped a trace to its host's ([`tracer_map`]), and from the host's to the
//! reference. [`align`] chooses the strongest way for each rank, and [`apply`] moves its events. How a map was measured is not
//! known here.
//!
//! From the traces alone: no rank leaves a collective before every rank has entered it, which bounds the difference of any two
//! clocks, and short collectives end everywhere at nearly the same time, which estimates it. The interval is the result and
//! the point a convenience; stamps are corrected only where the bounds show that the clocks cannot be equal. What measured
//! clocks say, when there are any, is stronger.

mod apply;
mod bounds;
mod clocks;
pub mod combine;
mod csv;
mod devices;
mod from_collectives;
mod pairs;
mod tracer;
pub mod validate;

pub use apply::{Moved, apply, apply_to_devices};
pub use bounds::{Bound, Bounds};
pub use clocks::{JobClocks, Method, NodeClock, RankAlignment, RankMap, RankSource, align};
pub use csv::CsvText;
pub use devices::{Settled, settle_tracers};
pub use from_collectives::{ClockEstimate, DRIFT_MAX, IntervalEnd, RankClocks, Side, estimate, estimate_at_start};
pub use tracer::{TracerMap, tracer_map};
