//! Time: launches, queues, annotations, steps of inference, and why devices were idle.

use serde::{Deserialize, Serialize};

use crate::AccountingSide;

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

/// One step of a program whose trace XLA's profiler wrote. All times but the first add up to the first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JaxStep {
    /// Its number.
    pub step: i64,
    /// How long it took.
    pub step_time_ns: i64,
    /// Devices computed.
    pub device_compute_ns: i64,
    /// They communicated, and computed nothing.
    pub collectives_ns: i64,
    /// They copied within and between themselves or filled memory, and did neither.
    pub device_to_device_ns: i64,
    /// They copied from the host or waited for its input, or the host prepared it while they did nothing.
    pub infeed_ns: i64,
    /// The same of output.
    pub outfeed_ns: i64,
    /// The host compiled while devices did nothing.
    pub compile_ns: i64,
    /// It launched work meanwhile.
    pub kernel_launch_ns: i64,
    /// It did something else.
    pub host_compute_ns: i64,
    /// Nothing that is recorded.
    pub other_ns: i64,
    /// `infeed_ns` as a share of the step, 0 to 1.
    pub input_bound_share: f64,
    /// What told when it began and ended: `device_annotations`, `launches` or `host_annotations`.
    pub source: String,
}
