//! Many tensors at once, as optimisers step and as they are joined: `_foreach_*`, `_fused_adam_` and its like, `cat`.
//!
//! The profiler records the lengths of each tensor of a list, but of lists of more than 30 nothing, and never the type of what is in
//! them. That is named by the kernel (see `kernel_type`); where either is missing there is no figure. All tensors of one step have one
//! type, as the kernels want it; the steps' own numbers and what an optimiser is told are too few bytes to count.

use super::count::{product as times, sum};
use super::inputs::Tensor;
use super::params::{Collected, Params};
use super::{Inputs, Work};

/// What is done to each element of `_foreach_*`: how many lists are read, how many operations.
fn foreach(name: &str) -> Option<(usize, u64)> {
    let function = name.strip_prefix("_foreach_")?;
    Some(match function.strip_suffix('_').unwrap_or(function) {
        "add" | "sub" | "mul" | "div" | "maximum" | "minimum" | "clamp_min" | "clamp_max" | "pow" => (1, 1),
        "abs" | "neg" | "sqrt" | "exp" | "log" | "reciprocal" | "sigmoid" | "tanh" | "rsqrt" => (1, 1),
        "addcmul" | "addcdiv" => (3, 3),
        "lerp" => (2, 3),
        "zero" => (0, 0),
        "norm" => (1, 2),
        _ => return None,
    })
}

pub(super) fn is_known(name: &str) -> bool {
    foreach(name).is_some() || matches!(name, "_fused_adam_" | "_fused_adamw_" | "_fused_sgd_" | "cat")
}

pub(super) fn work(name: &str, inputs: &Inputs) -> Option<Work> {
    match name {
        "cat" => cat(inputs),
        "_fused_adam_" | "_fused_adamw_" => adam(inputs),
        "_fused_sgd_" => sgd(inputs),
        _ => each(name, inputs),
    }
}

pub(super) fn params(name: &str, inputs: &Inputs) -> Option<Params> {
    let list = inputs.list(0)?;
    let all = Collected::of(inputs).with("tensors", list.len() as u64);
    let all = all.with("elements", sum(list.iter().map(|dims| times(dims.iter().copied())))?);
    let all = match inputs.list_type() {
        Some(dtype) => all.with("dtype", dtype.name()),
        None => all,
    };
    Some(if name == "cat" { all.whole("dim", 1) } else { all }.done())
}

/// How many elements the tensors of the list at `at` have.
fn elements(inputs: &Inputs, at: usize) -> Option<u64> {
    elements_of(&inputs.tensors(at)?)
}

