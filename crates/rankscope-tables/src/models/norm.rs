//! Normalisation over a batch, a layer or groups.
//!
//! Over a batch: mean, variance and the result take 5 operations for each element and 6 for each channel, which scale, shift and
//! update the running statistics; with the statistics of training at hand 2 for each element, as scale and shift are one with the
//! rest. Gradients take 9. Over a layer or groups, scale and shift are of single elements: 5, and 1 for each of the two. Gradients
//! take 10, 2 more for that of the scale and 1 for that of the shift. By the root of the mean square: 3, and 1 for the scale.

use super::count::{product as times, sum};
use super::inputs::Tensor;
use super::params::{Collected, Params};
use super::{Dtype, Inputs, Work};

pub(super) fn is_forward(name: &str) -> bool {
    matches!(name, "batch_norm" | "native_batch_norm" | "native_layer_norm" | "native_group_norm" | "_fused_rms_norm")
}

/// vLLM's own: `rms_norm` has a result, an input and a scale; `fused_add_rms_norm` changes both its input and the rest that is added.
pub(super) fn is_of_vllm(operator: &str) -> bool {
    matches!(operator, "_C::rms_norm" | "_C::fused_add_rms_norm")
}

pub(super) fn is_backward(name: &str) -> bool {
    matches!(
        name,
        "native_batch_norm_backward"
            | "cudnn_batch_norm_backward"
            | "miopen_batch_norm_backward"
            | "native_layer_norm_backward"
    )
}

pub(super) fn forward(name: &str, inputs: &Inputs) -> Option<Work> {
    match name {
        "native_layer_norm" => layer(inputs, (2, 3), rows(inputs.tensor(0)?, inputs.numbers(1)?.len())?),
        "_fused_rms_norm" => root(inputs, 2, rows(inputs.tensor(0)?, inputs.numbers(1)?.len())?),
        "_C::rms_norm" => root_of(inputs.tensor(1)?, inputs.tensor(2), 0, 0),
        "_C::fused_add_rms_norm" => root_of(inputs.tensor(0)?, inputs.tensor(2), 0, 1),
        "native_group_norm" => layer(inputs, (1, 2), times([inputs.number(3)?, inputs.number(6)?])?),
        _ => batch(inputs),
    }
}

pub(super) fn backward(name: &str, inputs: &Inputs) -> Option<Work> {
    if name == "native_layer_norm_backward" { layer_backward(inputs) } else { batch_backward(name, inputs) }
}

pub(super) fn params(name: &str, inputs: &Inputs) -> Option<Params> {
    let is_batch = name.contains("batch_norm");
    let is_forward = is_forward(name);
    let input = if is_forward || name == "_C::fused_add_rms_norm" { 0 } else { 1 };
    let all = Collected::of(inputs)
        .shape("op_shape", input)
        .types("dtype_in_out", &[Some(input), None])
        .strides("stride_input", input);
    let (scale, shift) = match name {
        "native_layer_norm" => (2, Some(3)),
        "native_group_norm" => (1, Some(2)),
        "_fused_rms_norm" | "_C::rms_norm" | "_C::fused_add_rms_norm" => (2, None),
        "native_layer_norm_backward" => (5, Some(6)),
        _ if is_forward => (1, Some(2)),
        _ => (2, None),
    };
    let all = match inputs.dims(input)?.get(1) {
        Some(channels) if is_batch || name == "native_group_norm" => all.with("num_channels", *channels),
        _ => all,
    };
    // Who asks for the gradient of the shift has one.
    let has_shift = shift
        .map(|shift| !inputs.is_absent(shift))
        .or_else(|| inputs.flags(9)?.get(2).copied())
        .filter(|_| is_batch || shift.is_some());
    let all = match has_shift {
        Some(has_shift) => all.with("has_bias", has_shift),
        None => all,
    };
    let all = all.with("is_affine", !inputs.is_absent(scale));
    Some(
        match name {
            "native_layer_norm" | "_fused_rms_norm" => all.numbers("normalized_shape", 1),
            "_C::rms_norm" | "_C::fused_add_rms_norm" => all,
            "native_group_norm" => all.whole("groups", 6),
            "native_layer_norm_backward" => all.numbers("normalized_shape", 2).flags("output_mask", 7),
            "native_batch_norm_backward" => all.flag("is_training", 7).flags("output_mask", 9),
            _ if is_forward => all.flag("is_training", 5),
            _ => all,
        }
        .done(),
    )
}

