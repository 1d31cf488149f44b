//! `compute_metadata`: shards in order of rank, slot and replica are laid back to back at their destination.

use super::Metadata;
use super::counts::Counts;
use super::reverse::{Reverse, slots_with_tokens};
use crate::{Error, Padded};

/// Where every shard goes, and the way back. `dispatch` has a destination per rank and slot, or per rank, slot and replica;
/// then every replica comes back to a plane of its own.
///
/// # Errors
/// [`Error::NoRanks`], [`Error::Axes`], [`Error::Shape`], [`Error::Destination`], [`Error::NegativeLength`],
/// [`Error::Overflow`], [`Error::TooLarge`].
pub fn compute_metadata(seq_len: &Padded, dispatch: &Padded) -> Result<(Metadata, Metadata), Error> {
    let (world_size, slots, replicas) = axes(dispatch)?;
    seq_len.expect_shape("seq_len", &[world_size, slots])?;
    check_lengths(seq_len, replicas)?;

    // Per rank: tokens and slots received so far.
    let mut tokens_at = vec![0_i64; world_size];
    let mut slots_at = vec![0_i64; world_size];
    let mut counts = Counts::new(world_size)?;
    let mut dst_offset = Padded::filled(dispatch.shape(), 0)?;
    let mut slot_there = Vec::with_capacity(dispatch.values().len());
    for (at, (&destination, offset)) in dispatch.values().iter().zip(dst_offset.values_mut()).enumerate() {
        let place = Place::of(at, slots, replicas);
        let Some(to) = place.destination(destination, world_size)? else {
            slot_there.push(0);
            continue;
        };
        let tokens = seq_len.row(place.rank)[place.slot];
        slot_there.push(slots_at[to] as usize);
        *offset = tokens_at[to];
        tokens_at[to] += tokens;
        slots_at[to] += 1;
        counts.add(to, place.rank, tokens);
    }

    let (starts, held) = starts(seq_len)?;
    let mut reverse = Reverse::new(&slots_at)?;
    for (at, (&destination, &slot)) in dispatch.values().iter().zip(&slot_there).enumerate() {
        let Ok(to) = usize::try_from(destination) else { continue };
        let place = Place::of(at, slots, replicas);
        let offset = place.replica as i64 * held[place.rank] + starts.row(place.rank)[place.slot];
        reverse.set(to, slot, place.rank, offset, seq_len.row(place.rank)[place.slot]);
    }

    let [(num_recv_tokens, totals), (rev_recv_tokens, rev_totals)] = counts.finish()?;
    let replicated = dispatch.shape().len() == 3;
    let forward = Metadata {
        dst_rank: dispatch.clone(),
        dst_offset,
        seq_len: seq_len.clone(),
        num_recv_tokens,
        seq_recv_mask: None,
        recv_seq_lens: None,
        num_seqs: slots_with_tokens(seq_len),
        world_size,
        num_total_recv_tokens: Some(totals),
    };
    let reverse = Metadata {
        num_seqs: reverse.slots_with_tokens(),
        dst_rank: reverse.dst_rank,
        dst_offset: reverse.dst_offset,
        seq_len: reverse.seq_len,
        num_recv_tokens: rev_recv_tokens,
        seq_recv_mask: replicated.then(|| sent(dispatch)).transpose()?,
        recv_seq_lens: replicated.then(|| seq_len.clone()),
        world_size,
        num_total_recv_tokens: Some(rev_totals),
    };
    Ok((forward, reverse))
}

/// 1 where there is a destination.
pub(super) fn sent(dispatch: &Padded) -> Result<Padded, Error> {
    Padded::new(dispatch.shape(), dispatch.values().iter().map(|&to| i64::from(to >= 0)).collect())
}

/// Ranks, slots and replicas of a dispatch.
fn axes(dispatch: &Padded) -> Result<(usize, usize, usize), Error> {
    match *dispatch.shape() {
        [0, ..] => Err(Error::NoRanks),
        [ranks, slots] => Ok((ranks, slots, 1)),
        [ranks, slots, replicas] => Ok((ranks, slots, replicas)),
        _ => Err(Error::Axes { what: "dispatch", expected: "two or three are asked for", found: dispatch.shape().len() }),
    }
}

/// Lengths must not be negative, and every copy of every shard together must fit: then so does each sum of some of them.
pub(super) fn check_lengths(lengths: &Padded, copies: usize) -> Result<(), Error> {
    check_lengths_where(lengths, copies, |_, _| true)
}

