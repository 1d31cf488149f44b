//! Products of matrices in groups, as mixtures of experts have them: the rows of one matrix, one after the other, by the matrix of
//! their group.
//!
//! Where one group ends is in a tensor, whose values are not recorded. Every row is counted, so that it is the most that the shapes
//! have room for: rows behind the last group are not multiplied, and the matrix of a group without rows is not read.

use super::count::{product as times, sum};
use super::params::{Collected, Params};
use super::{Dtype, Inputs, Work};

/// Where the arguments that follow the two matrices are.
struct Places {
    /// Where groups end.
    ends: usize,
    bias: Option<usize>,
    /// The number of the type of the result.
    result: Option<usize>,
    /// Scales of both matrices.
    scales: Option<usize>,
    /// Whether the first and the second matrix are transposed.
    turned: Option<usize>,
}

impl Places {
    fn of(operator: &str) -> Option<Self> {
        Some(match operator {
            "aten::_grouped_mm" => Self { ends: 2, bias: Some(3), result: Some(4), scales: None, turned: None },
            "aten::_scaled_grouped_mm" => Self { ends: 4, bias: Some(5), result: Some(7), scales: Some(2), turned: None },
            "grouped_gemm::gmm" | "megablocks::gmm" => {
                Self { ends: 2, bias: None, result: None, scales: None, turned: Some(3) }
            }
            _ => return None,
        })
    }
}

pub(super) fn is_known(operator: &str) -> bool {
    Places::of(operator).is_some()
}

/// Lengths of all groups together.
struct Shape {
    m: u64,
    n: u64,
    k: u64,
    groups: u64,
    /// Elements of the result.
    results: u64,
    /// Whether groups may be of any length.
    is_uneven: bool,
}

impl Shape {
    fn of(operator: &str, inputs: &Inputs) -> Option<Self> {
        let at = Places::of(operator)?;
        let groups = || inputs.dims(at.ends).and_then(|dims| if let [groups] = dims { Some(*groups) } else { None });
        let is_turned = |more: usize| match at.turned {
            Some(at) => inputs.flag(at + more),
            None => Some(false),
        };
        let turned = |dims: &[u64], is_turned: bool| {
            let mut dims = dims.to_vec();
            let last = dims.len();
            if is_turned && last >= 2 {
                dims.swap(last - 1, last - 2);
            }
            dims
        };
        let (a, b) = (turned(inputs.dims(0)?, is_turned(0)?), turned(inputs.dims(1)?, is_turned(1)?));
        let (m, n, k, inner, groups, each) = match (&a[..], &b[..]) {
            // Every group has its own matrix; rows are of one group.
            (&[m, k], &[groups, inner, n]) => (m, n, k, inner, groups, 1),
            // Columns of the second are of one group.
            (&[groups, m, k], &[inner, n]) => (m, n, k, inner, groups, 1),
            // What is summed over is of one group: each has a result.
            (&[m, k], &[inner, n]) => (m, n, k, inner, groups()?, groups()?),
            (&[groups, m, k], &[others, inner, n]) if groups == others => (m, n, k, inner, groups, groups),
            _ => return None,
        };
        let is_uneven = a.len() + b.len() < 6;
        let sound = k == inner && groups > 0;
        let m = if is_uneven { m } else { times([m, groups])? };
        let results = times([m, n, if is_uneven { each } else { 1 }])?;
        sound.then_some(Self { m, n, k, groups, results, is_uneven })
    }
}

pub(super) fn work(operator: &str, inputs: &Inputs) -> Option<Work> {
    let at = Places::of(operator)?;
    let shape = Shape::of(operator, inputs)?;
    let (a, b) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let result = match at.result.and_then(|at| inputs.concrete(at)) {
        Some(code) => Dtype::of_code(code)?,
        // Eight bits come out wider.
        None if a.dtype == Dtype::Fp8 => Dtype::Bf16,
        None => a.dtype,
    };
    let bias = at.bias.map_or(Some(0), |bias| inputs.optional_bytes(bias));
    let adds = if at.bias.is_some_and(|bias| !inputs.is_absent(bias)) { shape.results } else { 0 };
    let scales = at.scales.map_or(Some(0), |scales| sum([inputs.optional_bytes(scales), inputs.optional_bytes(scales + 1)]));
    let written = times([shape.results, result.bytes()]);
    let bytes = sum([a.bytes(), b.bytes(), written, bias, scales, inputs.optional_bytes(at.ends)])?;
    let flops = sum([times([2, shape.m, shape.n, shape.k]), Some(adds)])?;
    let work = Work::of_matrices(a.dtype, flops, bytes);
    Some(if shape.is_uneven { work.at_most() } else { work })
}

