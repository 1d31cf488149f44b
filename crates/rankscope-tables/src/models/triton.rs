//! Kernels that TorchInductor fused: bytes by their inputs; operations are not known.
//!
//! The last inputs of such a kernel are how many elements it is for, in one, two or three directions. Where that is as many as its
//! greatest tensor has, each tensor is moved once at least: what is read and written under one name is recorded once. Where a tensor is
//! greater, the kernel uses a part of it, and which is not recorded; nor is that of kernels which look up elements by their numbers.

use super::count::{product as times, sum};
use super::inputs::Tensor;
use super::params::{Collected, Params};
use super::{Engine, Figures, Inputs, Work};

pub(super) fn is_known(operator: &str) -> bool {
    ["triton_poi_", "triton_red_", "triton_per_"].iter().any(|start| operator.starts_with(start))
}

/// Functions that use a part of what they are given.
const LOOKS_UP: [&str; 7] = ["embedding", "index", "gather", "scatter", "select", "slice", "sort"];

pub(super) fn work(operator: &str, inputs: &Inputs) -> Option<Work> {
    if LOOKS_UP.iter().any(|part| operator.contains(part)) {
        return None;
    }
    let tensors = tensors(inputs)?;
    let greatest = tensors.iter().map(Tensor::elements).collect::<Option<Vec<u64>>>()?.into_iter().max()?;
    let is_whole = (1..=3).any(|directions| counts(inputs, directions).and_then(times) == Some(greatest));
    let dtype = tensors.iter().max_by_key(|tensor| tensor.elements())?.dtype;
    let bytes = sum(tensors.iter().map(Tensor::bytes))?;
    let work = Work { flops: None, bytes, engine: Engine::Vector, dtype, figures: Figures::AtLeast };
    is_whole.then_some(work)
}

/// All tensors; none where one of them is not known.
fn tensors(inputs: &Inputs) -> Option<Vec<Tensor<'_>>> {
    let given = (0..inputs.len()).filter(|at| !inputs.is_scalar(*at) && !inputs.is_absent(*at));
    given.map(|at| inputs.tensor(at)).collect::<Option<Vec<_>>>().filter(|tensors| !tensors.is_empty())
}

/// The last `directions` inputs, if they are numbers.
fn counts(inputs: &Inputs, directions: usize) -> Option<Vec<u64>> {
    let first = inputs.len().checked_sub(directions)?;
    (first..inputs.len()).map(|at| inputs.number(at).filter(|_| inputs.is_scalar(at))).collect()
}

pub(super) fn params(operator: &str, inputs: &Inputs) -> Option<Params> {
    let sort = match operator.get(7..10)? {
        "poi" => "pointwise",
        "red" => "reduction",
        _ => "persistent reduction",
    };
    let all = Collected::of(inputs).with("kind", sort);
    Some(
        match counts(inputs, 1) {
            Some(count) => all.with("numel", *count.first()?),
            None => all,
        }
        .done(),
    )
}

#[cfg(test)]
mod tests {
    use crate::{Figures, Inputs, Model};

    fn of(operator: &str, dims: &str, types: &[&str], concrete: &[&str]) -> Option<(Option<u64>, u64, Figures)> {
        let inputs = Inputs::parse(dims, &format!("{types:?}"), None, Some(&format!("{concrete:?}")))?;
        Model::of(operator)?.work(operator, &inputs).map(|work| (work.flops, work.bytes, work.figures))
    }

    #[test]
    fn fused_kernels_move_their_tensors_at_least() {
        let types = ["float", "float", "c10::Half", "Scalar"];
        let pointwise = "triton_poi_fused_add_cos_0";
        // Two of 100 floats, and 10 halves that are repeated.
        let of_hundred = of(pointwise, "[[10, 10], [10, 10], [10], []]", &types, &["", "", "", "100"]);
        assert_eq!(of_hundred, Some((None, 820, Figures::AtLeast)));
        // A reduction of 100 to 10: 10 by 10.
        let types = ["float", "float", "Scalar", "Scalar"];
        let reduction = of("triton_red_fused_sum_1", "[[10, 10], [10], [], []]", &types, &["", "", "10", "10"]);
        assert_eq!(reduction, Some((None, 440, Figures::AtLeast)));
    }

    #[test]
    fn kernels_that_use_a_part_of_a_tensor_have_no_figure() {
        let types = ["float", "float", "Scalar"];
        assert_eq!(of("triton_poi_fused_add_0", "[[50, 10], [10], []]", &types, &["", "", "10"]), None);
        assert_eq!(of("triton_poi_fused_embedding_0", "[[5], [10], []]", &types, &["", "", "10"]), None);
        assert_eq!(of("triton_poi_fused_add_0", "[[10], [10], []]", &["float", "?", "Scalar"], &["", "", "10"]), None);
        assert_eq!(of("triton_tem_fused_mm_0", "[[10], [10], []]", &types, &["", "", "10"]), None);
    }
}
