//! The JSON documents that rankscope writes, as types: what their keys are called and what they mean.
//!
//! Analysis fills them in, `rankscope-report` draws them, and programs read them back. A document has a `schema` number;
//! within it keys are only ever added. This crate knows nothing of the rest: it reads no file, computes no figure and draws nothing.
//! `docs/reference/formats/` describes every key for those who read the JSON itself.
//!
//! ```
//! use rankscope_document::Document;
//!
//! let written = Document { schema: 1, title: "run".to_owned(), world_size: Some(8), ..Document::default() };
//! let read: Document = serde_json::from_str(&serde_json::to_string(&written)?)?;
//! assert_eq!((read.title.as_str(), read.world_size), ("run", Some(8)));
//! # Ok::<(), serde_json::Error>(())
//! ```

mod across;
mod alignment;
mod answers;
mod beside;
mod clock;
mod collective_tables;
mod combine;
mod compare;
mod dispatch;
mod doctor;
mod from_traces;
mod gpu_clock;
mod hang;
mod history;
mod live;
mod memory;
mod operator_sheets;
mod params;
mod report;
mod rows;
mod snapshot;
mod spans;
mod strips;

pub mod spelling;
mod tables;
mod validation;
mod value;
mod verdict;
mod vocabulary;

pub use across::{AcrossRanks, AcrossRow, OverlapAcross};
pub use alignment::{AlignmentDocument, RankAlignment, TracerAlignment};
pub use answers::{
    Advice, AdviceRule, Blame, BlameGroup, BlameGroupKind, BlameGroupReason, Budget, CriticalPath, LatePattern, PathShare,
    RankedChange, Reason, ReasonKind, Slack, WhatIfDocument,
};
pub use beside::{
    Beside, BesideStatus, CollectiveBeside, Convention, MetricSeries, PairOfSides, RankCollectiveBeside, SideBySide,
    SideSeries, TimeBeside,
};
pub use clock::{ClockDocument, ClockPoint, NodeClock, PairAgreement};
pub use collective_tables::{
    CollectiveInstanceRow, CollectiveSummary, CollectiveTables, GroupRow, PairRow, ParallelismRow, RankCollectiveSummary,
    RankInstanceRow, SizeClassRow, StragglerRow, UnevenRow, UnevenSummary,
};
pub use combine::{CombineDocument, CombinedNode, Extrapolations, LeftOutKind, NumberedBy, RestoredStamps};
pub use compare::{
    ChangeVerdict, ClassChange, CompareDocument, ComparedRun, ComparedSide, Comparison, Contribution, ContributionKind,
    Direction, GateCheck, GateResult, MetricComparison, MetricUnit, MoreEvidence, Observation, OnInconclusive, OrderChange,
    Over, Place, RankChange, Ranking, StructureChange, StructureChanges, StructureKind, StructureVariation,
};
pub use dispatch::{DispatchDocument, DispatchRank, DispatchedDocument, DispatchedHeads};
pub use doctor::{DoctorDocument, DoctorFinding, DoctorStanding, DoctorTopic};
pub use from_traces::{BoundEnd, ClockFlip, EstimatedClock, FlippedAnswer, FromTracesDocument};
pub use gpu_clock::{
    GpuClock, GpuClockCount, GpuClockUnknown, GpuClockWindow, GpuNotPlaced, GpuNotPlacedCount, GpuTimesCount, GpuTimesUnusable,
};
pub use hang::{
    HangCall, HangDocument, HangEvent, HangKind, HangRank, HangRoot, HangSource, HangStack, HangVerdict, HangWait, HangWitness,
};
pub use history::{HistoryDocument, HistoryMetric, HistoryOrder, LevelChange, PastRun, Segment, StartSource};
pub use live::{
    LiveAlarm, LiveAlarmKind, LiveCollective, LiveDocument, LiveLast, LiveLink, LiveMeetings, LiveNode, LiveOpen, LiveRank,
    LiveReplay,
};
pub use memory::{MemoryHolder, MemoryPoint, MemorySummary, RecomputeSummary};
pub use operator_sheets::OperatorSheet;
pub use params::{Param, Params};
pub use report::{
    Clock, ClockOffset, ClockPair, CollectiveGroup, CollectiveInstance, Collectives, Copies, CopyTime, Document, Kernel, Note,
    NoteLevel, Problem, Rank, RankArrivals, Step, Time, UnmatchedCollective, Window,
};
pub use rows::{PARAMS, Row, Rows};
pub use snapshot::{MemorySnapshotDocument, SnapshotDeviceRow, SnapshotFailureRow, SnapshotSegmentRow, SnapshotStackRow};
pub use spans::{SpansDocument, SpansProcess, SpansRow};
pub use strips::{SideStrips, StepStrip, StepStrips};
pub use tables::{
    AnnotationSummary, BackwardSummary, BandwidthPoint, CategorySummary, CopySummary, CounterSummary, FunctionSummary,
    GemmSummary, HloInstruction, IdleBreakdown, IdleGapSummary, InferenceSteps, JaxStep, KernelOverlap, KernelSummary,
    LaunchOrder, LaunchSummary, LaunchedKernel, ModuleKernel, ModuleSummary, OperatorArguments, OperatorPerformance,
    OperatorSummary, OverlapSummary, PeriodSummary, QueuePoint, QueueSummary, SequenceSummary, ShortKernelBin,
    ShortKernelSummary, StreamIdle, TableNote, Tables,
};
pub use validation::{MissedPair, Rule, RuleCount, RuleFinding, RuleWeight, ValidationDocument, ValidationNode};
pub use value::Value;
pub use verdict::{Because, Caution, CautionKind, Confidence, LateRank, Unnamed, Verdict};
pub use vocabulary::{
    AccountingSide, AlignmentStage, Classes, ClockMethod, CollectiveKind, Format, KernelClass, LineFit, Link, ProblemKind,
    RankSource, SpansBy, SpansSort, StepSource, WaitsFor,
};
