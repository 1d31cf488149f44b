//! Tables of one rank: which operators ran, which kernels they launched, on which shapes.
//!
//! A kernel is attributed to the call that launched it and to the operator that made the call ([`Attribution`]). Every table is a sum
//! over the same kernels, so that all of them have the same total, to the nanosecond: what cannot be attributed is a row of its own.
//!
//! One rank at a time, on its own clock. Nothing here sees two ranks, reads a file or draws.
//!
//! # Example
//!
//! ```
//! # use std::io::Cursor;
//! # use rankscope_formats::{ReadOptions, read};
//! use rankscope_tables::{Attribution, operators};
//!
//! # let json = r#"{"traceEvents": [
//! #     {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 20},
//! #     {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 5, "dur": 5, "args": {"correlation": 7}},
//! #     {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 15, "dur": 60,
//! #      "args": {"device": 0, "stream": 7, "correlation": 7}}
//! # ]}"#;
//! # let trace = read(Cursor::new(json), &ReadOptions::default()).unwrap().remove(0).trace.unwrap();
//! // `aten::mm` calls `cudaLaunchKernel`, which starts a kernel of 60 us.
//! let attribution = Attribution::of(&trace);
//! let rows = operators(&trace, &attribution);
//! assert_eq!((rows[0].name.as_str(), rows[0].count, rows[0].direct_kernel_ns), ("aten::mm", 1, 60_000));
//! assert_eq!(attribution.unattributed_ns(&trace), 0);
//! ```

mod annotations;
mod arguments;
mod attribution;
mod backward;
mod bounded;
mod call_tree;
mod calls;
mod cards;
mod category;
mod choice;
mod copies;
mod counters;
mod graphs;
mod host_calls;
mod idle;
mod idle_gaps;
mod inference;
mod inside;
mod instructions;
mod jax_steps;
mod kernels;
mod launch_order;
mod launches;
mod levels;
#[cfg(test)]
mod made;
mod memory;
mod models;
mod module_kernels;
mod modules;
mod operators;
mod overlap;
mod owners;
mod performance;
mod periods;
mod python;
mod queue;
mod recompute;
mod remarks;
mod rows;
mod sequences;
mod short_kernels;
mod snapshot;
mod spread;
mod stacks;
mod stored;
mod tables;

pub use annotations::{AnnotationRow, annotations};
pub use arguments::{ArgumentRow, LaunchedKernel, Thread, arguments};
pub use attribution::{Attributed, Attribution, Owner};
pub use backward::BackwardRow;
pub use bounded::POINTS;
pub use call_tree::{CallTree, TreeLimits, TreeNode};
pub use calls::{CallRow, LATE_START_NS, LONG_CALL_NS, calls};
pub use cards::{Card, Cards, CardsError};
pub use category::Category;
pub use choice::{Table, TableSet, UnknownTable};
pub use copies::{Bandwidth, CopyRow, copies};
pub use counters::{CounterRow, counters};
pub use graphs::{CaptureFile, Captures, GraphCalls, GraphRemarks};
pub use host_calls::{CallSum, CalledRow, HostCalls};
pub use idle::{Idle, IdleCause, IdleTime, idle};
pub use idle_gaps::{HostDoing, IdleGapRow, MACRO_GAPS, MICRO_GAP_NS_MAX, OneGap, idle_gaps};
pub use inference::{InferenceEngine, InferenceRow, Phase, inference};
pub use instructions::{Counted, InstructionRow, instructions};
pub use jax_steps::{JaxStepRow, jax_steps};
pub use kernels::{KernelRow, kernels};
pub use launch_order::{ORDER_NAMES, ORDER_ROWS, OrderRow};
pub use levels::{Level, bandwidth_levels, queue_levels};
pub use memory::{Doubts, Holder, Memory, MemoryCategory, MemoryDevice, MemoryRow, PeakRow, Point, Sum, TimelineRow, memory};
pub use models::{Dtype, Engine, Figures, Inputs, Model, NoFigures, Param, Params, Product, Work};
pub use module_kernels::{MODULE_KERNEL_ROWS, ModuleKernelRow};
pub use modules::ModuleRow;
pub use operators::{CategoryRow, OperatorRow, by_category, operators};
pub use overlap::{Hidden, Overlap, OverlapRow, overlap};
pub use performance::{Bound, GemmRow, PerformanceRow, Roofline, gemm, performance};
pub use periods::{PERIOD_MIN, PeriodRow, periods};
pub use python::FunctionRow;
pub use queue::{FULL_QUEUE, QueueRow, queues};
pub use recompute::{Evidence, RecomputeRow, recompute};
pub use remarks::Remarks;
pub use sequences::{SEQUENCES, SequenceRow, sequences};
pub use short_kernels::{SHORT_KERNEL_BINS, SHORT_KERNEL_NS, ShortKernelRow, ShortKernels, short_kernels};
pub use snapshot::{FailedAllocation, Snapshot, SnapshotDevice, SnapshotError, SnapshotPeak, SnapshotSegment, StackHeld};
pub use spread::{Distribution, Lengths, Rates, Spread};
pub use tables::RankTables;
