//! The first byte that is not what the simulator says, with its place in terms of the plan.

use std::fmt;

use rankscope_dispatch::{TensorName, TensorRows};
use rankscope_time::Rank;

use super::Expected;

/// A byte that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Whose tensor.
    pub rank: Rank,
    /// Which tensor.
    pub tensor: TensorName,
    /// Which row of it.
    pub row: u64,
    /// Which byte of the row.
    pub offset: u64,
    /// What the simulator says; nothing where the tensor should have ended.
    pub expected: Option<u8>,
    /// What arrived; nothing where the tensor ended too early.
    pub actual: Option<u8>,
}

impl Difference {
    /// Compares the tensors of a rank, in order.
    #[must_use]
    pub fn first(rank: Rank, tensors: &[TensorRows], actual: &[Vec<u8>], expected: Expected<'_>) -> Option<Self> {
        let mut sides = tensors.iter().zip(actual).zip(expected.0);
        let ((tensor, actual), expected) = sides.find(|((_, actual), expected)| actual != expected)?;
        let at = actual.iter().zip(expected).take_while(|(actual, expected)| actual == expected).count();
        let (row, offset) = match tensor.row_bytes {
            0 => (0, at as u64),
            row_bytes => (at as u64 / row_bytes, at as u64 % row_bytes),
        };
        let (expected, actual) = (expected.get(at).copied(), actual.get(at).copied());
        Some(Self { rank, tensor: tensor.name, row, offset, expected, actual })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rank, tensor, row, offset, .. } = self;
        let byte = |byte: Option<u8>| byte.map_or("no byte".to_owned(), |byte| format!("{byte:#04x}"));
        let (expected, actual) = (byte(self.expected), byte(self.actual));
        write!(f, "rank {rank}, {tensor}, row {row}, byte {offset}: {actual} arrived where the simulator expects {expected}")
    }
}

#[cfg(test)]
mod tests {
    use rankscope_dispatch::Join;

    use super::*;

    #[test]
    fn the_first_byte_that_differs_is_named_by_tensor_row_and_offset() {
        let tensor = |name| TensorRows { name, row_bytes: 4, wire_row_bytes: 16, join: Join::Add };
        let tensors = [tensor(TensorName::Key), tensor(TensorName::Value)];
        let expected = vec![vec![7; 8], vec![7; 12]];
        let first = |actual: &[Vec<u8>]| Difference::first(Rank(3), &tensors, actual, Expected(&expected));
        assert_eq!(first(&expected), None);

        let mut actual = expected.clone();
        actual[1][6] = 0xB1;
        let said = first(&actual).map(|difference| difference.to_string());
        assert_eq!(said.as_deref(), Some("rank 3, value, row 1, byte 2: 0xb1 arrived where the simulator expects 0x07"));

        actual[0].truncate(4);
        let said = first(&actual).map(|difference| difference.to_string());
        assert_eq!(said.as_deref(), Some("rank 3, key, row 1, byte 0: no byte arrived where the simulator expects 0x07"));
    }
}
