//! Tables of one rank, as `report --tables` writes them.

use serde::{Deserialize, Serialize};

use crate::memory::{MemoryHolder, MemoryPoint, MemorySummary, RecomputeSummary};
use crate::{AccountingSide, Params};

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
    /// Backward operators and their forward ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backward: Option<Vec<BackwardSummary>>,
    /// Modules of the model. Empty where they are not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modules: Option<Vec<ModuleSummary>>,
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

/// All operators of one name that launched device work themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperatorSummary {
    /// The operator; of work that no operator is around, the call that launched it.
    pub name: String,
    /// What sort of work it does.
    pub category: String,
    /// How many launched work.
    pub count: u64,
    /// How long devices worked on what each launched itself, summed; of one operator, work that overlaps counts once.
    pub direct_kernel_ns: i64,
    /// The same with what the operators that each called launched.
    pub subtree_kernel_ns: i64,
    /// Sum of the lengths of the work they launched themselves; work that overlaps counts twice.
    pub kernel_sum_ns: i64,
}

/// All operators of one category.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CategorySummary {
    /// What sort of work they do.
    pub category: String,
    /// How many launched work.
    pub count: u64,
    /// As for operators.
    pub direct_kernel_ns: i64,
    /// As for operators.
    pub kernel_sum_ns: i64,
}

/// All operators of one name that were called with the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperatorArguments {
    /// The operator.
    pub name: String,
    /// What sort of work it does.
    pub category: String,
    /// Shapes of the inputs, as JSON, as recorded; so are the next three. Absent where they are not recorded.
    pub input_dims: Option<String>,
    /// Types of their elements.
    pub input_types: Option<String>,
    /// Their strides.
    pub input_strides: Option<String>,
    /// Values of what is no tensor.
    pub concrete_inputs: Option<String>,
    /// How many launched work.
    pub count: u64,
    /// How long devices worked on what each launched itself, summed.
    pub direct_kernel_ns: i64,
    /// The mean of that.
    pub mean_ns: f64,
    /// The least.
    pub min_ns: i64,
    /// The most.
    pub max_ns: i64,
}

/// All runs of one kernel on one stream for one operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelSummary {
    /// The operator that launched it, or the call; absent where nothing recorded tells.
    pub parent_op: Option<String>,
    /// What sort of work that operator does.
    pub category: String,
    /// The kernel.
    pub name: String,
    /// The stream it ran on.
    pub stream: String,
    /// How often it ran.
    pub count: u64,
    /// Sum of its lengths.
    pub sum_ns: i64,
    /// Their mean.
    pub mean_ns: f64,
    /// The shortest.
    pub min_ns: i64,
    /// The longest.
    pub max_ns: i64,
}

/// All runs of one kernel that took less than 50 us, for one operator on inputs of one shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShortKernelSummary {
    /// The operator that launched it, or the call; absent where nothing recorded tells.
    pub parent_op: Option<String>,
    /// Shapes of the operator's inputs, as JSON, as recorded. Absent where they are not recorded.
    pub input_dims: Option<String>,
    /// The kernel.
    pub name: String,
    /// How many of its runs were short.
    pub count: u64,
    /// Sum of their lengths.
    pub sum_ns: i64,
    /// Their mean.
    pub mean_ns: f64,
    /// Their sum as a share of the sum of the lengths of all device work, 0 to 1.
    pub share: f64,
}

/// How many kernels took about as long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShortKernelBin {
    /// They took this long or longer.
    pub from_ns: i64,
    /// They took less than this.
    pub to_ns: i64,
    /// How many there were.
    pub count: u64,
}

/// All calls of one name that launched work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchSummary {
    /// The call.
    pub name: String,
    /// How many calls launched work that is recorded.
    pub count: u64,
    /// How much work they launched: a call may launch many kernels.
    pub work: u64,
    /// The least time that a call took on the host.
    pub call_min_ns: i64,
    /// Their median, the lower of two in the middle. Absent of a rank of several exports: medians do not add.
    pub call_median_ns: Option<i64>,
    /// Their mean.
    pub call_mean_ns: f64,
    /// The most.
    pub call_max_ns: i64,
    /// The least time from the end of a call to the start of its first work; below zero where that began during the call.
    pub delay_min_ns: i64,
    /// Their median, the lower of two in the middle. Absent of a rank of several exports: medians do not add.
    pub delay_median_ns: Option<i64>,
    /// Their mean.
    pub delay_mean_ns: f64,
    /// The most.
    pub delay_max_ns: i64,
    /// The least time that a piece of the work took.
    pub work_min_ns: i64,
    /// Their median, the lower of two in the middle. Absent of a rank of several exports: medians do not add.
    pub work_median_ns: Option<i64>,
    /// Their mean.
    pub work_mean_ns: f64,
    /// The most.
    pub work_max_ns: i64,
    /// How many pieces of work took less than the call that launched them.
    pub shorter_work: u64,
    /// How many calls took longer than 50 us.
    pub long_calls: u64,
    /// How many delays were longer than 100 us.
    pub late_starts: u64,
}