/// Input, weight, bias, running mean, running variance, whether it trains.
fn batch(inputs: &Inputs) -> Option<Work> {
    let input = inputs.tensor(0)?;
    let is_training = inputs.flag(5)?;
    let (per_element, per_channel) = if is_training { (5, 6) } else { (2, 0) };
    let [weight, bias, mean, variance] = [1, 2, 3, 4].map(|at| inputs.optional_bytes(at));
    let statistics = times([if is_training { 2 } else { 1 }, sum([mean, variance])?]);
    let flops = sum([times([per_element, input.elements()?]), times([per_channel, *input.dims.get(1)?])]);
    work(input, flops, sum([times([2, input.bytes()?]), weight, bias, statistics]))
}

/// Gradient and input in either order, weight, two running statistics, the two of the batch.
fn batch_backward(name: &str, inputs: &Inputs) -> Option<Work> {
    let (input, other) = (inputs.tensor(1)?, inputs.tensor(0)?);
    let is_native = name == "native_batch_norm_backward";
    let is_plain = input.dims == other.dims && (!is_native || (inputs.flag(7)? && inputs.flags(9)? == [true; 3]));
    if !is_plain {
        return None;
    }
    let (weight, mean, deviation) = (inputs.optional_bytes(2)?, inputs.optional_bytes(5), inputs.optional_bytes(6));
    // Read once, and two gradients like it are written.
    let bytes = sum([times([2, input.bytes()?]), other.bytes(), times([3, weight]), mean, deviation]);
    work(input, times([9, input.elements()?]), bytes)
}

/// Of `rows` that each have a mean and a deviation.
fn layer(inputs: &Inputs, (scale, shift): (usize, usize), rows: u64) -> Option<Work> {
    let input = inputs.tensor(0)?;
    let given = [scale, shift].iter().filter(|at| !inputs.is_absent(**at)).count() as u64;
    let statistics = times([2, rows, statistic(input).bytes()]);
    let bytes = sum([times([2, input.bytes()?]), inputs.optional_bytes(scale), inputs.optional_bytes(shift), statistics]);
    work(input, times([5 + given, input.elements()?]), bytes)
}

/// By the root of the mean square: 3 operations for each element, and 1 for the scale; each of `rows` has a deviation.
fn root(inputs: &Inputs, scale: usize, rows: u64) -> Option<Work> {
    let input = inputs.tensor(0)?;
    let scale = if inputs.is_absent(scale) { None } else { Some(inputs.tensor(scale)?) };
    root_of(input, scale, times([rows, statistic(input).bytes()])?, 0)
}

/// What is `added` before is read and written, too.
fn root_of(input: Tensor<'_>, scale: Option<Tensor<'_>>, statistics: u64, added: u64) -> Option<Work> {
    let bytes = sum([times([2 + 2 * added, input.bytes()?]), scale.map_or(Some(0), |scale| scale.bytes()), Some(statistics)]);
    work(input, times([3 + u64::from(scale.is_some()) + added, input.elements()?]), bytes)
}

/// Gradient, input, shape, mean, deviation, weight, bias, and which gradients are asked for.
fn layer_backward(inputs: &Inputs) -> Option<Work> {
    let (gradient, input) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let [true, of_scale, of_shift] = inputs.flags(7)?[..] else { return None };
    let per_element = 10 + if of_scale { 2 } else { 0 } + u64::from(of_shift);
    let [mean, deviation, weight, bias] = [3, 4, 5, 6].map(|at| inputs.optional_bytes(at));
    let weight = times([1 + u64::from(of_scale), weight?]);
    let bias = times([u64::from(of_shift), bias?]);
    let bytes = sum([times([2, input.bytes()?]), gradient.bytes(), mean, deviation, weight, bias]);
    work(input, times([per_element, input.elements()?]), bytes)
}

/// How many rows are normalised where the last `width` lengths are of one.
fn rows(input: Tensor<'_>, width: usize) -> Option<u64> {
    times(input.dims[..input.dims.len().checked_sub(width)?].iter().copied())
}

