//! What operators achieved, beside what their card could have.

use serde::{Deserialize, Serialize};

use super::LaunchedKernel;
use crate::Params;

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
    /// The least of `kernel_ns` of a single operator. It and what follows is absent of documents made before they had it.
    #[serde(default)]
    pub min_ns: Option<i64>,
    /// The most.
    #[serde(default)]
    pub max_ns: Option<i64>,
    /// The median, of two in the middle their mean; absent where several exports were joined.
    #[serde(default)]
    pub median_ns: Option<f64>,
    /// The standard deviation of a sample; absent of a single one.
    #[serde(default)]
    pub std_ns: Option<f64>,
    /// Median of `tflops` of single operators; absent where one took no time. So are the next five.
    #[serde(default)]
    pub tflops_median: Option<f64>,
    /// The least.
    #[serde(default)]
    pub tflops_min: Option<f64>,
    /// The most.
    #[serde(default)]
    pub tflops_max: Option<f64>,
    /// Median of `tb_per_s` of single operators.
    #[serde(default)]
    pub tb_per_s_median: Option<f64>,
    /// The least.
    #[serde(default)]
    pub tb_per_s_min: Option<f64>,
    /// The most.
    #[serde(default)]
    pub tb_per_s_max: Option<f64>,
    /// Which units of the card do it and in which type, such as `matrix_bf16`.
    #[serde(default)]
    pub compute_spec: Option<String>,
    /// How long the operators took on the host, summed; absent where they are no spans of the host. So are the next five.
    #[serde(default)]
    pub host_ns: Option<i64>,
    /// The mean of that.
    #[serde(default)]
    pub host_mean_ns: Option<f64>,
    /// The least.
    #[serde(default)]
    pub host_min_ns: Option<i64>,
    /// The most.
    #[serde(default)]
    pub host_max_ns: Option<i64>,
    /// The median.
    #[serde(default)]
    pub host_median_ns: Option<f64>,
    /// The standard deviation of a sample.
    #[serde(default)]
    pub host_std_ns: Option<f64>,
    /// The process that all of them ran in; absent where there are several, or none is named. So are the next two.
    #[serde(default)]
    pub process_name: Option<String>,
    /// What else the file calls that process.
    #[serde(default)]
    pub process_label: Option<String>,
    /// The thread that all of them ran on.
    #[serde(default)]
    pub thread_name: Option<String>,
    /// The first of them in the file, by its place in `traceEvents`, from 0; absent where that is not known.
    #[serde(default)]
    pub example_event: Option<u32>,
    /// The work that is theirs, that with most time first.
    #[serde(default)]
    pub kernels: Vec<LaunchedKernel>,
}
