//! The padded arrays in which the original keeps its metadata: dense, 64 bits, one row per rank. They exist so that its
//! functions can be reproduced shape for shape; everything that must be fast works on lists without padding.

use crate::Error;

/// A dense array of integers, last axis fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Padded {
    shape: Vec<usize>,
    values: Vec<i64>,
}

impl Padded {
    /// The array of this shape that holds `values`.
    ///
    /// # Errors
    /// [`Error::Shape`] when the shape asks for another number of values, [`Error::TooLarge`].
    pub fn new(shape: &[usize], values: Vec<i64>) -> Result<Self, Error> {
        if elements(shape)? != values.len() {
            return Err(Error::Shape { what: "values", expected: shape.to_vec(), found: vec![values.len()] });
        }
        Ok(Self { shape: shape.to_vec(), values })
    }

    /// The array of this shape that holds `value` everywhere.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn filled(shape: &[usize], value: i64) -> Result<Self, Error> {
        Ok(Self { shape: shape.to_vec(), values: vec![value; elements(shape)?] })
    }

    /// An array with one axis.
    #[must_use]
    pub fn flat(values: Vec<i64>) -> Self {
        Self { shape: vec![values.len()], values }
    }

    /// Lengths of the axes.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// All values, row by row.
    #[must_use]
    pub fn values(&self) -> &[i64] {
        &self.values
    }

    /// The same, to write.
    #[must_use]
    pub fn values_mut(&mut self) -> &mut [i64] {
        &mut self.values
    }

    /// The values at `index` of the first axis, which must exist.
    #[must_use]
    pub fn row(&self, index: usize) -> &[i64] {
        &self.values[index * self.width()..(index + 1) * self.width()]
    }

    /// The same, to write.
    #[must_use]
    pub fn row_mut(&mut self, index: usize) -> &mut [i64] {
        let width = self.width();
        &mut self.values[index * width..(index + 1) * width]
    }

    /// The values along the first axis.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[i64]> {
        (0..self.shape.first().copied().unwrap_or(0)).map(|index| self.row(index))
    }

    /// Values per index of the first axis.
    #[must_use]
    pub fn width(&self) -> usize {
        self.shape.iter().skip(1).product()
    }

    /// Refuses any other shape; `what` names the array.
    pub(crate) fn expect_shape(&self, what: &'static str, shape: &[usize]) -> Result<(), Error> {
        match self.shape == shape {
            true => Ok(()),
            false => Err(Error::Shape { what, expected: shape.to_vec(), found: self.shape.clone() }),
        }
    }
}

/// Values in an array of this shape.
fn elements(shape: &[usize]) -> Result<usize, Error> {
    shape
        .iter()
        .try_fold(1_usize, |product, &axis| product.checked_mul(axis))
        .filter(|&elements| elements <= MOST_ELEMENTS)
        .ok_or_else(|| Error::TooLarge { shape: shape.to_vec() })
}

/// 4 GiB of 64-bit values. The original's count matrix reaches that near 23,000 ranks; a larger one is a mistake in a file.
const MOST_ELEMENTS: usize = 1 << 29;
