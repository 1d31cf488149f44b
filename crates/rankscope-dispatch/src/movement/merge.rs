//! Outputs over parts of the keys, weighed by their log-sum-exp into the output over all of them.
//!
//! A row is the output of every head, then one log-sum-exp for every head. With `l = log(exp(l1) + exp(l2))` the output over both
//! parts is `o1 exp(l1 - l) + o2 exp(l2 - l)`, and its log-sum-exp is `l`; so parts are merged one after the other, in any number.
//! All of it is done in double precision and rounded once.

use std::ops::Range;

use half::{bf16, f16};
use rustc_hash::FxHashMap;

use super::ElementType;
use crate::Rows;

impl ElementType {
    /// Bytes of the log-sum-exp of one head beside outputs of this type: a single, or a double where elements are no shorter.
    #[must_use]
    pub fn lse_bytes(self) -> u64 {
        Rows::lse_bytes(self.bytes() as u32).into()
    }

    /// Whether outputs can be of this type.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Self::F64 | Self::F32 | Self::F16 | Self::Bf16)
    }

    pub(super) fn read(self, bytes: &[u8]) -> f64 {
        let too_short = "cut to the length of an element";
        match self {
            Self::F64 => f64::from_le_bytes(bytes.try_into().expect(too_short)),
            Self::F32 => f32::from_le_bytes(bytes.try_into().expect(too_short)).into(),
            Self::F16 => f16::from_le_bytes(bytes.try_into().expect(too_short)).into(),
            Self::Bf16 => bf16::from_le_bytes(bytes.try_into().expect(too_short)).into(),
            _ => 0.0,
        }
    }

    fn write(self, value: f64, bytes: &mut [u8]) {
        match self {
            Self::F64 => bytes.copy_from_slice(&value.to_le_bytes()),
            Self::F32 => bytes.copy_from_slice(&(value as f32).to_le_bytes()),
            Self::F16 => bytes.copy_from_slice(&f16::from_f64(value).to_le_bytes()),
            Self::Bf16 => bytes.copy_from_slice(&bf16::from_f64(value).to_le_bytes()),
            _ => {}
        }
    }

    /// The type of a log-sum-exp.
    pub(super) fn of_lse(self) -> Self {
        if self.lse_bytes() == 8 { Self::F64 } else { Self::F32 }
    }
}

/// The rows of a tensor of outputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outputs {
    pub(super) element: ElementType,
    pub(super) row_bytes: usize,
    pub(super) heads: usize,
}

impl Outputs {
    /// Such rows, if these are any: floats, and as many of them for every head.
    pub(super) fn new(element: ElementType, row_bytes: u64, heads: u32) -> Option<Self> {
        let outputs = row_bytes.checked_sub(u64::from(heads).checked_mul(element.lse_bytes())?)?;
        let whole = heads > 0 && outputs.is_multiple_of(element.bytes() * u64::from(heads));
        (element.is_float() && whole).then_some(Self { element, row_bytes: row_bytes as usize, heads: heads as usize })
    }

    /// Merges the rows of the second range of each pair into those of the first, pair after pair. Ranges lie inside and have whole
    /// rows, and those of a pair are as long.
    pub(super) fn merge(self, bytes: &mut [u8], pairs: &[(Range<usize>, Range<usize>)]) {
        let mut wide: FxHashMap<usize, Wide> = FxHashMap::default();
        for (into, from) in pairs {
            for (into, from) in into.clone().step_by(self.row_bytes).zip(from.clone().step_by(self.row_bytes)) {
                let part = wide.get(&from).cloned().unwrap_or_else(|| self.read(&bytes[from..from + self.row_bytes]));
                wide.entry(into).or_insert_with(|| self.read(&bytes[into..into + self.row_bytes])).take(&part);
            }
        }
        for (at, row) in wide {
            self.write(&row, &mut bytes[at..at + self.row_bytes]);
        }
    }

    /// The bytes of the outputs, and those of the log-sum-exps.
    fn split(self) -> usize {
        self.row_bytes - self.heads * self.element.lse_bytes() as usize
    }

    fn read(self, row: &[u8]) -> Wide {
        let (outputs, lse) = row.split_at(self.split());
        let values = |element: ElementType, bytes: &[u8]| -> Vec<f64> {
            bytes.chunks_exact(element.bytes() as usize).map(|value| element.read(value)).collect()
        };
        Wide { outputs: values(self.element, outputs), lse: values(self.element.of_lse(), lse) }
    }

    fn write(self, wide: &Wide, row: &mut [u8]) {
        let (outputs, lse) = row.split_at_mut(self.split());
        let put = |element: ElementType, values: &[f64], bytes: &mut [u8]| {
            let places = bytes.chunks_exact_mut(element.bytes() as usize);
            places.zip(values).for_each(|(place, value)| element.write(*value, place));
        };
        put(self.element, &wide.outputs, outputs);
        put(self.element.of_lse(), &wide.lse, lse);
    }
}

/// A row in double precision.
#[derive(Clone, Debug)]
struct Wide {
    outputs: Vec<f64>,
    lse: Vec<f64>,
}

impl Wide {
    fn take(&mut self, part: &Self) {
        let size = self.outputs.len() / self.lse.len().max(1);
        for (head, (lse, other)) in self.lse.iter_mut().zip(&part.lse).enumerate() {
            let most = lse.max(*other);
            if most == f64::NEG_INFINITY {
                continue;
            }
            let (own, others) = ((*lse - most).exp(), (*other - most).exp());
            let values = head * size..(head + 1) * size;
            for (output, other) in self.outputs[values.clone()].iter_mut().zip(&part.outputs[values]) {
                *output = (*output * own + other * others) / (own + others);
            }
            *lse = most + (own + others).ln();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(element: ElementType, outputs: &[f64], lse: &[f64]) -> Vec<u8> {
        let mut bytes = vec![0; outputs.len() * element.bytes() as usize + lse.len() * element.lse_bytes() as usize];
        let rows = Outputs::new(element, bytes.len() as u64, lse.len() as u32).unwrap();
        rows.write(&Wide { outputs: outputs.to_vec(), lse: lse.to_vec() }, &mut bytes);
        bytes
    }

    #[test]
    fn heads_are_weighed_by_their_own_log_sum_exp() {
        for element in [ElementType::F64, ElementType::F32, ElementType::F16, ElementType::Bf16] {
            let two = row(element, &[1.0, 2.0, 8.0], &[0.0, 0.0, f64::NEG_INFINITY]);
            let other = row(element, &[4.0, 4.0, 4.0], &[2_f64.ln(), 0.0, 1.0]);
            let rows = Outputs::new(element, two.len() as u64, 3).unwrap();
            let (mut bytes, at) = ([two.clone(), other].concat(), two.len());
            rows.merge(&mut bytes, &[(0..at, at..2 * at)]);
            let merged = rows.read(&bytes[..at]);
            assert_eq!(merged.outputs, [3.0, 3.0, 4.0], "{element}");
            for (lse, expected) in merged.lse.iter().zip([3_f64.ln(), 2_f64.ln(), 1.0]) {
                assert!((lse - expected).abs() < 1e-6, "{element}: {lse}");
            }
        }
    }

    #[test]
    fn what_is_no_row_of_outputs_is_refused() {
        assert!(Outputs::new(ElementType::I32, 8, 1).is_none());
        assert!(Outputs::new(ElementType::F32, 3, 1).is_none());
        assert!(Outputs::new(ElementType::Bf16, 4 + 3, 1).is_none());
        assert!(Outputs::new(ElementType::F32, 8, 0).is_none());
    }
}