/// The same of the slots that `is_used` names by rank and slot; what the others hold is padding.
pub(super) fn check_lengths_where(
    lengths: &Padded,
    copies: usize,
    is_used: impl Fn(usize, usize) -> bool,
) -> Result<(), Error> {
    let mut sum = 0_i64;
    for (rank, row) in lengths.rows().enumerate() {
        for (slot, &tokens) in row.iter().enumerate().filter(|&(slot, _)| is_used(rank, slot)) {
            if tokens < 0 {
                return Err(Error::NegativeLength { rank, slot, tokens });
            }
            sum = sum.checked_add(tokens).ok_or(OVERFLOW)?;
        }
    }
    i64::try_from(copies.max(1)).ok().and_then(|copies| sum.checked_mul(copies)).map(drop).ok_or(OVERFLOW)
}

const OVERFLOW: Error = Error::Overflow { what: "the tokens of all shards and their copies" };

/// Where each shard begins on its own rank, and the tokens of each rank. Lengths must have been checked.
pub(super) fn starts(lengths: &Padded) -> Result<(Padded, Vec<i64>), Error> {
    let mut starts = Padded::filled(lengths.shape(), 0)?;
    let mut held = Vec::new();
    for (rank, row) in lengths.rows().enumerate() {
        let mut end = 0;
        for (start, tokens) in starts.row_mut(rank).iter_mut().zip(row) {
            *start = end;
            end += tokens;
        }
        held.push(end);
    }
    Ok((starts, held))
}

/// Rank, slot and replica of an entry.
pub(super) struct Place {
    pub(super) rank: usize,
    pub(super) slot: usize,
    pub(super) replica: usize,
}

impl Place {
    pub(super) fn of(entry: usize, slots: usize, replicas: usize) -> Self {
        let (shard, replica) = (entry / replicas, entry % replicas);
        Self { rank: shard / slots, slot: shard % slots, replica }
    }

    /// The rank that `destination` names; `None` for -1.
    pub(super) fn destination(&self, destination: i64, world_size: usize) -> Result<Option<usize>, Error> {
        match usize::try_from(destination) {
            Ok(to) if to < world_size => Ok(Some(to)),
            Err(_) if destination == -1 => Ok(None),
            _ => Err(Error::Destination { rank: self.rank, slot: self.slot, replica: self.replica, destination, world_size }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(rows: &[&[i64]]) -> Padded {
        Padded::new(&[rows.len(), rows[0].len()], rows.concat()).unwrap()
    }

    #[test]
    fn what_the_original_lets_pass_is_refused() {
        let lengths = tensor(&[&[4, 4], &[4, 4]]);
        for destination in [2, -2, i64::MAX, i64::MIN] {
            let refused = compute_metadata(&lengths, &tensor(&[&[0, destination], &[1, 0]]));
            assert_eq!(refused, Err(Error::Destination { rank: 0, slot: 1, replica: 0, destination, world_size: 2 }));
        }
        let dispatch = tensor(&[&[0, 1], &[1, 0]]);
        assert!(matches!(compute_metadata(&lengths, &tensor(&[&[0], &[1]])), Err(Error::Shape { .. })));
        assert!(matches!(compute_metadata(&lengths, &Padded::flat(vec![0, 1])), Err(Error::Axes { .. })));
        let refused = compute_metadata(&tensor(&[&[4, -4], &[4, 4]]), &dispatch);
        assert_eq!(refused, Err(Error::NegativeLength { rank: 0, slot: 1, tokens: -4 }));
        let refused = compute_metadata(&tensor(&[&[i64::MAX, 0], &[1, 4]]), &dispatch);
        assert!(matches!(refused, Err(Error::Overflow { .. })));
        let none = compute_metadata(&Padded::filled(&[0, 3], 0).unwrap(), &Padded::filled(&[0, 3], 0).unwrap());
        assert_eq!(none, Err(Error::NoRanks));
    }

    #[test]
    fn a_plan_that_sends_nothing_is_legal_and_has_no_slots() {
        let (forward, reverse) = compute_metadata(&tensor(&[&[0, 0], &[0, 0]]), &tensor(&[&[-1, -1], &[-1, -1]])).unwrap();
        assert_eq!(reverse.dst_rank.shape(), [2, 0]);
        assert_eq!(forward.num_total_recv_tokens, Some(vec![0, 0]));
        for empty in [[2, 0].as_slice(), &[2, 0, 2], &[2, 2, 0]] {
            let lengths = Padded::filled(&empty[..2], 0).unwrap();
            let (_, reverse) = compute_metadata(&lengths, &Padded::filled(empty, -1).unwrap()).unwrap();
            assert_eq!(reverse.dst_rank.shape(), [2, 0]);
        }
    }
}
