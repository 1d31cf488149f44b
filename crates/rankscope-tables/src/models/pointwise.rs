//! One result for each element: of one input, or of two that are stretched to one shape.
//!
//! One operation for each result, whatever the function; a copy and a fill take none. Operands in 8 bits and complex ones have no figure.

use super::count::{product as times, sum};
use super::inputs::Tensor;
use super::params::{Collected, Params};
use super::{Dtype, Inputs, Work};

const UNARY: [&str; 37] = [
    "abs",
    "acos",
    "asin",
    "atan",
    "bitwise_not",
    "ceil",
    "clamp",
    "clamp_max",
    "clamp_min",
    "copy",
    "cos",
    "elu",
    "erf",
    "exp",
    "expm1",
    "fill",
    "floor",
    "gelu",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "log",
    "log1p",
    "log2",
    "neg",
    "pow",
    "reciprocal",
    "relu",
    "round",
    "rsqrt",
    "sigmoid",
    "silu",
    "sin",
    "sqrt",
    "square",
    "tanh",
    "zero",
];

const BINARY: [&str; 26] = [
    "add",
    "atan2",
    "bitwise_and",
    "bitwise_or",
    "div",
    "eq",
    "fmod",
    "ge",
    "gelu_backward",
    "gt",
    "le",
    "logical_and",
    "logical_or",
    "lt",
    "maximum",
    "minimum",
    "mul",
    "ne",
    "remainder",
    "rsub",
    "sigmoid_backward",
    "silu_backward",
    "sub",
    "tanh_backward",
    "threshold_backward",
    "xlogy",
];

/// A condition or a mask and what is chosen; products and quotients that are added.
const TERNARY: [&str; 4] = ["addcdiv", "addcmul", "masked_fill", "where"];

const COMPARING: [&str; 8] = ["eq", "ge", "gt", "le", "logical_and", "logical_or", "lt", "ne"];

/// Functions that have whole numbers of whole numbers.
const WHOLE: [&str; 15] = [
    "abs",
    "add",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "clamp",
    "clamp_max",
    "clamp_min",
    "maximum",
    "minimum",
    "mul",
    "neg",
    "relu",
    "sub",
    "square",
];

/// The function; with an underscore at the end it writes into its first operand.
fn function(name: &str) -> &str {
    name.strip_suffix('_').unwrap_or(name)
}

pub(super) fn is_unary(name: &str) -> bool {
    UNARY.contains(&function(name))
}

pub(super) fn is_binary(name: &str) -> bool {
    BINARY.contains(&function(name))
}

/// Operands and, where it is given, the result.
pub(super) fn params(name: &str, inputs: &Inputs) -> Option<Params> {
    let is_binary = is_binary(name);
    let operands = if is_ternary(name) {
        3
    } else if is_binary {
        2
    } else {
        1
    };
    let all = Collected::of(inputs);
    if matches!(function(name), "copy" | "fill" | "zero") {
        // The first is where the result goes.
        let from = if function(name) == "copy" { 1 } else { 0 };
        let types = [Some(from), Some(0)];
        return Some(
            all.shape("op_shape", 0)
                .types("dtype_in_out", &types)
                .strides("stride_input", from)
                .strides("stride_output", 0)
                .done(),
        );
    }
    let result = (operands..inputs.len()).find(|at| inputs.dims(*at).is_some());
    let all = if is_binary {
        let types = [Some(0), Some(1), result];
        let shapes = all.shape("shape_in1", 0).shape("shape_in2", 1).types("dtype_in1_in2_out", &types);
        shapes.strides("stride_input1", 0).strides("stride_input2", 1)
    } else {
        all.shape("op_shape", 0).types("dtype_in_out", &[Some(0), result]).strides("stride_input", 0)
    };
    Some(if let Some(result) = result { all.strides("stride_output", result) } else { all }.done())
}

pub(super) fn is_ternary(name: &str) -> bool {
    TERNARY.contains(&function(name))
}

pub(super) fn unary(name: &str, inputs: &Inputs) -> Option<Work> {
    match function(name) {
        "copy" => return copy(inputs),
        "fill" | "zero" => return fill(inputs),
        _ => {}
    }
    let input = inputs.tensor(0)?;
    // Bounds and exponents that are tensors are more to read than one input.
    let parameters = match function(name) {
        "clamp" => 1..3,
        "clamp_max" | "clamp_min" | "pow" => 1..2,
        _ => 1..1,
    };
    if parameters.into_iter().any(|at| inputs.tensor(at).is_some()) {
        return None;
    }
    let output = output(name, inputs, 1, input.dims.to_vec(), own(name, input.dtype))?;
    work(output.elements()?, sum([input.bytes(), output.bytes()])?, input.dtype)
}

/// From the second operand to the first.
fn copy(inputs: &Inputs) -> Option<Work> {
    let (to, from) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let bytes = sum([times([to.elements()?, to.dtype.bytes()]), from.bytes()])?;
    Some(Work::of_elements(from.dtype, 0, bytes))
}

