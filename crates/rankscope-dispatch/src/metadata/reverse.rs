//! The way back: for every slot of the attention layout, where its tokens came from.

use crate::{Error, Padded};

/// The three arrays of a reverse, padded with -1, 0 and 0 to the rank with the most slots.
pub(super) struct Reverse {
    pub(super) dst_rank: Padded,
    pub(super) dst_offset: Padded,
    pub(super) seq_len: Padded,
}

impl Reverse {
    /// Room for so many slots on each rank.
    pub(super) fn new(slots: &[i64]) -> Result<Self, Error> {
        let too_large = || Error::TooLarge { shape: vec![slots.len(), usize::MAX] };
        let width = slots.iter().copied().max().unwrap_or(0);
        let shape = [slots.len(), usize::try_from(width).map_err(|_| too_large())?];
        Ok(Self {
            dst_rank: Padded::filled(&shape, -1)?,
            dst_offset: Padded::filled(&shape, 0)?,
            seq_len: Padded::filled(&shape, 0)?,
        })
    }

    /// Says where the tokens in `slot` of rank `at` came from; false when the slot is taken.
    pub(super) fn set(&mut self, at: usize, slot: usize, from: usize, offset: i64, tokens: i64) -> bool {
        let free = self.dst_rank.row(at)[slot] < 0;
        self.dst_rank.row_mut(at)[slot] = from as i64;
        self.dst_offset.row_mut(at)[slot] = offset;
        self.seq_len.row_mut(at)[slot] = tokens;
        free
    }

    /// Slots with tokens, per rank.
    pub(super) fn slots_with_tokens(&self) -> Padded {
        slots_with_tokens(&self.seq_len)
    }
}

/// Slots with tokens, per row.
pub(super) fn slots_with_tokens(lengths: &Padded) -> Padded {
    Padded::flat(lengths.rows().map(|row| row.iter().filter(|&&length| length > 0).count() as i64).collect())
}