pub(super) fn params(operator: &str, inputs: &Inputs) -> Option<Params> {
    let Shape { m, n, k, groups, .. } = Shape::of(operator, inputs)?;
    let sizes = Collected::of(inputs).with("M", m).with("N", n).with("K", k).with("G", groups);
    Some(sizes.strides("stride_A", 0).strides("stride_B", 1).types("dtype_A_B", &[Some(0), Some(1)]).done())
}

#[cfg(test)]
mod tests {
    use crate::{Figures, Inputs, Model, Work};

    fn of(operator: &str, dims: &str, types: &[&str], concrete: &[&str]) -> Option<Work> {
        let inputs = Inputs::parse(dims, &format!("{types:?}"), None, Some(&format!("{concrete:?}")))?;
        Model::of(operator)?.work(operator, &inputs)
    }

    #[test]
    fn groups_are_counted_as_by_hand() {
        let (half, none) = ("c10::BFloat16", ["", "", "", "", ""]);
        let types = [half, half, "int", "", ""];
        let grouped = |dims: &str| {
            of("aten::_grouped_mm", dims, &types, &none).map(|work| (work.flops.unwrap(), work.bytes, work.figures))
        };
        // 10 rows of 4, each by one of 3 matrices of 4 by 5: 50 results of 8 operations; 3 ends of 4 bytes.
        let rows = grouped("[[10, 4], [3, 4, 5], [3], [], []]");
        assert_eq!(rows, Some((400, 2 * (40 + 60 + 50) + 12, Figures::AtMost)));
        // 3 matrices of 2 by 4, and 10 columns of 4.
        assert_eq!(grouped("[[3, 2, 4], [4, 10], [3], [], []]"), Some((160, 2 * (24 + 40 + 20) + 12, Figures::AtMost)));
        // Of 10 products, some are of each of 3 results of 4 by 5.
        assert_eq!(grouped("[[4, 10], [10, 5], [3], [], []]"), Some((400, 2 * (40 + 50 + 60) + 12, Figures::AtMost)));
        // As many of each: a batch.
        let types = [half, half, "", "", ""];
        let batch = of("aten::_grouped_mm", "[[3, 2, 4], [3, 4, 5], [], [], []]", &types, &none).unwrap();
        assert_eq!((batch.flops, batch.bytes, batch.figures), (Some(240), 2 * (24 + 60 + 30), Figures::Exact));
        assert_eq!(grouped("[[10, 4], [3, 6, 5], [3], [], []]"), None);
        assert_eq!(of("aten::_grouped_mm", "[[4, 10], [10, 5], [], [], []]", &types, &none), None);
    }

    #[test]
    fn scaled_groups_read_their_scales_and_write_what_is_asked_for() {
        let fp8 = "c10::Float8_e4m3fn";
        let types = [fp8, fp8, "float", "float", "int", "", "", "Scalar", "Scalar"];
        let dims = "[[10, 4], [3, 4, 5], [10], [3, 5], [3], [], [], [], []]";
        let concrete = ["", "", "", "", "", "", "", "15", "True"];
        let work = of("aten::_scaled_grouped_mm", dims, &types, &concrete).unwrap();
        assert_eq!((work.flops, work.bytes), (Some(400), 40 + 60 + 2 * 50 + 4 * (10 + 15) + 12));
    }

    #[test]
    fn groups_of_megablocks_may_be_transposed() {
        let types = ["c10::Half", "c10::Half", "long int", "Scalar", "Scalar"];
        let concrete = ["", "", "", "False", "True"];
        let work = of("grouped_gemm::gmm", "[[10, 4], [3, 5, 4], [3], [], []]", &types, &concrete).unwrap();
        assert_eq!((work.flops, work.bytes), (Some(400), 2 * (40 + 60 + 50) + 24));
    }
}
