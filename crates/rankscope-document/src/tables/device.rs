//! Device work: kernels, copies, communication, and counters.

use serde::{Deserialize, Serialize};

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
    /// Shapes of the operator's inputs, as JSON, as recorded. Absent where they are not recorded; so are the next two.
    pub input_dims: Option<String>,
    /// Their strides.
    #[serde(default)]
    pub input_strides: Option<String>,
    /// Values of what is no tensor.
    #[serde(default)]
    pub concrete_inputs: Option<String>,
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
