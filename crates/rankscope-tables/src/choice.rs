//! The tables by their names, as users ask for them.

use std::fmt;
use std::str::FromStr;

/// A table: of each rank, or of all ranks side by side. Names are those of TraceLens' sheets where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Table {
    /// Operators by name.
    OpsSummary,
    /// Operators by category.
    OpsSummaryByCategory,
    /// Operators by name and arguments.
    OpsUniqueArgs,
    /// Kernels by name, stream and operator.
    KernelSummary,
    /// Kernels that took less than 50 us, by operator and inputs.
    ShortKernelsSummary,
    /// How long those took.
    ShortKernelHistogram,
    /// Calls that launch work.
    Launches,
    /// Work that was launched and had not started, by stream.
    Queue,
    /// How long the queues were over time.
    QueueTimeline,
    /// Communication, and how much of it compute hides.
    Overlap,
    /// Copies and fills by direction and name.
    Copies,
    /// How fast they were over time.
    BandwidthTimeline,
    /// Annotations of devices and of the host by name.
    Annotations,
    /// Sequences of kernels that occur most often.
    Sequences,
    /// Steps of an inference engine by what they do.
    InferenceSteps,
    /// Device work that repeats.
    Periods,
    /// Why devices were idle.
    Idle,
    /// The gaps in which they were.
    IdleGaps,
    /// Forward operators that ran again during backward.
    Recompute,
    /// Memory of devices and of the host.
    Memory,
    /// What held it when most was allocated.
    MemoryPeak,
    /// Its course over time.
    MemoryTimeline,
    /// Hardware counters of kernels.
    Counters,
    /// Products of matrices.
    Gemm,
    /// What operators achieved, and what the device could have.
    UnifiedPerfSummary,
    /// Operators of all ranks side by side.
    OpsAcrossRanks,
    /// Kernels of all ranks side by side.
    KernelsAcrossRanks,
    /// Annotations of all ranks side by side.
    AnnotationsAcrossRanks,
    /// Why devices were idle, all ranks side by side.
    IdleAcrossRanks,
    /// Communication that compute hides, all ranks side by side.
    OverlapAcrossRanks,
    /// Backward operators and their forward ones.
    Backward,
    /// Modules of the model.
    Modules,
    /// Kernels by module and operator.
    ModuleKernels,
    /// In which order steps, modules and operators launch.
    LaunchOrder,
    /// Functions of Python.
    PythonFunctions,
    /// HLO instructions by module and name.
    HloOps,
    /// Where the time of each step goes, of traces of XLA.
    JaxSteps,
}

/// Some tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSet(u64);

impl TableSet {
    /// All of them.
    pub const ALL: Self = Self(u64::MAX);

    /// `tables`.
    pub fn of(tables: impl IntoIterator<Item = Table>) -> Self {
        Self(tables.into_iter().fold(0, |set, table| set | Self::bit(table)))
    }

    /// Whether one of `tables` is in it.
    pub fn has_any(self, tables: &[Table]) -> bool {
        tables.iter().any(|table| self.0 & Self::bit(*table) != 0)
    }

    const fn bit(table: Table) -> u64 {
        1 << table as u64
    }
}

impl Table {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::OpsSummary,
        Self::OpsSummaryByCategory,
        Self::OpsUniqueArgs,
        Self::KernelSummary,
        Self::ShortKernelsSummary,
        Self::ShortKernelHistogram,
        Self::Launches,
        Self::Queue,
        Self::QueueTimeline,
        Self::Overlap,
        Self::Copies,
        Self::BandwidthTimeline,
        Self::Annotations,
        Self::Sequences,
        Self::InferenceSteps,
        Self::Periods,
        Self::Idle,
        Self::IdleGaps,
        Self::Recompute,
        Self::Memory,
        Self::MemoryPeak,
        Self::MemoryTimeline,
        Self::Counters,
        Self::Gemm,
        Self::UnifiedPerfSummary,
        Self::OpsAcrossRanks,
        Self::KernelsAcrossRanks,
        Self::AnnotationsAcrossRanks,
        Self::IdleAcrossRanks,
        Self::OverlapAcrossRanks,
        Self::Backward,
        Self::Modules,
        Self::ModuleKernels,
        Self::LaunchOrder,
        Self::PythonFunctions,
        Self::HloOps,
        Self::JaxSteps,
    ];

    /// The table that has the same of all ranks side by side.
    pub fn across_ranks(self) -> Option<Self> {
        match self {
            Self::OpsSummary => Some(Self::OpsAcrossRanks),
            Self::KernelSummary => Some(Self::KernelsAcrossRanks),
            Self::Annotations => Some(Self::AnnotationsAcrossRanks),
            Self::Idle => Some(Self::IdleAcrossRanks),
            Self::Overlap => Some(Self::OverlapAcrossRanks),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpsSummary => "ops_summary",
            Self::OpsSummaryByCategory => "ops_summary_by_category",
            Self::OpsUniqueArgs => "ops_unique_args",
            Self::KernelSummary => "kernel_summary",
            Self::ShortKernelsSummary => "short_kernels_summary",
            Self::ShortKernelHistogram => "short_kernel_histogram",
            Self::Launches => "launches",
            Self::Queue => "queue",
            Self::QueueTimeline => "queue_timeline",
            Self::Overlap => "overlap",
            Self::Copies => "copies",
            Self::BandwidthTimeline => "bandwidth_timeline",
            Self::Annotations => "annotations",
            Self::Sequences => "sequences",
            Self::InferenceSteps => "inference_steps",
            Self::Periods => "periods",
            Self::Idle => "idle",
            Self::IdleGaps => "idle_gaps",
            Self::Recompute => "recompute",
            Self::Memory => "memory",
            Self::MemoryPeak => "memory_peak",
            Self::MemoryTimeline => "memory_timeline",
            Self::Counters => "counters",
            Self::Gemm => "gemm",
            Self::UnifiedPerfSummary => "unified_perf_summary",
            Self::OpsAcrossRanks => "ops_across_ranks",
            Self::KernelsAcrossRanks => "kernels_across_ranks",
            Self::AnnotationsAcrossRanks => "annotations_across_ranks",
            Self::IdleAcrossRanks => "idle_across_ranks",
            Self::OverlapAcrossRanks => "overlap_across_ranks",
            Self::Backward => "backward",
            Self::Modules => "modules",
            Self::ModuleKernels => "module_kernels",
            Self::LaunchOrder => "launch_order",
            Self::PythonFunctions => "python_functions",
            Self::HloOps => "hlo_ops",
            Self::JaxSteps => "jax_steps",
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

/// A word that names no table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTable(pub String);

impl fmt::Display for UnknownTable {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Table::ALL.iter().map(|table| table.name()).collect();
        write!(to, "{:?} is not a table; the tables are {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownTable {}

impl FromStr for Table {
    type Err = UnknownTable;

    fn from_str(text: &str) -> Result<Self, UnknownTable> {
        Self::ALL.iter().copied().find(|table| table.name() == text).ok_or_else(|| UnknownTable(text.to_owned()))
    }
}
