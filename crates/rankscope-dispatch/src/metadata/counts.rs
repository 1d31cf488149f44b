//! Who receives how many tokens from whom, as the original's matrix.

use crate::{Error, Padded};

/// Tokens by receiver and sender.
pub(super) struct Counts {
    /// W x (W + 1); the last column is filled at the end.
    received: Padded,
    world_size: usize,
}

impl Counts {
    pub(super) fn new(world_size: usize) -> Result<Self, Error> {
        Ok(Self { received: Padded::filled(&[world_size, world_size + 1], 0)?, world_size })
    }

    /// `to` receives `tokens` from `from`. The caller has shown that all tokens together fit.
    pub(super) fn add(&mut self, to: usize, from: usize, tokens: i64) {
        self.received.row_mut(to)[from] += tokens;
    }

    /// The matrix and its totals, as it is and for the way back.
    pub(super) fn finish(mut self) -> Result<[(Padded, Vec<i64>); 2], Error> {
        let mut back = Padded::filled(self.received.shape(), 0)?;
        for to in 0..self.world_size {
            for from in 0..self.world_size {
                back.row_mut(from)[to] = self.received.row(to)[from];
            }
        }
        let totals = [total(&mut self.received, self.world_size), total(&mut back, self.world_size)];
        let [forward_total, back_total] = totals;
        Ok([(self.received, forward_total), (back, back_total)])
    }
}

/// Fills the last column with the sums of the others.
fn total(matrix: &mut Padded, world_size: usize) -> Vec<i64> {
    let mut totals = Vec::with_capacity(world_size);
    for rank in 0..world_size {
        let row = matrix.row_mut(rank);
        row[world_size] = row[..world_size].iter().sum();
        totals.push(row[world_size]);
    }
    totals
}
