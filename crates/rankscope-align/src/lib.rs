//! Puts every rank on one clock.
//!
//! So far from the traces alone: no rank leaves a collective before every rank has entered it, which bounds the difference of
//! any two clocks, and short collectives end everywhere at nearly the same moment, which estimates it. The interval is the
//! result and the point a convenience; stamps are corrected only where the bounds show that the clocks cannot be equal.
//!
//! What measured clocks say, when there are any, is stronger than all of this.

mod apply;
mod bounds;
mod from_collectives;
mod tracer;

pub use apply::{Moved, apply, apply_to_devices};
pub use bounds::{Bound, Bounds};
pub use from_collectives::{ClockEstimate, DRIFT_MAX, IntervalEnd, RankClocks, Side, estimate, estimate_at_start};
pub use tracer::{TracerMap, tracer_map};
