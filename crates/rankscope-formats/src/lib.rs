//! Bytes to [`Trace`](rankscope_trace::Trace) and back: Kineto/Chrome JSON, XSpace and Perfetto, plain or compressed; and the JSON of
//! rocprofv3 and of NCCL's Inspector to a trace.
//!
//! Readers take any `Read`, return the trace *and* what was wrong with it (`trace.provenance.problems`, each with its byte
//! offset), and fail only when nothing is usable. They never panic on input and never hold more than the events they keep plus
//! a few buffers. Writers take a trace and a `Write`.
//!
//! Nothing here knows a path: whoever opens the file names it in the [`ReadOptions`] and in its own errors.
//!
//! # Example
//!
//! ```
//! use std::io::Cursor;
//!
//! use rankscope_formats::{ReadOptions, read};
//!
//! let file = r#"{"traceEvents": [
//!     {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1, "ts": 10.5, "dur": 2.0}
//! ]}"#;
//! let options = ReadOptions::default().with_label("rank3.json");
//! let members = read(Cursor::new(file), &options)?; // one trace, or one for each member of an archive
//! let trace = members[0].trace.as_ref().expect("this file is whole");
//! assert_eq!((trace.spans.len(), trace.spans.dur_ns[0]), (1, 2_000));
//! assert!(trace.provenance.problems.is_empty());
//! # Ok::<(), rankscope_formats::Error>(())
//! ```

pub mod activity;
pub mod archive;
mod columns;
mod deflate;
mod error;
mod inflate;
pub mod inspector;
pub mod json;
mod kineto;
mod left_out;
mod open;
mod options;
pub mod perfetto;
pub mod recording;
pub mod rocprof;
pub mod snapshot_pairs;
mod unpack;
pub mod wire;
pub mod xspace;

pub use deflate::{Encoder, Encoding};
pub use error::{Archive, Error, Foreign, Limit, NoEvents, Unread};
pub use left_out::{LeftOut, LeftOutKind, left_out};
pub use open::{Member, SQLITE_MAGIC, read, read_each};
pub use options::{ArgsPolicy, Format, ReadOptions, Scope};
