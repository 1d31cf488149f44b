//! Operators: by name, category and arguments, by what they belong to.

use serde::{Deserialize, Serialize};

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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// The median, of two in the middle their mean; absent where several exports were joined.
    #[serde(default)]
    pub median_ns: Option<f64>,
    /// The standard deviation of a sample; absent of a single one.
    #[serde(default)]
    pub std_ns: Option<f64>,
    /// `direct_kernel_ns` with what the operators that each called launched. So are the next five.
    #[serde(default)]
    pub subtree_kernel_ns: Option<i64>,
    /// The mean of that.
    #[serde(default)]
    pub subtree_mean_ns: Option<f64>,
    /// The least.
    #[serde(default)]
    pub subtree_min_ns: Option<i64>,
    /// The most.
    #[serde(default)]
    pub subtree_max_ns: Option<i64>,
    /// The median, as above.
    #[serde(default)]
    pub subtree_median_ns: Option<f64>,
    /// The standard deviation, as above.
    #[serde(default)]
    pub subtree_std_ns: Option<f64>,
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
    /// What they launched, that with most time first.
    #[serde(default)]
    pub kernels: Vec<LaunchedKernel>,
}

/// All runs of one kernel, copy or fill on one stream that the operators of a row launched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchedKernel {
    /// Its name.
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

/// All runs of one kernel for one operator in one module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModuleKernel {
    /// The modules around it, outermost first, as in `modules`. Absent of what is in no module.
    pub path: Option<String>,
    /// The operator or call that launched it. Absent where nothing tells.
    pub parent_op: Option<String>,
    /// The kernel, copy or fill.
    pub name: String,
    /// How often it ran.
    pub count: u64,
    /// Sum of the lengths.
    pub sum_ns: i64,
}

/// All calls of one operator, module or step that launched the same in the same order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LaunchOrder {
    /// The operator, or the path of the module. Absent of what a thread launched in a step and in neither.
    pub parent: Option<String>,
    /// Operators, modules and kernels that are directly in it, in order of their first launch; the first 64.
    pub names: Vec<String>,
    /// How many there are in all.
    pub length: u64,
    /// A number for the whole order, as 16 hexadecimal digits.
    pub order: String,
    /// A number for what is in it, whatever the order.
    pub set: String,
    /// How many calls.
    pub count: u64,
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
