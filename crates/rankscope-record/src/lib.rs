//! The in-process recorder: a span for some twenty nanoseconds, kept when the process dies.
//!
//! ```
//! use rankscope_record::{Session, SessionOptions, record_function};
//!
//! fn forward() {
//!     let _span = record_function!("forward", batch = 32);
//!     // ... work ...
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("rankscope-start-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # std::env::set_current_dir(&folder)?;
//! let session = Session::start(SessionOptions::to_file("rank%r.rkr"))?; // survives a kill
//! forward();
//! let stopped = session.stop()?;
//! assert_eq!(stopped.report.events(), 1);
//! stopped.recorded.save("rank0.pftrace")?; // open it on ui.perfetto.dev
//! # std::env::set_current_dir("/")?;
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! The [`guide`] goes on from there: arguments, threads, live files, schedules, memory, `tracing`.
//!
//! A program says what it does with [`record_function!`] and its relatives; a [`Session`] turns recording on. Off, an
//! instrumented scope costs one relaxed load. On, a thread writes raw ticks into memory of its own, which may be a file that
//! outlives the process; names were interned once per call site. Everything expensive (time from ticks, trees, formats) happens
//! later, from [`Recorded`] or from the file.
//!
//! The recorder never harms the program: what finds no room is dropped and counted, and every stop says what was lost and why.
//! What is not here: the layout of recordings and their reader (rankscope-recording), clocks of other hosts, devices.
//!
//! # Features
//!
//! Without any, a program that records itself compiles a dozen crates, and leaves live files, which `rankscope` reads.
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `export` | yes | [`Recorded::save`] and its relatives: packed recordings, JSON as Kineto writes it, Perfetto, XSpace. Compiles zstd. |
//! | `kineto` | yes | [`kineto`], the API of PyTorch's C++ profiler under Rust names. Brings `export` and `serde`. |
//! | `foreign-plugins` | yes | [`plugins::foreign`], plugins written in C, and `RANKSCOPE_PLUGINS`. Brings `kineto`. |
//! | `snapshots` | yes | [`snapshots`], readings of devices' clocks through a session. Brings `serde`. |
//! | `serde` | yes | `Serialize` for [`Report`] and what it is made of, and [`memory::LiveHeap::write_json`]. |
//! | `tracing` | no | `RecordingLayer`, for programs that are instrumented with the `tracing` crate. |
//! | `macros` | no | the attribute `recorded` for whole functions. |

mod about;
mod anchors;
mod control;
mod correlation;
mod dynamic_name;
mod empty;
mod events;
#[cfg(feature = "export")]
mod export;
mod forks;
mod formatted;
mod in_span;
mod join;
mod keeper;
mod kept_args;
#[cfg(feature = "kineto")]
pub mod kineto;
mod lane;
mod lease;
mod life;
pub mod live;
mod macros;
pub mod memory;
mod names;
pub mod plugins;
mod quiet;
mod ranks;
mod recorded;
mod remarks;
mod report;
pub mod schedule;
mod scope;
mod session;
#[cfg(feature = "snapshots")]
pub mod snapshots;
mod span;
mod state;
mod store;
mod test_clock;
mod ticks;
#[cfg(feature = "tracing")]
mod tracing_layer;
mod value;
mod wall_reading;

pub use about::{set_host_name, set_metadata, set_process_name, set_rank, set_thread_name};
pub use correlation::{current_annotation, current_correlation, pop_correlation, push_correlation};
pub use dynamic_name::{DynamicName, begin_dynamic};
pub use empty::Empty;
pub use events::{AsyncSpan, MemoryEvent, begin_async, counter_f64, counter_i64, flow, instant, memory, noted};
#[cfg(feature = "export")]
pub use export::{ExportError, ExportFormat};
pub use formatted::{Formatted, ShortText};
pub use in_span::{InSpan, SpanFuture, SpanName};
pub use join::{JoinedRun, join_run, join_run_with};
pub use kept_args::KeptArgs;
pub use names::{Site, intern, intern_key};
pub use ranks::{own_rank, own_world_size};
#[cfg(feature = "macros")]
#[doc = include_str!("recorded_attribute.md")]
pub use rankscope_record_macros::recorded;
/// The format of recordings, for who reads one: what [`Recorded::open`] gives is of this crate.
pub use rankscope_recording as recording;
pub use rankscope_recording::{Categories, Category, DropReason, FlowStage, NameId, Remark};
pub use recorded::{Recorded, StoreChunks};
pub use remarks::Remarks;
pub use report::{ClockReport, Phases, Report, ThreadReport};
pub use scope::Scope;
pub use session::{Session, SessionOptions, StartError, StopError, Stopped, ThreadFilter};
pub use span::{OpenSpan, SpanGuard, begin, begin_named, begin_raw, begin_step, begin_step_raw, begin_with, end_raw};
pub use state::{is_on, state_word};
pub use store::{InTheWay, Overflow, Storage, map_file};
pub use test_clock::TestClock;
pub use ticks::{TickSource, raw_ns, tick_source, ticks};
#[cfg(feature = "tracing")]
pub use tracing_layer::RecordingLayer;
pub use value::{ToValue, Value};
pub use wall_reading::WallReading;

pub mod guide {
    #![doc = include_str!("../guide/rust.md")]

    pub mod embedding {
        #![doc = include_str!("../guide/embed-c.md")]
    }
    pub mod crashes {
        #![doc = include_str!("../guide/crashes.md")]
    }
    pub mod sessions {
        #![doc = include_str!("../guide/sessions.md")]
    }
    pub mod join_run {
        #![doc = include_str!("../guide/join-run.md")]
    }
    /// Its examples need the features `tracing` and `macros`.
    #[cfg(all(feature = "tracing", feature = "macros"))]
    pub mod async_code {
        #![doc = include_str!("../guide/tracing-async.md")]
    }
}
