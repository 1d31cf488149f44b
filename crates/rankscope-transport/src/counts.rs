//! The counts and displacements of an alltoallv, which are `int` in every MPI that people have.
//!
//! Where bytes do not fit, 16 bytes become the unit: rows are multiples of it (dispatch spec 2.9), and with it buffers may have
//! 32 GiB. Each rank decides for itself and need not ask: to MPI a message of `n` units is a message of `16 n` bytes.

use rankscope_dispatch::Message;
use rankscope_time::Rank;

use crate::TransportError;

/// One side of an alltoallv, indexed by peer. The rank itself has a count of zero: what it keeps needs no network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Bytes of the unit in which the others are given: 1 or 16.
    pub unit_bytes: u64,
    /// Units to or from each peer.
    pub counts: Vec<i32>,
    /// Where they start in the buffer.
    pub displacements: Vec<i32>,
}

impl Counts {
    /// The counts of `messages`, which are one side of an exchange of `rank` and lie inside its buffer.
    ///
    /// # Errors
    /// [`TransportError::TooLarge`] when the end of a message is further than `int` reaches in units of 16 bytes, or is not a
    /// multiple of them.
    pub fn new(messages: &[Message], rank: Rank, world_size: u32) -> Result<Self, TransportError> {
        Self::with_limit(messages, rank, world_size, i32::MAX as u64)
    }

    /// The limit is a parameter because nobody tests with buffers of 2 GiB.
    fn with_limit(messages: &[Message], rank: Rank, world_size: u32, limit: u64) -> Result<Self, TransportError> {
        let remote = messages.iter().filter(|message| message.peer != rank);
        let fits = |unit: u64| {
            move |message: &Message| {
                let is_whole = message.at.is_multiple_of(unit) && message.bytes.is_multiple_of(unit);
                is_whole && message.at.checked_add(message.bytes).is_some_and(|end| end / unit <= limit)
            }
        };
        let unit_bytes = if remote.clone().all(fits(1)) { 1 } else { UNIT_BYTES };
        let misfit = remote.clone().find(|message| !fits(unit_bytes)(message));
        if let Some(&Message { peer, at, bytes, .. }) = misfit {
            return Err(TransportError::TooLarge { rank, peer, at, bytes });
        }
        let empty = vec![0; world_size as usize];
        let mut row = Self { unit_bytes, counts: empty.clone(), displacements: empty };
        for message in remote {
            let peer = message.peer.0 as usize;
            row.counts[peer] = (message.bytes / unit_bytes) as i32;
            row.displacements[peer] = (message.at / unit_bytes) as i32;
        }
        Ok(row)
    }
}

/// The alignment of rows in messages.
const UNIT_BYTES: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// Rank 1 of 4, with messages as (peer, at, bytes).
    fn counts(messages: &[(u32, u64, u64)], limit: u64) -> Result<Counts, TransportError> {
        let message = |&(peer, at, bytes)| Message { peer: Rank(peer), at, peer_at: 0, bytes };
        let messages: Vec<Message> = messages.iter().map(message).collect();
        Counts::with_limit(&messages, Rank(1), 4, limit)
    }

    #[test]
    fn bytes_are_the_unit_while_they_fit() -> Result<(), TransportError> {
        let row = counts(&[(0, 0, 5), (1, 5, 1000), (3, 1005, 95)], 1100)?;
        assert_eq!(row, Counts { unit_bytes: 1, counts: vec![5, 0, 0, 95], displacements: vec![0, 0, 0, 1005] });
        Ok(())
    }

    #[test]
    fn one_byte_more_makes_sixteen_the_unit() -> Result<(), TransportError> {
        let row = counts(&[(0, 0, 16), (2, 32, 64)], 95)?;
        assert_eq!(row, Counts { unit_bytes: 16, counts: vec![1, 0, 4, 0], displacements: vec![0, 0, 2, 0] });
        Ok(())
    }

    #[test]
    fn what_fits_neither_way_names_the_message() {
        for (messages, at, bytes) in [
            (&[(0, 0, 16), (2, 16, 8)][..], 16, 8),
            (&[(0, 8, 16)], 8, 16),
            (&[(0, 160, 16)], 160, 16),
            (&[(0, u64::MAX - 15, 16)], u64::MAX - 15, 16),
        ] {
            let refused = counts(messages, 10);
            let named = matches!(refused, Err(TransportError::TooLarge { at: a, bytes: b, .. }) if (a, b) == (at, bytes));
            assert!(named, "{refused:?}");
        }
    }

    #[test]
    fn what_a_rank_keeps_is_no_obstacle() {
        assert!(counts(&[(1, 0, 1 << 40)], 10).is_ok());
    }
}
