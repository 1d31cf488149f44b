//! Convolutions and their gradients, by PyTorch's `aten::convolution`, which all others are within.

use super::count::{product as times, sum};
use super::inputs::Tensor;
use super::params::{Collected, Params};
use super::{Inputs, Work};

/// Where the arguments that both directions have are.
struct Places {
    input: usize,
    weight: usize,
    /// Stride; padding, dilation, whether it is transposed, padding of the output and groups follow.
    stride: usize,
}

/// A convolution's shapes.
struct Shape<'a> {
    input: Tensor<'a>,
    weight: Tensor<'a>,
    /// The output's lengths.
    output: Vec<u64>,
    is_transposed: bool,
}

pub(super) fn forward(inputs: &Inputs) -> Option<Work> {
    let shape = Shape::of(inputs, &Places { input: 0, weight: 1, stride: 3 })?;
    let results = times(shape.output.iter().copied())?;
    let bias = inputs.optional_bytes(2)?;
    let written = times([results, shape.input.dtype.bytes()]);
    let flops = sum([shape.flops(), Some(if inputs.is_absent(2) { 0 } else { results })])?;
    let bytes = sum([shape.input.bytes(), shape.weight.bytes(), written, Some(bias)])?;
    Some(Work::of_matrices(shape.input.dtype, flops, bytes))
}

/// Only the gradients that were asked for are counted: `output_mask` tells which of those of input, weight and bias.
pub(super) fn backward(inputs: &Inputs) -> Option<Work> {
    let shape = Shape::of(inputs, &Places { input: 1, weight: 2, stride: 4 })?;
    let gradient = inputs.tensor(0).filter(|gradient| gradient.dims == shape.output)?;
    let [of_input, of_weight, of_bias]: [bool; 3] = inputs.flags(10)?.try_into().ok()?;
    let (input, weight) = (shape.input.bytes()?, shape.weight.bytes()?);
    let (mut flops, mut bytes) = (0_u64, 0_u64);
    let mut add = |more_flops: Option<u64>, read: u64, written: u64| {
        flops = sum([Some(flops), more_flops])?;
        bytes = sum([Some(bytes), gradient.bytes(), Some(read), Some(written)])?;
        Some(())
    };
    if of_input {
        add(shape.flops(), weight, input)?;
    }
    if of_weight {
        add(shape.flops(), input, weight)?;
    }
    if of_bias {
        add(gradient.elements(), 0, times([*shape.output.get(1)?, gradient.dtype.bytes()])?)?;
    }
    Some(Work::of_matrices(shape.input.dtype, flops, bytes))
}

/// What both directions were called with; forward, the bias is the third input.
pub(super) fn params(name: &str, inputs: &Inputs) -> Option<Params> {
    let at = if name == "convolution" {
        Places { input: 0, weight: 1, stride: 3 }
    } else {
        Places { input: 1, weight: 2, stride: 4 }
    };
    let sort = match inputs.dims(at.input)?.len() {
        3 => "conv1d",
        4 => "conv2d",
        5 => "conv3d",
        _ => return None,
    };
    let shapes = Collected::of(inputs)
        .with("convNd", sort)
        .shape("input_shape", at.input)
        .shape("filter_shape", at.weight)
        .types("dtype_input_weight", &[Some(at.input), Some(at.weight)])
        .strides("input_stride", at.input)
        .strides("weight_stride", at.weight);
    let has_bias =
        if at.input == 0 { Some(!inputs.is_absent(2)) } else { inputs.flags(10).and_then(|mask| mask.get(2).copied()) };
    let shapes = match has_bias {
        Some(has_bias) => shapes.with("bias", has_bias),
        None => shapes,
    };
    let all = shapes
        .numbers("stride", at.stride)
        .numbers("padding", at.stride + 1)
        .numbers("dilation", at.stride + 2)
        .flag("transposed_conv", at.stride + 3)
        .numbers("output_padding", at.stride + 4)
        .whole("groups", at.stride + 5);
    Some(if at.input == 0 { all } else { all.flags("output_mask", 10) }.done())
}

