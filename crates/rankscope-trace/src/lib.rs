//! One trace in memory: what a profiler wrote about one process (or a few), in columns, whatever file it came from.
//!
//! Every reader fills a [`Trace`] and every writer drains one. Names are interned, a span costs some forty bytes, and what a
//! reader could not make sense of is kept beside the events as [`Problem`]s instead of being lost.
//!
//! What is not here: files and bytes (rankscope-formats), what a collective is (rankscope-collectives), more than one clock
//! (rankscope-align). The crate knows no serialisation.
//!
//! # Example
//!
//! ```
//! use rankscope_trace::{CategoryKind, SpanRow, Trace, TrackKey, TrackKind};
//!
//! let mut trace = Trace::default();
//! let process = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(4711));
//! let thread = trace.tracks.find_or_add(TrackKind::Thread, Some(process), TrackKey::Number(1));
//! let category = trace.category("cpu_op", CategoryKind::CpuOp);
//! let name = trace.strings.intern("aten::linear");
//! let id = trace.spans.push(SpanRow { start_ns: 1_000, dur_ns: 250, name, track: thread, category, offset: 0 });
//! assert_eq!((trace.name(id), trace.kind(id), trace.spans.end_ns(id)), ("aten::linear", CategoryKind::CpuOp, 1_250));
//! assert_eq!(trace.bounds_ns(), Some((1_000, 1_250)));
//! ```

mod append;
mod args;
mod awaited;
mod category;
mod collective;
mod copy;
mod description;
mod excerpt;
mod flow;
mod gpu_times;
mod join;
mod mark;
mod problem;
mod provenance;
mod rank_name;
mod size;
mod span;
mod sparse;
mod strings;
mod trace;
mod track;

pub use append::Remap;
pub use args::{ArgColumn, ArgValue};
pub use awaited::Awaited;
pub use category::{Category, CategoryKind};
pub use collective::CollectiveArgs;
pub use copy::CopyDirection;
pub use description::Description;
pub use flow::{FlowPhase, FlowPoint};
pub use gpu_times::GpuTimes;
pub use mark::{CounterSample, InstantMark, InstantScope};
pub use problem::{Problem, ProblemKind, Problems};
pub use provenance::{
    ClockReading, ClockScope, DeviceInfo, HostClock, ProcessGroup, Provenance, RankSource, SnapshotPair, SourceFormat,
    TracerClock,
};
pub use rank_name::rank_of_name;
pub use span::{SpanId, SpanRow, Spans};
pub use sparse::Sparse;
pub use strings::{StrId, Strings};
pub use trace::{StepMark, Trace};
pub use track::{Track, TrackId, TrackKey, TrackKind, Tracks};