fn elements_of(tensors: &[Tensor<'_>]) -> Option<u64> {
    sum(tensors.iter().map(Tensor::elements))
}

/// Read and written once.
fn cat(inputs: &Inputs) -> Option<Work> {
    let dtype = inputs.list_type()?;
    Some(Work::of_elements(dtype, 0, times([2, elements(inputs, 0)?, dtype.bytes()])?))
}

fn each(name: &str, inputs: &Inputs) -> Option<Work> {
    let (reads, flops) = foreach(name)?;
    let dtype = inputs.list_type()?;
    let (tensors, elements) = (inputs.tensors(0)?.len() as u64, elements(inputs, 0)?);
    // A second operand is a list as long, or one number for all.
    let has_second = inputs.recorded_type(1) == Some("TensorList");
    if (1..reads.max(1 + usize::from(has_second))).any(|at| self::elements(inputs, at) != Some(elements)) {
        return None;
    }
    let read = reads.max(if has_second { 2 } else { 0 }) as u64;
    let written = if name.starts_with("_foreach_norm") { tensors } else { elements };
    let bytes = times([sum([times([read, elements]), Some(written)])?, dtype.bytes()])?;
    Some(Work::of_elements(dtype, times([flops, elements])?, bytes))
}

/// Parameters, gradients and both moments are read, all but the gradients written. The first moment takes 3 operations for each element,
/// the second 4, the step 6; decay 2 more, and the greatest second moment, which is then read and written, 1.
fn adam(inputs: &Inputs) -> Option<Work> {
    let all = elements(inputs, 0)?;
    if (1..4).any(|at| elements(inputs, at) != Some(all)) {
        return None;
    }
    let (decays, keeps_greatest) = (inputs.real(9)? != 0.0, inputs.flag(11)?);
    let flops = 13 + if decays { 2 } else { 0 } + u64::from(keeps_greatest);
    let moved = 7 + if keeps_greatest { 2 } else { 0 } + u64::from(!inputs.is_absent(13));
    step(inputs, all, flops, moved)
}

/// Parameters and gradients are read, parameters written: 2 operations for each element. Momentum takes 3 and is read, but in the first
/// step, and written; Nesterov's 2 more, and so does decay.
fn sgd(inputs: &Inputs) -> Option<Work> {
    let all = elements(inputs, 0)?;
    let (decays, has_momentum) = (inputs.real(3)? != 0.0, inputs.real(4)? != 0.0);
    let (is_nesterov, is_first) = (inputs.flag(7)?, inputs.flag(9)?);
    if elements(inputs, 1) != Some(all) || (has_momentum && elements(inputs, 2) != Some(all)) {
        return None;
    }
    let momentum = if !has_momentum {
        (0, 0)
    } else if is_first {
        (0, 1)
    } else {
        (3, 2)
    };
    let flops = 2 + momentum.0 + if has_momentum && is_nesterov { 2 } else { 0 } + if decays { 2 } else { 0 };
    step(inputs, all, flops, 3 + momentum.1 + u64::from(!inputs.is_absent(10)))
}

/// A step of `all` elements; gradients that are to be scaled are written back, too.
fn step(inputs: &Inputs, all: u64, flops: u64, moved: u64) -> Option<Work> {
    let dtype = inputs.list_type()?;
    Some(Work::of_elements(dtype, times([flops, all])?, times([moved, all, dtype.bytes()])?))
}

#[cfg(test)]
mod tests {
    use crate::{Dtype, Inputs, Model};

    fn of(operator: &str, dims: &str, types: &[&str], concrete: &[&str], dtype: Option<Dtype>) -> Option<(u64, u64)> {
        let inputs = Inputs::parse(dims, &format!("{types:?}"), None, Some(&format!("{concrete:?}")))?.with_lists_of(dtype);
        let work = Model::of(operator)?.work(operator, &inputs)?;
        Some((work.flops?, work.bytes))
    }

    const FLOAT: Option<Dtype> = Some(Dtype::Fp32);

    #[test]
    fn functions_of_many_tensors_are_counted_as_by_hand() {
        // 16 and 4 elements, twice, and the sum.
        let (dims, types) = ("[[[4, 4], [4]], [[4, 4], [4]], []]", ["TensorList", "TensorList", "Scalar"]);
        assert_eq!(of("aten::_foreach_add_", dims, &types, &["", "", "-0.001"], FLOAT), Some((20, 3 * 80)));
        let (dims, types) = ("[[[4, 4], [4]], []]", ["TensorList", "Scalar"]);
        assert_eq!(of("aten::_foreach_mul_", dims, &types, &["", "0.9"], FLOAT), Some((20, 2 * 80)));
        assert_eq!(of("aten::_foreach_zero_", "[[[4, 4], [4]]]", &["TensorList"], &[""], FLOAT), Some((0, 80)));
        assert_eq!(of("aten::_foreach_norm", dims, &types, &["", "2"], FLOAT), Some((40, 80 + 8)));
        let (dims, types) = ("[[[5]], [[5]], [[5]], []]", ["TensorList", "TensorList", "TensorList", "Scalar"]);
        assert_eq!(of("aten::_foreach_addcdiv_", dims, &types, &["", "", "", "-0.1"], FLOAT), Some((15, 4 * 20)));
    }

    #[test]
    fn steps_of_optimisers_are_counted_as_by_hand() {
        let list = "[[2, 3], [4]]";
        let types = |lists: usize, count: usize| -> Vec<&str> {
            (0..count)
                .map(|at| {
                    if at < lists {
                        "TensorList"
                    } else if at < count - 2 {
                        "Scalar"
                    } else {
                        ""
                    }
                })
                .collect()
        };
        let dims = format!("[{list}, {list}, {list}, {list}, [], [[], []]{}]", ", []".repeat(9));
        let told = ["", "", "", "", "", "", "0.001", "0.9", "0.999", "0.01", "1e-08", "False", "False", "", ""];
        // 10 elements: 4 lists read, 3 written.
        assert_eq!(of("aten::_fused_adamw_", &dims, &types(6, 15), &told, FLOAT), Some((15 * 10, 7 * 40)));
        let mut plain = told;
        plain[9] = "0";
        assert_eq!(of("aten::_fused_adam_", &dims, &types(6, 15), &plain, FLOAT), Some((13 * 10, 7 * 40)));
        let dims = format!("[{list}, {list}, []{}]", ", []".repeat(9));
        let told = ["", "", "", "0.", "0.", "0.1", "0.", "False", "False", "False", "", ""];
        assert_eq!(of("aten::_fused_sgd_", &dims, &types(3, 12), &told, FLOAT), Some((20, 3 * 40)));
        let dims = format!("[{list}, {list}, {list}{}]", ", []".repeat(9));
        let told = ["", "", "", "0.", "0.9", "0.1", "0.", "True", "False", "False", "", ""];
        assert_eq!(of("aten::_fused_sgd_", &dims, &types(3, 12), &told, FLOAT), Some((70, 5 * 40)));
    }

    #[test]
    fn joined_tensors_are_read_and_written_once() {
        let types = ["TensorList", "Scalar"];
        let of = |dims: &str, dtype| of("aten::cat", dims, &types, &["", "-1"], dtype);
        assert_eq!(of("[[[1, 5, 3], [1, 5, 3]], []]", Some(Dtype::Int16)), Some((0, 2 * 60)));
    }

    #[test]
    fn lists_that_were_cut_and_lists_of_unknown_type_have_no_figure() {
        let types = ["TensorList", "TensorList", "Scalar"];
        let told = ["", "", "1"];
        // More than 30 tensors are written as none.
        assert_eq!(of("aten::_foreach_add_", "[[], [], []]", &types, &told, FLOAT), None);
        assert_eq!(of("aten::_foreach_add_", "[[[4]], [], []]", &types, &told, FLOAT), None);
        assert_eq!(of("aten::_foreach_add_", "[[[4]], [[4]], []]", &types, &told, None), None);
    }
}