/// Only written.
fn fill(inputs: &Inputs) -> Option<Work> {
    let to = inputs.tensor(0)?;
    Some(Work::of_elements(to.dtype, 0, to.bytes()?))
}

pub(super) fn binary(name: &str, inputs: &Inputs) -> Option<Work> {
    let operands = [operand(inputs, 0)?, operand(inputs, 1)?];
    let dtype = match operands {
        [Operand::Tensor(a), Operand::Tensor(b)] => both(a, b),
        [Operand::Tensor(a), Operand::Number { is_whole }] | [Operand::Number { is_whole }, Operand::Tensor(a)] => {
            Some(a.dtype).filter(|dtype| dtype.is_float() || is_whole)
        }
        _ => None,
    };
    let dims = operands.iter().try_fold(Vec::new(), |dims, operand| match operand {
        Operand::Tensor(tensor) => stretched(&dims, tensor.dims),
        Operand::Number { .. } => Some(dims),
    })?;
    let result = if COMPARING.contains(&function(name)) { Some(Dtype::Bool) } else { dtype.and_then(|dtype| own(name, dtype)) };
    let output = output(name, inputs, 2, dims, result)?;
    let read = operands.iter().map(|operand| match operand {
        Operand::Tensor(tensor) => tensor.bytes(),
        Operand::Number { .. } => Some(0),
    });
    work(output.elements()?, sum(read.chain([output.bytes()]))?, dtype.or(result)?)
}

/// What is chosen is read whole; choosing takes no operation, and a product or quotient that is added three, with its factor.
pub(super) fn ternary(name: &str, inputs: &Inputs) -> Option<Work> {
    let operands = [operand(inputs, 0)?, operand(inputs, 1)?, operand(inputs, 2)?];
    let tensors =
        operands.iter().filter_map(|operand| if let Operand::Tensor(tensor) = operand { Some(*tensor) } else { None });
    let tensors: Vec<Tensor<'_>> = tensors.collect();
    let (own, is_mask, flops) = match function(name) {
        "where" => (operands[1], 0, 0),
        "masked_fill" => (operands[0], 1, 0),
        _ => (operands[0], usize::MAX, 3),
    };
    let Operand::Tensor(own) = own else { return None };
    let others = operands.iter().enumerate().filter(|(at, _)| *at != is_mask).map(|(_, operand)| operand);
    let is_alike = others.filter_map(|operand| if let Operand::Tensor(tensor) = operand { Some(tensor) } else { None });
    // A single number of another type does not change the result's.
    if !is_alike.into_iter().all(|tensor| tensor.dtype == own.dtype || tensor.dims.is_empty()) {
        return None;
    }
    let dims = tensors.iter().try_fold(Vec::new(), |dims, tensor| stretched(&dims, tensor.dims))?;
    let output = output(name, inputs, 3, dims, Some(own.dtype))?;
    let bytes = sum(tensors.iter().map(Tensor::bytes).chain([output.bytes()]))?;
    work(times([flops, output.elements()?])?, bytes, own.dtype)
}

#[derive(Clone, Copy)]
enum Operand<'a> {
    Tensor(Tensor<'a>),
    /// Given with the call, not in memory.
    Number {
        is_whole: bool,
    },
}

fn operand(inputs: &Inputs, at: usize) -> Option<Operand<'_>> {
    if inputs.is_scalar(at) {
        let is_whole = inputs.concrete(at).is_some_and(|text| text.parse::<i64>().is_ok());
        return Some(Operand::Number { is_whole });
    }
    inputs.tensor(at).map(Operand::Tensor)
}

/// The type that two tensors are computed in. One of a single number gives way to one with lengths.
fn both(a: Tensor<'_>, b: Tensor<'_>) -> Option<Dtype> {
    let gives_way = |single: Tensor<'_>, other: Tensor<'_>| {
        single.dims.is_empty() && !other.dims.is_empty() && (other.dtype.is_float() || !single.dtype.is_float())
    };
    if gives_way(a, b) {
        Some(b.dtype)
    } else if gives_way(b, a) {
        Some(a.dtype)
    } else {
        a.dtype.with(b.dtype)
    }
}

/// The type of the result of operands of `dtype`; none where the function makes another of it.
fn own(name: &str, dtype: Dtype) -> Option<Dtype> {
    (dtype.is_float() || WHOLE.contains(&function(name))).then_some(dtype)
}

/// What is written.
struct Output {
    dims: Vec<u64>,
    dtype: Dtype,
}

impl Output {
    fn elements(&self) -> Option<u64> {
        times(self.dims.iter().copied())
    }

    fn bytes(&self) -> Option<u64> {
        times([self.elements()?, self.dtype.bytes()])
    }
}

/// The result of the shape and type given, unless it goes into the first operand, or into one that follows the `operands`.
fn output(name: &str, inputs: &Inputs, operands: usize, dims: Vec<u64>, dtype: Option<Dtype>) -> Option<Output> {
    let given = if name.ends_with('_') { inputs.tensor(0) } else { (operands..inputs.len()).find_map(|at| inputs.tensor(at)) };
    // Where a result is to be made by the call, it may have no lengths yet.
    let dtype = given.map(|given| given.dtype).or(dtype)?;
    (dtype != Dtype::Fp8).then_some(Output { dims, dtype })
}