impl<'a> Shape<'a> {
    fn of(inputs: &'a Inputs, at: &Places) -> Option<Self> {
        let (input, weight) = (inputs.tensor(at.input)?, inputs.tensor(at.weight)?);
        let rank = input.dims.len().checked_sub(2).filter(|rank| *rank > 0 && weight.dims.len() == rank + 2)?;
        // A single number is meant for all directions.
        let list = |at: usize| {
            let list: Vec<u64> = inputs.numbers(at)?.into_iter().map(u64::try_from).collect::<Result<_, _>>().ok()?;
            let all = if list.len() == 1 { vec![list[0]; rank] } else { list };
            (all.len() == rank).then_some(all)
        };
        let (stride, padding, dilation) = (list(at.stride)?, list(at.stride + 1)?, list(at.stride + 2)?);
        let is_transposed = inputs.flag(at.stride + 3)?;
        let groups = inputs.number(at.stride + 5).filter(|groups| *groups > 0)?;
        // The weight has all channels of one side, and those of one group of the other.
        let (own, channels) = if is_transposed {
            (weight.dims[0], weight.dims[1].checked_mul(groups)?)
        } else {
            (weight.dims[1].checked_mul(groups)?, weight.dims[0])
        };
        if input.dims[1] != own {
            return None;
        }
        let mut output = vec![input.dims[0], channels];
        for one in 0..rank {
            let reach = dilation[one].checked_mul(weight.dims[one + 2].checked_sub(1)?)?;
            let length = input.dims[one + 2];
            output.push(if is_transposed {
                let more = *list(at.stride + 4)?.get(one)?;
                let last = length.checked_sub(1)?.checked_mul(stride[one])?.checked_add(reach)?.checked_add(more)?;
                last.checked_add(1)?.checked_sub(padding[one].checked_mul(2)?)?
            } else {
                let room = length.checked_add(padding[one].checked_mul(2)?)?.checked_sub(reach)?.checked_sub(1)?;
                room.checked_div(stride[one])?.checked_add(1)?
            });
        }
        Some(Self { input, weight, output, is_transposed })
    }

    /// Twice as many operations as the weight is multiplied: at every place of the output, and of a transposed one of the input.
    fn flops(&self) -> Option<u64> {
        let places = if self.is_transposed { self.input.dims } else { &self.output };
        let places = places.iter().enumerate().filter(|(at, _)| *at != 1).map(|(_, length)| *length);
        times(places.chain(self.weight.dims.iter().copied()).chain([2]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(backward: bool, dims: &str, concrete: &str) -> Option<(u64, u64)> {
        let count = dims.matches("],").count() + 1;
        let kind = |at: usize| if at < 2 + usize::from(backward) { "float" } else { "" };
        let types: Vec<&str> = (0..count).map(kind).collect();
        let inputs = Inputs::parse(dims, &format!("{types:?}"), None, Some(concrete))?;
        let work = if backward { super::backward(&inputs) } else { forward(&inputs) };
        work.and_then(|work| Some((work.flops?, work.bytes)))
    }

    #[test]
    fn convolutions_are_counted_as_by_hand() {
        // 1 image of 2 channels of 4 by 4, 3 filters of 3 by 3, no padding: 3 x 2 x 2 results of 2 x 9 products.
        let concrete = r#"["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"]"#;
        let dims = "[[1, 2, 4, 4], [3, 2, 3, 3], [], [], [], [], [], [], []]";
        assert_eq!(of(false, dims, concrete), Some((2 * 12 * 18, (32 + 54 + 12) * 4)));
        // In two groups, each filter sees one of the channels: 2 filters of 1 channel.
        let concrete = r#"["", "", "", "[1]", "[1]", "[1]", "False", "[0]", "2"]"#;
        let dims = "[[1, 2, 4, 4], [2, 1, 3, 3], [], [], [], [], [], [], []]";
        assert_eq!(of(false, dims, concrete), Some((2 * 32 * 9, (32 + 18 + 32) * 4)));
        // Transposed with stride 2: each of the 16 pixels of 2 channels is spread over 3 channels of 2 by 2; 8 by 8 come out.
        let concrete = r#"["", "", "", "[2, 2]", "[0, 0]", "[1, 1]", "True", "[0, 0]", "1"]"#;
        let dims = "[[1, 2, 4, 4], [2, 3, 2, 2], [], [], [], [], [], [], []]";
        assert_eq!(of(false, dims, concrete), Some((2 * 16 * 24, (32 + 24 + 3 * 64) * 4)));
        // Stride 0 is none.
        let concrete = r#"["", "", "", "[0, 0]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"]"#;
        assert_eq!(of(false, "[[1, 2, 4, 4], [3, 2, 3, 3], [], [], [], [], [], [], []]", concrete), None);
    }

    #[test]
    fn only_the_gradients_that_were_asked_for_count() {
        let concrete =
            |mask: &str| format!(r#"["", "", "", "[0]", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1", "{mask}"]"#);
        let dims = "[[1, 3, 2, 2], [1, 2, 4, 4], [3, 2, 3, 3], [], [], [], [], [], [], [], []]";
        let (one, elements) = (2 * 12 * 18, 32 + 54 + 12);
        assert_eq!(of(true, dims, &concrete("[True, True, False]")), Some((2 * one, 2 * elements * 4)));
        assert_eq!(of(true, dims, &concrete("[False, True, False]")), Some((one, elements * 4)));
        // The bias' gradient sums up 12 elements to 3.
        assert_eq!(of(true, dims, &concrete("[False, True, True]")), Some((one + 12, (elements + 12 + 3) * 4)));
        assert_eq!(of(true, dims, &concrete("[True, True]")), None);
    }
}