/// Means and deviations are kept in 32 bits, of `double` in 64.
fn statistic(input: Tensor<'_>) -> Dtype {
    if input.dtype == Dtype::Fp64 { Dtype::Fp64 } else { Dtype::Fp32 }
}

fn work(input: Tensor<'_>, flops: Option<u64>, bytes: Option<u64>) -> Option<Work> {
    Some(Work::of_elements(input.dtype, flops?, bytes?))
}

#[cfg(test)]
mod tests {
    use crate::models::counted::counted as of;

    #[test]
    fn normalisation_is_counted_as_by_hand() {
        let (half, float) = ("c10::Half", "float");
        // 2 images of 3 channels of 4 by 5: 120 elements. Weight, bias and the running statistics of 3 channels, these also written.
        let dims = "[[2, 3, 4, 5], [3], [3], [3], [3], [], [], [], []]";
        let types = [half, half, half, float, float, "Scalar", "Scalar", "Scalar", "Scalar"];
        let training = ["", "", "", "", "", "True", "0.1", "1e-05", "True"];
        assert_eq!(of("aten::batch_norm", dims, &types, &training), Some((600 + 18, 480 + 12 + 4 * 12)));
        let inference = ["", "", "", "", "", "False", "0.1", "1e-05", "True"];
        assert_eq!(of("aten::batch_norm", dims, &types, &inference), Some((240, 480 + 12 + 2 * 12)));
        // 6 rows of 5: weight and bias of 5, a mean and a deviation for each row.
        let dims = "[[2, 3, 5], [], [5], [5], []]";
        let types = [half, "ScalarList", half, half, "Scalar"];
        assert_eq!(of("aten::native_layer_norm", dims, &types, &["", "[5]", "", "", "1e-05"]), Some((30 * 7, 120 + 20 + 48)));
    }

    #[test]
    fn roots_of_mean_squares_are_counted_as_by_hand() {
        let half = "c10::Half";
        // 6 rows of 5, a scale of 5 halves, a deviation in 32 bits for each row.
        let types = [half, "ScalarList", half, "Scalar"];
        let fused = of("aten::_fused_rms_norm", "[[2, 3, 5], [], [5], []]", &types, &["", "[5]", "", "1e-06"]);
        assert_eq!(fused, Some((30 * 4, 120 + 10 + 24)));
        let types = [half, half, half, "Scalar"];
        assert_eq!(of("_C::rms_norm", "[[6, 5], [6, 5], [5], []]", &types, &["", "", "", "1e-06"]), Some((120, 120 + 10)));
        let added = of("_C::fused_add_rms_norm", "[[6, 5], [6, 5], [5], []]", &types, &["", "", "", "1e-06"]);
        assert_eq!(added, Some((150, 240 + 10)));
    }

    #[test]
    fn gradients_of_normalisation_are_counted_as_by_hand() {
        let (half, float) = ("c10::Half", "float");
        let dims = "[[2, 3, 4, 5], [2, 3, 4, 5], [3], [3], [3], [3], [3], [], [], []]";
        let types = [half, half, half, half, half, float, float, "Scalar", "Scalar", "ScalarList"];
        let all = ["", "", "", "", "", "", "", "True", "1e-05", "[True, True, True]"];
        // Three tensors of 240 bytes; weight and two gradients of 6, mean and deviation of 12.
        assert_eq!(of("aten::native_batch_norm_backward", dims, &types, &all), Some((9 * 120, 720 + 18 + 24)));
        let some = ["", "", "", "", "", "", "", "True", "1e-05", "[True, False, False]"];
        assert_eq!(of("aten::native_batch_norm_backward", dims, &types, &some), None);
        let dims = "[[2, 3, 5], [2, 3, 5], [], [2, 3, 1], [2, 3, 1], [5], [5], []]";
        let types = [half, half, "ScalarList", float, float, half, half, "ScalarList"];
        let all = ["", "", "[5]", "", "", "", "", "[True, True, True]"];
        assert_eq!(of("aten::native_layer_norm_backward", dims, &types, &all), Some((13 * 30, 180 + 48 + 20 + 10)));
    }
}