/// How much work was launched for one stream and had not started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueSummary {
    /// The stream.
    pub stream: String,
    /// How much work went through the queue.
    pub count: u64,
    /// The most that it held at once.
    pub most: u64,
    /// How much it held in the mean over its window.
    pub mean: f64,
    /// Sum of the times that each piece of work waited in it.
    pub waited_ns: i64,
    /// Its window: from the first launch to the last start.
    pub window_ns: i64,
    /// How long it held 1,024 or more: calls to launch wait until it holds less.
    pub blocked_ns: i64,
}

/// How much work was launched for one stream and had not started, from an instant on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueuePoint {
    /// The stream.
    pub stream: String,
    /// The instant, since the start of the trace.
    pub at_ns: i64,
    /// How much.
    pub queued: i64,
}

/// How fast copies or fills in one direction were, from an instant on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BandwidthPoint {
    /// Which way they went, `memset` of fills.
    pub direction: String,
    /// The instant, since the start of the trace.
    pub at_ns: i64,
    /// In decimal gigabytes per second: of those that run side by side, the sum.
    pub gb_per_s: f64,
}

/// Communication of the devices, and how much of it compute hides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverlapSummary {
    /// How long anything communicated: what runs side by side counts once.
    pub comm_ns: i64,
    /// How much of that something computed.
    pub hidden_ns: i64,
    /// The second as a share of the first, 0 to 1. Absent where nothing communicated.
    pub share: Option<f64>,
    /// The same of each kernel that communicates.
    pub kernels: Vec<KernelOverlap>,
}

/// All runs of one kernel that communicates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelOverlap {
    /// The kernel.
    pub name: String,
    /// How often it ran.
    pub count: u64,
    /// How long it ran: runs side by side count once.
    pub comm_ns: i64,
    /// As of all.
    pub hidden_ns: i64,
    /// As of all.
    pub share: Option<f64>,
}

/// All copies or fills of one name in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopySummary {
    /// Which way they went, `memset` of fills.
    pub direction: String,
    /// The name.
    pub name: String,
    /// How many.
    pub count: u64,
    /// Bytes moved, as far as the file says.
    pub bytes: u64,
    /// Sum of their lengths.
    pub sum_ns: i64,
    /// Of how many the file has the bytes and a length above zero: what follows is of those.
    pub sized: u64,
    /// All their bytes in all their time, in decimal gigabytes per second. Absent where none is sized; so are the next two.
    pub gb_per_s: Option<f64>,
    /// The mean of the bandwidths of each, small ones counting as much as great ones.
    pub mean_gb_per_s: Option<f64>,
    /// The greatest of them.
    pub max_gb_per_s: Option<f64>,
}

/// All annotations of one name, on devices or on the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnnotationSummary {
    /// Where they are.
    pub side: AccountingSide,
    /// The name.
    pub name: String,
    /// How many.
    pub count: u64,
    /// Sum of their lengths.
    pub sum_ns: i64,
    /// Their mean.
    pub mean_ns: f64,
    /// The shortest.
    pub min_ns: i64,
    /// The longest.
    pub max_ns: i64,
    /// Sum of the lengths of the device work launched inside them. Absent of those on devices.
    pub kernel_ns: Option<i64>,
}

/// A sequence of kernels, copies and fills that follow each other on a stream more than once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SequenceSummary {
    /// Their names, in order.
    pub names: Vec<String>,
    /// How often they follow each other: runs that overlap count once.
    pub count: u64,
    /// Sum of their lengths in all these runs.
    pub kernel_ns: i64,
}

