//! Products of matrices: 2 m n k operations for each of a batch, and one more for each element of the result where something is added.

use serde::{Deserialize, Serialize};

use super::count::{product as times, sum};
use super::inputs::Tensor;
use super::params::{Collected, Param, Params};
use super::{Dtype, Inputs, Work};

/// A product of an `m` by `k` and a `k` by `n` matrix, `batch` times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Product {
    /// Rows of the first matrix and of the result.
    pub m: u64,
    /// Columns of the second matrix and of the result.
    pub n: u64,
    /// Columns of the first and rows of the second matrix.
    pub k: u64,
    /// How many pairs of matrices.
    pub batch: u64,
    /// Where the first matrix is among the inputs.
    pub(crate) first: usize,
}

pub(super) fn is_known(name: &str) -> bool {
    matches!(
        name,
        "mm" | "addmm" | "_addmm_activation" | "bmm" | "baddbmm" | "linear" | "mv" | "addmv" | "dot" | "_scaled_mm" | "_int_mm"
    )
}

/// The matrices of the operator, and where they are.
pub(super) fn product(name: &str, inputs: &Inputs) -> Option<Product> {
    let first = usize::from(matches!(name, "addmm" | "_addmm_activation" | "baddbmm" | "addmv"));
    let (a, b) = (inputs.tensor(first)?, inputs.tensor(first + 1)?);
    let (m, n, k, inner, batch) = match name {
        "bmm" | "baddbmm" => {
            let ([batch, m, k], [other, inner, n]) = (a.lengths()?, b.lengths()?);
            (m, n, k, inner, (batch == other).then_some(batch)?)
        }
        "mv" | "addmv" => {
            let ([m, k], [inner]) = (a.lengths()?, b.lengths()?);
            (m, 1, k, inner, 1)
        }
        "dot" => {
            let ([k], [inner]) = (a.lengths()?, b.lengths()?);
            (1, 1, k, inner, 1)
        }
        "linear" => {
            let ((k, rows), [n, inner]) = (a.dims.split_last()?, b.lengths()?);
            (times(rows.iter().copied())?, n, *k, inner, 1)
        }
        _ => {
            let ([m, k], [inner, n]) = (a.lengths()?, b.lengths()?);
            (m, n, k, inner, 1)
        }
    };
    (k == inner).then_some(Product { m, n, k, batch, first })
}

pub(super) fn work(name: &str, inputs: &Inputs) -> Option<Work> {
    let product = product(name, inputs)?;
    let Product { m, n, k, batch, first } = product;
    let (a, b) = (inputs.tensor(first)?, inputs.tensor(first + 1)?);
    let results = times([m, n, batch])?;
    let added = added(name, inputs)?;
    let scales = if name == "_scaled_mm" { sum([inputs.tensor(2)?.bytes(), inputs.tensor(3)?.bytes()])? } else { 0 };
    let written = times([results, result(name, a, inputs)?.bytes()]);
    let flops = sum([times([2, m, n, k, batch]), added.map_or(Some(0), |_| Some(results))])?;
    let bytes = sum([a.bytes(), b.bytes(), written, added.map_or(Some(0), |tensor| tensor.bytes()), Some(scales)])?;
    Some(Work::of_matrices(a.dtype, flops, bytes))
}

/// Sizes, whether something is added, and how the matrices lie in memory: `transpose` has the second matrix first, as BLAS does.
pub(super) fn params(name: &str, inputs: &Inputs) -> Option<Params> {
    let Product { m, n, k, batch, first } = product(name, inputs)?;
    let sizes = Collected::of(inputs).with("M", m).with("N", n).with("K", k).with("B", batch);
    let all = match added(name, inputs) {
        Some(added) => sizes.with("bias", added.is_some()),
        None => sizes,
    };
    let all = all.strides("stride_A", first).strides("stride_B", first + 1).types("dtype_A_B", &[Some(first), Some(first + 1)]);
    let is_turned = |at| match inputs.strides(at)? {
        [.., rows, columns] => Some(*columns != 1 && *rows == 1),
        _ => None,
    };
    Some(
        match (is_turned(first + 1), is_turned(first)) {
            (Some(second), Some(first)) if name != "linear" => {
                all.with("transpose", Param::List(vec![Param::Flag(second), Param::Flag(first)]))
            }
            _ => all,
        }
        .done(),
    )
}

/// What is added to the product, if anything is; none where that is not known.
fn added<'a>(name: &str, inputs: &'a Inputs) -> Option<Option<Tensor<'a>>> {
    let at = match name {
        "addmm" | "_addmm_activation" | "baddbmm" | "addmv" => 0,
        "linear" => 2,
        "_scaled_mm" => 4,
        _ => return Some(None),
    };
    // With a factor of 0 it is not even read.
    let is_left_out = at == 0 && matches!(inputs.concrete(3), Some("0" | "0."));
    if is_left_out || inputs.is_absent(at) { Some(None) } else { inputs.tensor(at).map(Some) }
}

