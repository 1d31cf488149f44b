//! Sums, means and extremes, and softmax, which has two of them.
//!
//! A reduction takes one operation for each element that it reads. Softmax takes 5: the greatest, the difference from it, its
//! exponential, their sum and the quotient; its gradient 4.

use super::count::{product as times, sum};
use super::inputs::Tensor;
use super::{Dtype, Engine, Inputs, Work};

pub(super) fn is_reduction(name: &str) -> bool {
    matches!(name, "sum" | "mean" | "amax" | "amin")
}

pub(super) fn is_softmax(name: &str) -> bool {
    matches!(name, "_softmax" | "_log_softmax" | "_softmax_backward_data" | "_log_softmax_backward_data")
}

pub(super) fn reduction(name: &str, inputs: &Inputs) -> Option<Work> {
    let input = inputs.tensor(0)?;
    let has_list = inputs.recorded_type(1) == Some("ScalarList");
    let results = if has_list { results(input, &inputs.numbers(1)?)? } else { 1 };
    let is_sum = matches!(name, "sum" | "mean");
    let asked = inputs.concrete(if has_list { 3 } else { 1 }).filter(|_| is_sum);
    let given = (1..inputs.len()).find_map(|at| inputs.tensor(at)).map(|tensor| tensor.dtype);
    let dtype = match (given, asked) {
        (Some(given), _) => given,
        (None, Some(code)) => Dtype::of_code(code)?,
        (None, None) if is_sum && !input.dtype.is_float() => Dtype::Int64,
        (None, None) => input.dtype,
    };
    let bytes = sum([input.bytes(), times([results, dtype.bytes()])])?;
    Some(Work { flops: input.elements()?, bytes, engine: Engine::Vector, dtype: input.dtype })
}

/// How many results remain where the lengths at `places` are reduced; at none are all.
fn results(input: Tensor<'_>, places: &[i64]) -> Option<u64> {
    if places.is_empty() {
        return Some(1);
    }
    let rank = i64::try_from(input.dims.len()).ok()?;
    let mut is_reduced = vec![false; input.dims.len()];
    for place in places {
        let at = usize::try_from(if *place < 0 { place.checked_add(rank)? } else { *place }).ok()?;
        *is_reduced.get_mut(at)? = true;
    }
    times(input.dims.iter().zip(is_reduced).filter(|(_, is_reduced)| !is_reduced).map(|(length, _)| *length))
}

pub(super) fn softmax(name: &str, inputs: &Inputs) -> Option<Work> {
    let input = inputs.tensor(0)?;
    let elements = input.elements()?;
    let (per_element, read, result) = if name.ends_with("_backward_data") {
        (4, sum([input.bytes(), inputs.tensor(1)?.bytes()]), Dtype::of_code(inputs.concrete(3)?)?)
    } else {
        let is_widened = inputs.flag(2)?;
        (5, input.bytes(), if is_widened { Dtype::Fp32 } else { input.dtype })
    };
    let bytes = sum([read, times([elements, result.bytes()])])?;
    Some(Work { flops: times([per_element, elements])?, bytes, engine: Engine::Vector, dtype: input.dtype })
}

#[cfg(test)]
mod tests {
    use crate::models::counted::counted;

    fn of(name: &str, dims: &str, types: &[&str], concrete: &[&str]) -> Option<(u64, u64)> {
        counted(&format!("aten::{name}"), dims, types, concrete)
    }

    #[test]
    fn reductions_are_counted_as_by_hand() {
        let list = ["c10::Half", "ScalarList", "Scalar", ""];
        let dims = "[[2, 3, 5], [], [], []]";
        // 30 elements of 2 bytes; 6, 15 or 1 remain.
        assert_eq!(of("mean", dims, &list, &["", "[-1]", "True", ""]), Some((30, 60 + 12)));
        assert_eq!(of("sum", dims, &list, &["", "[0]", "False", ""]), Some((30, 60 + 30)));
        assert_eq!(of("sum", dims, &list, &["", "[]", "False", ""]), Some((30, 60 + 2)));
        // As floats.
        assert_eq!(of("sum", dims, &list, &["", "[0, 1]", "False", "6"]), Some((30, 60 + 20)));
        assert_eq!(of("sum", "[[2, 3], []]", &["int", ""], &["", ""]), Some((6, 24 + 8)));
        // There is no fourth length.
        assert_eq!(of("sum", dims, &list, &["", "[3]", "False", ""]), None);
    }

    #[test]
    fn softmax_is_counted_as_by_hand() {
        let types = ["c10::Half", "Scalar", "Scalar"];
        assert_eq!(of("_softmax", "[[2, 3], [], []]", &types, &["", "1", "False"]), Some((30, 24)));
        assert_eq!(of("_log_softmax", "[[2, 3], [], []]", &types, &["", "1", "True"]), Some((30, 12 + 24)));
        let types = ["float", "float", "Scalar", "Scalar"];
        let back = of("_softmax_backward_data", "[[2, 3], [2, 3], [], []]", &types, &["", "", "1", "6"]);
        assert_eq!(back, Some((24, 72)));
    }
}