/// All steps of one phase with so many requests, as the annotations of an inference engine name them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InferenceSteps {
    /// Whose annotations: `vllm` or `sglang`.
    pub engine: String,
    /// What the steps do: `prefill`, `decode` or `mixed`.
    pub phase: String,
    /// Requests in each.
    pub requests: u64,
    /// How many steps.
    pub count: u64,
    /// How long devices took for them, summed: of each from the first start of its work to the last end.
    pub sum_ns: i64,
    /// The mean of that.
    pub mean_ns: f64,
    /// The least.
    pub min_ns: i64,
    /// The most.
    pub max_ns: i64,
    /// Tokens that all of them read or made. Absent where a name does not tell.
    pub tokens: Option<u64>,
    /// `sum_ns / tokens`.
    pub ns_per_token: Option<f64>,
    /// Sum of the lengths of their work.
    pub kernel_ns: i64,
}

/// A row of device work that repeats without exception.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeriodSummary {
    /// Kernels, copies and fills of one repetition.
    pub work: u64,
    /// Whole repetitions.
    pub repetitions: u64,
    /// The stretch that repeats as a share of all work, by count, 0 to 1.
    pub share: f64,
    /// When it begins, since the start of the trace.
    pub at_ns: i64,
    /// From the start of a repetition to that of the next: the mean.
    pub mean_ns: f64,
    /// The least.
    pub min_ns: i64,
    /// The most.
    pub max_ns: i64,
    /// Mean of the sums of the lengths of the work of each.
    pub kernel_mean_ns: f64,
    /// The work that each begins with, which is chance.
    pub first: String,
    /// Steps that the trace marks.
    pub marked_steps: u64,
}

/// A gap in which no device of the rank worked, or all short ones of one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdleGapSummary {
    /// `macro` above 100 us, else `micro`.
    pub class: String,
    /// Why: `host_wait`, `kernel_wait` or `other`.
    pub cause: String,
    /// Their length.
    pub sum_ns: i64,
    /// How many gaps.
    pub count: u64,
    /// The longest.
    pub max_ns: i64,
    /// Of one gap: its start, since the start of the trace; absent of sums, as are the next three.
    pub at_ns: Option<i64>,
    /// The work that ended before it.
    pub before: Option<String>,
    /// The work that ends it.
    pub after: Option<String>,
    /// The annotation, but for steps, that the thread which launched that was in for more than half of it.
    pub annotation: Option<String>,
    /// What that thread spent most of the gaps in itself; absent where nothing is recorded of that time, or where the launch is not.
    pub host: Option<String>,
    /// How much of them; absent where the launch is not recorded.
    pub host_ns: Option<i64>,
}

/// Idle time of a rank's devices by its cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdleBreakdown {
    /// The work that came next was launched after the devices had run dry: the host was late.
    pub host_wait_ns: i64,
    /// It had been launched before, and started within 30 us.
    pub kernel_wait_ns: i64,
    /// It started later than that, or its launch is not recorded.
    pub other_ns: i64,
    /// The same of each stream by itself.
    pub streams: Vec<StreamIdle>,
}

/// Idle time of one stream by its cause, between its own first and last work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamIdle {
    /// The stream.
    pub stream: String,
    /// As of the devices.
    pub host_wait_ns: i64,
    /// As of the devices.
    pub kernel_wait_ns: i64,
    /// As of the devices.
    pub other_ns: i64,
}

/// The values of one hardware counter for one kernel of one operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CounterSummary {
    /// The innermost operator around the launch; absent where the order of launches does not tell it.
    pub operator: Option<String>,
    /// The kernel, or the range that the user named.
    pub name: String,
    /// The counter.
    pub counter: String,
    /// How many values.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// Their mean.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

/// Products of matrices of one size, for one operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GemmSummary {
    /// The operator.
    pub name: String,
    /// Rows of the first matrix.
    pub m: u64,
    /// Columns of the second.
    pub n: u64,
    /// Columns of the first, rows of the second.
    pub k: u64,
    /// How many pairs of matrices each multiplies.
    pub batch: u64,
    /// The type of the first matrix, as recorded.
    pub dtype: String,
    /// How many there were.
    pub count: u64,
    /// Floating-point operations of one.
    pub flops: u64,
    /// Bytes that one has to move at least.
    pub bytes: u64,
    /// How long devices worked for them, summed.
    pub kernel_ns: i64,
    /// Operations in 10^12 a second; absent where they took no time.
    pub tflops: Option<f64>,
    /// The least time that the card needs for it, as a share of what it took; absent where a figure of the card is not known.
    pub roofline_share: Option<f64>,
    /// What all of them were called with alike.
    #[serde(default)]
    pub params: Params,
}

