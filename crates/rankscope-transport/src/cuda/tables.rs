//! The tables kernels work from: what an exchange says, with addresses in place of tensors and buffers. Plain numbers, laid out
//! as the structures in `kernels/` are.

use rankscope_dispatch::movement::KeptRows;
use rankscope_dispatch::{RowCopy, TensorRows};

/// All tables of an exchange, back to back: one copy brings them to the card.
#[derive(Default)]
pub(super) struct Tables(Vec<u64>);

/// Where a table lies among the others, in bytes, and how many entries it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) at: u64,
    pub(super) entries: u64,
}

/// A table of runs of rows, and the rows of all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Runs {
    pub(super) table: Table,
    pub(super) rows: u64,
}

/// A message on its way (`Put` in `put.cu`).
pub(super) struct Put {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) bytes: u64,
    /// The peer's word for this rank; 0 for what stays here.
    pub(super) signal: u64,
    /// The counter of blocks, in this rank's memory.
    pub(super) arrived: u64,
}

impl Tables {
    /// Appends a table.
    pub(super) fn push<const N: usize>(&mut self, entries: impl IntoIterator<Item = [u64; N]>) -> Table {
        let at = self.0.len();
        self.0.extend(entries.into_iter().flatten());
        Table { at: 8 * at as u64, entries: ((self.0.len() - at) / N) as u64 }
    }

    pub(super) fn puts(&mut self, puts: impl IntoIterator<Item = Put>) -> Table {
        self.push(puts.into_iter().map(|put| [put.from, put.to, put.bytes, put.signal, put.arrived]))
    }

    /// Copies between tensors, which begin at `tensor_starts`, and a buffer, which begins at `buffer`.
    pub(super) fn copies(&mut self, copies: &[RowCopy], tensors: &[TensorRows], tensor_starts: &[u64], buffer: u64) -> Runs {
        let mut rows = 0;
        let filled = copies.iter().filter(|copy| copy.rows > 0);
        let table = self.push(filled.map(|copy| {
            let tensor = tensors[copy.tensor as usize];
            let start = tensor_starts[copy.tensor as usize] + copy.row * tensor.row_bytes;
            let first = rows;
            rows += copy.rows;
            [first, start, buffer + copy.at, tensor.row_bytes, tensor.wire_row_bytes]
        }));
        Runs { table, rows }
    }

    /// Rows that stay, from tensors to tensors: both have them without padding.
    pub(super) fn kept(&mut self, kept: &[KeptRows], tensors: &[TensorRows], before: &[u64], after: &[u64]) -> Runs {
        let mut rows = 0;
        let filled = kept.iter().filter(|kept| kept.rows > 0);
        let table = self.push(filled.map(|kept| {
            let (tensor, row_bytes) = (kept.tensor as usize, tensors[kept.tensor as usize].row_bytes);
            let first = rows;
            rows += kept.rows;
            [first, after[tensor] + kept.into * row_bytes, before[tensor] + kept.from * row_bytes, row_bytes, row_bytes]
        }));
        Runs { table, rows }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use rankscope_dispatch::{Join, TensorName};

    use super::*;

    #[test]
    fn copies_become_runs_with_addresses_and_empty_ones_are_left_out() {
        let tensor =
            |row_bytes, wire_row_bytes| TensorRows { name: TensorName::Key, row_bytes, wire_row_bytes, join: Join::Add };
        let copy = |tensor, row, rows, at| RowCopy { tensor, row, rows, at };
        let mut tables = Tables::default();
        tables.push([[7_u64]]);
        let copies = [copy(1, 2, 3, 100), copy(0, 9, 0, 0), copy(0, 0, 4, 16)];
        let runs = tables.copies(&copies, &[tensor(10, 16), tensor(32, 32)], &[1000, 2000], 5000);
        assert_eq!(runs, Runs { table: Table { at: 8, entries: 2 }, rows: 7 });
        assert_eq!(tables.0[1..], [0, 2064, 5100, 32, 32, 3, 1000, 5016, 10, 16]);
    }

    #[test]
    fn rows_that_stay_go_from_tensor_to_tensor() {
        let tensor = TensorRows { name: TensorName::Key, row_bytes: 10, wire_row_bytes: 16, join: Join::Add };
        let kept = |from, into, rows| KeptRows { tensor: 1, from, into, rows };
        let mut tables = Tables::default();
        let rows = [kept(2, 0, 3), kept(9, 9, 0), kept(0, 5, 2)];
        let runs = tables.kept(&rows, &[tensor, tensor], &[1000, 2000], &[5000, 6000]);
        assert_eq!(runs, Runs { table: Table { at: 0, entries: 2 }, rows: 5 });
        assert_eq!(tables.0, [0, 6000, 2020, 10, 10, 3, 6050, 2000, 10, 10]);
    }
}
