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
//!
//! # Example
//!
//! Moving the events of a trace along a map that somebody measured:
//!
//! ```
//! use rankscope_align::apply;
//! use rankscope_time::{ClockMap, RankClock, ReferenceClock, Span};
//! # use rankscope_trace::{CategoryKind, SpanRow, Trace, TrackKey, TrackKind};
//! # let mut trace = Trace::default();
//! # let thread = trace.tracks.find_or_add(TrackKind::Thread, None, TrackKey::Number(1));
//! # let category = trace.category("cpu_op", CategoryKind::CpuOp);
//! # let name = trace.strings.intern("step");
//! # trace.spans.push(SpanRow { start_ns: 10_000, dur_ns: 500, name, track: thread, category, offset: 0 });
//!
//! // One span from 10,000 ns on; the rank's clock is 4,000 ns ahead, known to 50 ns.
//! let map = ClockMap::<RankClock, ReferenceClock>::from_offset(Span::from_nanos(-4_000), 50);
//! let moved = apply(&mut trace, &map);
//! assert_eq!(trace.spans.start_ns[0], 6_000);
//! assert_eq!((moved.events, moved.correction_min_ns), (1, -4_000));
//! assert!(moved.uncertainty_max_ns <= 52); // rounding included
//! ```

mod apply;
mod bounds;
mod clocks;
pub mod combine;
mod csv;
mod devices;
mod from_collectives;
mod gpu_clock;
mod hints;
mod pairs;
mod tracer;
pub mod validate;

pub use apply::{Moved, apply, apply_to_devices, measure};
pub use bounds::{Bound, Bounds};
pub use clocks::{JobClocks, Method, NodeClock, RankAlignment, RankMap, RankSource, align};
pub use csv::CsvText;
pub use devices::{Settled, settle_tracers};
pub use from_collectives::{ClockEstimate, DRIFT_MAX, IntervalEnd, RankClocks, Side, estimate, estimate_at_start};
pub use gpu_clock::{
    GpuClock, GpuClockWindow, GpuEvent, GpuEvents, GpuInstant, GpuPlaced, GpuSpan, NoLine, NotPlaced, Unusable,
};
pub use hints::hints;
pub use tracer::{TracerMap, tracer_map};
