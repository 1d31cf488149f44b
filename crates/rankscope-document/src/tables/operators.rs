//! Operators: by name, category and arguments, and what they achieved.

use serde::{Deserialize, Serialize};

use crate::Params;

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