/// The shape that both are stretched to.
fn stretched(a: &[u64], b: &[u64]) -> Option<Vec<u64>> {
    let rank = a.len().max(b.len());
    let length = |dims: &[u64], at: usize| (at + dims.len()).checked_sub(rank).map_or(1, |at| dims[at]);
    let both = |at: usize| match (length(a, at), length(b, at)) {
        (1, other) | (other, 1) => Some(other),
        (one, other) => (one == other).then_some(one),
    };
    (0..rank).map(both).collect()
}

fn work(flops: u64, bytes: u64, dtype: Dtype) -> Option<Work> {
    (dtype != Dtype::Fp8).then(|| Work::of_elements(dtype, flops, bytes))
}

#[cfg(test)]
mod tests {
    use crate::models::counted::counted;

    fn of(name: &str, dims: &str, types: &[&str], concrete: &[&str]) -> Option<(u64, u64)> {
        counted(&format!("aten::{name}"), dims, types, concrete)
    }

    #[test]
    fn functions_of_one_input_are_counted_as_by_hand() {
        let half = "c10::Half";
        assert_eq!(of("silu", "[[2, 3]]", &[half], &[""]), Some((6, 24)));
        assert_eq!(of("pow", "[[2, 3], []]", &["float", "Scalar"], &["", "2"]), Some((6, 48)));
        assert_eq!(of("pow", "[[2, 3], [2, 3]]", &["float", "float"], &["", ""]), None);
        assert_eq!(of("clamp_min_", "[[2, 3], []]", &[half, "Scalar"], &["", "0"]), Some((6, 24)));
        // The root of whole numbers is none.
        assert_eq!(of("sqrt", "[[6]]", &["int"], &[""]), None);
        assert_eq!(of("neg", "[[6]]", &["int"], &[""]), Some((6, 48)));
        // Six halves become floats; nothing is computed.
        assert_eq!(of("copy_", "[[2, 3], [2, 3], []]", &["float", half, "Scalar"], &["", "", "False"]), Some((0, 24 + 12)));
        assert_eq!(of("fill_", "[[2, 3], []]", &[half, "Scalar"], &["", "0"]), Some((0, 12)));
        // Three are read and written twice.
        assert_eq!(of("copy_", "[[2, 3], [3], []]", &[half, half, "Scalar"], &["", "", "False"]), Some((0, 12 + 6)));
    }

    #[test]
    fn functions_of_two_inputs_are_counted_as_by_hand() {
        let half = "c10::Half";
        assert_eq!(of("add", "[[2, 3], [2, 3], []]", &[half, half, "Scalar"], &["", "", "1"]), Some((6, 36)));
        // 2 by 1 and 3 make 2 by 3.
        assert_eq!(of("mul", "[[2, 1], [3]]", &["float", "float"], &["", ""]), Some((6, (2 + 3 + 6) * 4)));
        // A single number of 8 bytes does not make halves doubles.
        assert_eq!(of("mul", "[[2, 3], []]", &[half, "double"], &["", ""]), Some((6, 12 + 8 + 12)));
        assert_eq!(of("div", "[[2, 3], []]", &[half, "Scalar"], &["", "49"]), Some((6, 24)));
        assert_eq!(of("div", "[[2, 3], []]", &["int", "Scalar"], &["", "2"]), None);
        assert_eq!(of("add", "[[2, 3], []]", &["int", "Scalar"], &["", "0.5"]), None);
        // Half and float make float.
        assert_eq!(of("sub", "[[6], [6], []]", &[half, "float", "Scalar"], &["", "", "1"]), Some((6, 12 + 24 + 24)));
        assert_eq!(of("eq", "[[6], [6]]", &["long int", "long int"], &["", ""]), Some((6, 48 + 48 + 6)));
        assert_eq!(of("mul", "[[6], [6], [6]]", &[half, half, "float"], &["", "", ""]), Some((6, 12 + 12 + 24)));
        assert_eq!(of("add", "[[2], [3]]", &[half, half], &["", ""]), None);
    }

    #[test]
    fn functions_of_three_inputs_are_counted_as_by_hand() {
        let half = "c10::Half";
        assert_eq!(of("where", "[[2, 1], [2, 3], []]", &["bool", half, half], &["", "", ""]), Some((0, 2 + 12 + 2 + 12)));
        assert_eq!(
            of("masked_fill_", "[[2, 3], [2, 1], []]", &[half, "bool", "Scalar"], &["", "", "0"]),
            Some((0, 12 + 2 + 12))
        );
        let addcmul = of("addcmul", "[[6], [6], [6], []]", &["float", "float", "float", "Scalar"], &["", "", "", "1"]);
        assert_eq!(addcmul, Some((18, 4 * 24)));
        assert_eq!(of("where", "[[6], [6], [6]]", &["bool", half, "float"], &["", "", ""]), None);
    }
}
