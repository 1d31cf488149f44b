//! Sums, means and extremes, and softmax, which has two of them.
//!
//! A reduction takes one operation for each element that it reads. Softmax takes 5: the greatest, the difference from it, its
//! exponential, their sum and the quotient; its gradient 4.

use super::count::{product as times, sum};
use super::params::{Collected, Params};
use super::{Dtype, Inputs, Work};

pub(super) fn is_reduction(name: &str) -> bool {
    matches!(name, "sum" | "mean" | "amax" | "amin" | "max" | "min" | "argmax" | "argmin")
}

pub(super) fn is_softmax(name: &str) -> bool {
    matches!(name, "_softmax" | "_log_softmax" | "_softmax_backward_data" | "_log_softmax_backward_data")
}

pub(super) fn reduction(name: &str, inputs: &Inputs) -> Option<Work> {
    if matches!(name, "max" | "min" | "argmax" | "argmin") {
        return extreme(name, inputs);
    }
    let input = inputs.tensor(0)?;
    let has_list = inputs.recorded_type(1) == Some("ScalarList");
    let results = remaining(name, inputs)?;
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
    Some(Work::of_elements(input.dtype, input.elements()?, bytes))
}

pub(super) fn params(name: &str, inputs: &Inputs) -> Option<Params> {
    let shape = Collected::of(inputs);
    if is_softmax(name) {
        let dim = if name.ends_with("_backward_data") { 2 } else { 1 };
        return Some(
            shape.shape("op_shape", 0).types("dtype_in", &[Some(0)]).strides("stride_input", 0).whole("dim", dim).done(),
        );
    }
    let dims = inputs.dims(0)?;
    let remain = remaining(name, inputs);
    let given = (1..inputs.len()).find(|at| inputs.dims(*at).is_some());
    let shape = shape.with("num_input_elems", times(dims.iter().copied())?);
    let shape = match remain {
        Some(remain) => shape.with("num_output_elems", remain),
        None => shape,
    };
    Some(shape.types("dtype_in_out", &[Some(0), given]).with("reduce_type", name).done())
}

/// The greatest or least of all elements, or along one dimension; where that is given, its place, too.
fn extreme(name: &str, inputs: &Inputs) -> Option<Work> {
    let input = inputs.tensor(0)?;
    let along = remaining(name, inputs)?;
    let places = name.starts_with("arg") || !inputs.is_absent(1);
    let each = [(!name.starts_with("arg")).then_some(input.dtype), places.then_some(Dtype::Int64)];
    let result = each.into_iter().flatten().map(Dtype::bytes).sum();
    Some(Work::of_elements(input.dtype, input.elements()?, sum([input.bytes(), times([along, result])])?))
}

/// How many results the reduction called `name` has.
fn remaining(name: &str, inputs: &Inputs) -> Option<u64> {
    let dims = inputs.dims(0)?;
    match inputs.recorded_type(1) {
        Some("ScalarList") => results(dims, &inputs.numbers(1)?),
        Some("Scalar") if !matches!(name, "sum" | "mean") => results(dims, &[inputs.concrete(1)?.parse().ok()?]),
        // Two tensors have the greater of each pair.
        Some(_) if inputs.dims(1).is_some() && matches!(name, "max" | "min") => None,
        _ => Some(1),
    }
}

/// How many results remain where the lengths at `places` are reduced; at none are all.
fn results(dims: &[u64], places: &[i64]) -> Option<u64> {
    if places.is_empty() {
        return Some(1);
    }
    let rank = i64::try_from(dims.len()).ok()?;
    let mut is_reduced = vec![false; dims.len()];
    for place in places {
        let at = usize::try_from(if *place < 0 { place.checked_add(rank)? } else { *place }).ok()?;
        *is_reduced.get_mut(at)? = true;
    }
    times(dims.iter().zip(is_reduced).filter(|(_, is_reduced)| !is_reduced).map(|(length, _)| *length))
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
    Some(Work::of_elements(input.dtype, times([per_element, elements])?, bytes))
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
    fn extremes_are_counted_as_by_hand() {
        let half = "c10::Half";
        assert_eq!(of("max", "[[2, 3, 5]]", &[half], &[""]), Some((30, 60 + 2)));
        // Along the last, 6 remain, each with its place.
        let along = ["", "-1", "False"];
        assert_eq!(of("max", "[[2, 3, 5], [], []]", &[half, "Scalar", "Scalar"], &along), Some((30, 60 + 6 * 10)));
        assert_eq!(of("argmin", "[[2, 3, 5], [], []]", &[half, "Scalar", "Scalar"], &along), Some((30, 60 + 6 * 8)));
        assert_eq!(of("argmax", "[[2, 3, 5], [], []]", &[half, "", "Scalar"], &["", "", "False"]), Some((30, 60 + 8)));
        // The greater of each pair is no reduction.
        assert_eq!(of("max", "[[2, 3], [2, 3]]", &[half, half], &["", ""]), None);
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
