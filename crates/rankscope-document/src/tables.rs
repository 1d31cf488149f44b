//! Tables of one rank, as `report --tables` writes them.

mod achieved;
mod device;
mod operators;
mod time;

use serde::{Deserialize, Serialize};

use crate::memory::{MemoryHolder, MemoryPoint, MemorySummary, RecomputeSummary};

pub use achieved::{GemmSummary, OperatorPerformance};
pub use device::{
    BandwidthPoint, CopySummary, CounterSummary, KernelOverlap, KernelSummary, OverlapSummary, PeriodSummary, SequenceSummary,
    ShortKernelBin, ShortKernelSummary,
};
pub use operators::{
    BackwardSummary, CategorySummary, FunctionSummary, HloInstruction, LaunchOrder, LaunchedKernel, ModuleKernel,
    ModuleSummary, OperatorArguments, OperatorSummary,
};
pub use time::{
    AnnotationSummary, IdleBreakdown, IdleGapSummary, InferenceSteps, JaxStep, LaunchSummary, QueuePoint, QueueSummary,
    StreamIdle,
};

/// Tables of one rank. Those that were not asked for are absent. All are of the same device work: kernels, copies and fills.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tables {
    /// Sum of the lengths of all device work.
    pub kernel_ns: i64,
    /// Sum of the lengths of the work that nothing recorded tells the operator or the call of.
    pub unattributed_kernel_ns: i64,
    /// What the tables lack, and why.
    #[serde(default)]
    pub notes: Vec<TableNote>,
    /// Operators by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_summary: Option<Vec<OperatorSummary>>,
    /// Operators by category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_summary_by_category: Option<Vec<CategorySummary>>,
    /// Operators by name and arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_unique_args: Option<Vec<OperatorArguments>>,
    /// Kernels by name, stream and the operator that launched them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_summary: Option<Vec<KernelSummary>>,
    /// Kernels that took less than 50 us, by name, operator and inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_kernels_summary: Option<Vec<ShortKernelSummary>>,
    /// How long those took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_kernel_histogram: Option<Vec<ShortKernelBin>>,
    /// Calls that launch work, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launches: Option<Vec<LaunchSummary>>,
    /// Work that was launched and had not started, by stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Vec<QueueSummary>>,
    /// How long the queues were over time. Absent of a rank of several exports, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_timeline: Option<Vec<QueuePoint>>,
    /// Communication, and how much of it compute hides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<OverlapSummary>,
    /// Copies and fills by direction and name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Vec<CopySummary>>,
    /// How fast copies and fills were over time. Absent of a rank of several exports, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_timeline: Option<Vec<BandwidthPoint>>,
    /// Annotations of devices and of the host by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Vec<AnnotationSummary>>,
    /// Sequences of kernels that occur most often. Absent of a rank of several exports, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequences: Option<Vec<SequenceSummary>>,
    /// Steps of an inference engine by what they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inference_steps: Option<Vec<InferenceSteps>>,
    /// Device work that repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub periods: Option<Vec<PeriodSummary>>,
    /// Why devices were idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleBreakdown>,
    /// The gaps in which they were: those above 100 us one by one, the others by cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_gaps: Option<Vec<IdleGapSummary>>,
    /// Forward operators that ran again during backward.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recompute: Option<Vec<RecomputeSummary>>,
    /// Memory of devices and of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Vec<MemorySummary>>,
    /// What held it when most was allocated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_peak: Option<Vec<MemoryHolder>>,
    /// Its course over time. Absent of a rank of several exports, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_timeline: Option<Vec<MemoryPoint>>,
    /// Hardware counters of kernels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<Vec<CounterSummary>>,
    /// The card whose figures the rooflines have; absent where it is not known.
    #[serde(default)]
    pub card: Option<String>,
    /// Products of matrices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gemm: Option<Vec<GemmSummary>>,
    /// Operators by name and arguments, with what they achieved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unified_perf_summary: Option<Vec<OperatorPerformance>>,
    /// HLO instructions by module and name; empty where the trace names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hlo_ops: Option<Vec<HloInstruction>>,
    /// Where the time of each step goes; empty where XLA's profiler did not write the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jax_steps: Option<Vec<JaxStep>>,
    /// Backward operators and their forward ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backward: Option<Vec<BackwardSummary>>,
    /// Modules of the model. Empty where they are not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modules: Option<Vec<ModuleSummary>>,
    /// Kernels by module and operator. Empty where no modules are recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module_kernels: Option<Vec<ModuleKernel>>,
    /// In which order steps, modules and operators launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_order: Option<Vec<LaunchOrder>>,
    /// Functions of Python. Empty where their frames are not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python_functions: Option<Vec<FunctionSummary>>,
}

/// Something that the tables of a rank lack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableNote {
    /// What it is about: `attribution` of device work, or the `figures` of operators.
    pub about: String,
    /// What is missing and why, in a sentence.
    pub text: String,
}
