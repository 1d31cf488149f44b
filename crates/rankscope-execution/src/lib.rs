//! The execution graph of a job: what ran on each rank, what each piece of it waited for, and the collectives that tie ranks together.
//!
//! A rank's graph is its [`Execution`]: the pieces of its threads and streams, each with the pieces that had to end before it could
//! start. It is made of one trace, on that rank's own clock, and knows of no other rank. The job's graph is a [`JobExecution`]: the
//! executions of all ranks, their clocks' maps, and the matched collectives as joins.
//!
//! Three sorts of question are asked of it. Walking back from a moment along what each piece waited for last ([`Execution::back`])
//! says what a rank's time went to, to the nanosecond. The same walk across ranks is the critical path. Running all pieces again
//! under other durations is a what-if. Nothing here draws, advises or blames.
//!
//! ```
//! use rankscope_execution::{Activity, Dependency, Execution, Key, LaneKind};
//!
//! let mut builder = Execution::builder();
//! let (host, stream) = (builder.lane(LaneKind::Thread, "main"), builder.lane(LaneKind::Stream, "7"));
//! let call = builder.key(Key::new(Activity::Call, "cudaLaunchKernel"));
//! let gemm = builder.key(Key::new(Activity::Kernel, "gemm"));
//! let launch = builder.piece_of(call, host, 0, 10, None);
//! let kernel = builder.piece_of(gemm, stream, 12, 38, None);
//! builder.launch(kernel, launch);
//! let execution = builder.finish();
//!
//! let kernel = execution.last_started(12).expect("it has started");
//! let (before, how) = execution.bound_by(kernel).expect("the host launched it");
//! assert_eq!((execution.key(execution.key_of(before)).name.as_str(), how), ("cudaLaunchKernel", Dependency::Launch));
//! ```

mod activity;
mod build;
mod columns;
mod execution;
mod job;
mod path;
pub mod replay;
mod shares;
mod walk;

pub use activity::{Activity, Key};
pub use execution::{Builder, Dependency, Execution, KeyId, Lane, LaneId, LaneKind, NewPiece, Piece, PieceId, Share};
pub use job::{JobExecution, Meeting, MeetingId, Participant};
pub use path::{
    LeastSlack, Path, PathClass, PathEnd, PathShare, PathSums, PathWindow, Segment, critical_path, critical_paths, scarcest,
};
pub use walk::{Stretch, What};