/// All operators of one name that were called with the same, and what they achieved. What is not known is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperatorPerformance {
    /// The operator.
    pub name: String,
    /// What sort of work it does.
    pub category: String,
    /// Which model its figures are from.
    pub model: Option<String>,
    /// Shapes of the inputs, as JSON, as recorded; so are the next three.
    pub input_dims: Option<String>,
    /// Types of their elements.
    pub input_types: Option<String>,
    /// Their strides.
    pub input_strides: Option<String>,
    /// Values of what is no tensor.
    pub concrete_inputs: Option<String>,
    /// How many there were.
    pub count: u64,
    /// How long devices worked for them, summed.
    pub kernel_ns: i64,
    /// What they were called with, as the model names it.
    #[serde(default)]
    pub params: Params,
    /// Floating-point operations of one.
    pub flops: Option<u64>,
    /// Bytes that one has to move at least.
    pub bytes: Option<u64>,
    /// Whether both are `exact`, or `at_most` or `at_least` what they say, as far as the inputs tell; where there are none, why.
    #[serde(default)]
    pub figures: Option<String>,
    /// Operations for each byte.
    pub intensity: Option<f64>,
    /// Operations in 10^12 a second.
    pub tflops: Option<f64>,
    /// Bytes in 10^12 a second.
    pub tb_per_s: Option<f64>,
    /// What the card needs the time for: `compute` or `memory`.
    pub bound: Option<String>,
    /// The least time that the card needs for all of them.
    pub roofline_ns: Option<f64>,
    /// That as a share of `kernel_ns`.
    pub roofline_share: Option<f64>,
    /// `kernel_ns` without it, and not below 0.
    pub saved_ns: Option<i64>,
}

/// All backward operators of one name whose forward operators have one name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackwardSummary {
    /// The forward operator. Absent where it is not recorded.
    pub forward_op: Option<String>,
    /// The backward operator.
    pub name: String,
    /// How many backward operators.
    pub count: u64,
    /// Sum of the lengths of the device work of the forward operators.
    pub forward_kernel_ns: i64,
    /// Sum of the lengths of that of the backward operators.
    pub backward_kernel_ns: i64,
}

/// All calls of one module at one place in the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModuleSummary {
    /// The modules around it and itself, outermost first. Absent of what is in no module; so is the next.
    pub path: Option<String>,
    /// Its own name.
    pub name: Option<String>,
    /// How many modules are around it.
    pub depth: u64,
    /// How many calls launched work.
    pub count: u64,
    /// Sum of the lengths of the device work launched in it and in no module within it.
    pub forward_kernel_ns: i64,
    /// Sum of the lengths of that of the backward operators of this.
    pub backward_kernel_ns: i64,
    /// Both, with those of all modules within it.
    pub subtree_kernel_ns: i64,
}

/// All frames of one function in which work was launched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionSummary {
    /// The function, as the tracer names it. Absent of what was launched in no frame.
    pub name: Option<String>,
    /// How many frames.
    pub count: u64,
    /// Sum of the lengths of the device work launched in it and in no function within it.
    pub own_kernel_ns: i64,
    /// The same with all functions within it.
    pub subtree_kernel_ns: i64,
}

/// All runs of one HLO instruction. What is not recorded is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HloInstruction {
    /// The instruction; absent of the work that none is known of.
    pub name: Option<String>,
    /// The module that it is in.
    pub module: Option<String>,
    /// What sort it is: as recorded, else by its name.
    pub category: Option<String>,
    /// How many pieces of work it is made of, in all its runs: one run may be several kernels.
    pub count: u64,
    /// Sum of their lengths.
    pub sum_ns: i64,
    /// Their mean.
    pub mean_ns: f64,
    /// The shortest.
    pub min_ns: i64,
    /// The longest.
    pub max_ns: i64,
    /// Their sum as a share of that of all rows, 0 to 1.
    pub share: f64,
    /// Floating-point operations in all.
    pub flops: Option<u64>,
    /// Bytes read and written in all.
    pub bytes: Option<u64>,
    /// Operations in 10^12 a second.
    pub tflops: Option<f64>,
    /// Bytes in 10^12 a second.
    pub tb_per_s: Option<f64>,
}