/// The type of the result.
fn result(name: &str, a: Tensor<'_>, inputs: &Inputs) -> Option<Dtype> {
    match name {
        "_int_mm" => Some(Dtype::Int32),
        "_scaled_mm" => inputs.concrete(6).map_or(Some(a.dtype), Dtype::of_code),
        _ => Some(a.dtype),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::models::counted::recorded;

    fn of(name: &str, dims: &str, types: &[&str], concrete: Option<&str>) -> Option<(u64, u64)> {
        recorded(&format!("aten::{name}"), dims, types, concrete)
    }

    #[test]
    fn products_are_counted_as_by_hand() {
        let half = "c10::Half";
        // 2 by 3 times 3 by 4: 8 results of 3 multiplications and 3 additions; 6 + 12 + 8 elements.
        assert_eq!(of("mm", "[[2, 3], [3, 4]]", &["float"; 2], None), Some((48, 26 * 4)));
        // And 8 additions of a row of 4.
        assert_eq!(
            of("addmm", "[[4], [2, 3], [3, 4], [], []]", &[half, half, half, "Scalar", "Scalar"], None),
            Some((56, 30 * 2))
        );
        let beta = Some(r#"["", "", "", "0", "1"]"#);
        assert_eq!(
            of("addmm", "[[4], [2, 3], [3, 4], [], []]", &[half, half, half, "Scalar", "Scalar"], beta),
            Some((48, 26 * 2))
        );
        assert_eq!(of("bmm", "[[5, 2, 3], [5, 3, 4]]", &[half; 2], None), Some((240, 130 * 2)));
        // One matrix of 2 by 4 is added to each of the five.
        assert_eq!(of("baddbmm", "[[1, 2, 4], [5, 2, 3], [5, 3, 4]]", &[half; 3], None), Some((280, 138 * 2)));
        // 2 * 5 rows of 3, a weight of 4 by 3, a bias of 4.
        assert_eq!(of("linear", "[[2, 5, 3], [4, 3], [4]]", &["float"; 3], None), Some((280, (30 + 12 + 40 + 4) * 4)));
        assert_eq!(of("linear", "[[2, 5, 3], [4, 3], []]", &["float", "float", ""], None), Some((240, (30 + 12 + 40) * 4)));
        assert_eq!(of("mv", "[[2, 3], [3]]", &["float"; 2], None), Some((12, 11 * 4)));
        assert_eq!(of("dot", "[[3], [3]]", &["float"; 2], None), Some((6, 7 * 4)));
        assert_eq!(of("_int_mm", "[[2, 3], [3, 4]]", &["signed char"; 2], None), Some((48, 6 + 12 + 8 * 4)));
        // Two scales of 4 bytes; 8 results in 16 bits.
        let fp8 = "c10::Float8_e4m3fn";
        let types = [fp8, fp8, "float", "float", "", "", "Scalar", "Scalar"];
        let concrete = Some(r#"["", "", "", "", "", "", "15", "True"]"#);
        assert_eq!(of("_scaled_mm", "[[2, 3], [3, 4], [], [], [], [], [], []]", &types, concrete), Some((48, 6 + 12 + 8 + 16)));
    }

    #[test]
    fn what_does_not_fit_together_has_no_figure() {
        assert_eq!(of("mm", "[[2, 3], [4, 4]]", &["float"; 2], None), None);
        assert_eq!(of("mm", "[[2, 3], [3, 4]]", &["float", "c10::complex<float>"], None), None);
        assert_eq!(of("mm", "[[[2, 3]], [3, 4]]", &["TensorList", "float"], None), None);
        assert_eq!(of("bmm", "[[5, 2, 3], [1, 3, 4]]", &["float"; 2], None), None);
        assert_eq!(of("mm", "[[4294967296, 4294967296], [4294967296, 4294967296]]", &["float"; 2], None), None);
        // A bias that is there and whose type is not known.
        assert_eq!(of("linear", "[[2, 3], [4, 3], [4]]", &["float", "float", "?"], None), None);
    }

    proptest! {
        #[test]
        fn a_product_and_its_transpose_take_the_same(m in 0_u64..5000, n in 0_u64..5000, k in 0_u64..5000) {
            let there = of("mm", &format!("[[{m}, {k}], [{k}, {n}]]"), &["float"; 2], None);
            let back = of("mm", &format!("[[{n}, {k}], [{k}, {m}]]"), &["float"; 2], None);
            prop_assert_eq!(there, back);
            let batched = of("bmm", &format!("[[1, {m}, {k}], [1, {k}, {n}]]"), &["float"; 2], None);
            prop_assert_eq!(there, batched);
        }
    }
}
