//! Byte offsets from a list of moves. A message holds the moves of one tensor after those of the other, each in the order of
//! its list; so one cursor per pair of ranks gives the offset on both sides.

use super::{Offsets, PairMatrix, transposed};
use crate::Error;

/// What one tensor moves from the linear to the attention layout.
pub(super) struct Moves {
    pub(super) list: Vec<Move>,
    /// Slots on each sender, with or without replicas.
    pub(super) send_slots: Vec<SendSlots>,
    /// Slots on each receiver.
    pub(super) recv_slots: Vec<usize>,
    /// What stands where a replica is not sent.
    pub(super) unused: i64,
}

#[derive(Clone, Copy)]
pub(super) struct SendSlots {
    pub(super) replicas: Option<usize>,
    pub(super) slots: usize,
}

/// A shard on its way.
#[derive(Clone, Copy)]
pub(super) struct Move {
    pub(super) from: usize,
    pub(super) replica: usize,
    pub(super) slot: usize,
    pub(super) to: usize,
    pub(super) to_slot: usize,
    pub(super) tokens: u64,
    /// The slot at the receiver that holds the same shard already: nothing is sent, the slot reads the same bytes.
    pub(super) copy_of: Option<usize>,
}

/// The four matrices and the offsets of every tensor.
pub(super) struct Layout {
    pub(super) sender_send_disp: PairMatrix,
    pub(super) sender_transfer_sz: PairMatrix,
    pub(super) sender_recv_disp: PairMatrix,
    pub(super) recver_transfer_sz: PairMatrix,
    pub(super) send_memcpy: Vec<Vec<Offsets>>,
    pub(super) recv_memcpy: Vec<Vec<Offsets>>,
}

impl Layout {
    /// Lays out `tensors`, each with the bytes of its rows.
    pub(super) fn new(world_size: usize, tensors: &[(&Moves, u64)]) -> Result<Self, Error> {
        let sender_transfer_sz = transfer_sizes(world_size, tensors)?;
        let recver_transfer_sz = transposed(&sender_transfer_sz);
        let sender_send_disp = starts_by_row(&sender_transfer_sz);
        let sender_recv_disp = transposed(&starts_by_row(&recver_transfer_sz));

        let mut taken = vec![vec![0; world_size]; world_size];
        let (mut send_memcpy, mut recv_memcpy) = (Vec::new(), Vec::new());
        for (moves, row_bytes) in tensors {
            let mut send: Vec<_> = moves.send_slots.iter().map(|slots| slots.filled(moves.unused)).collect();
            let mut recv: Vec<_> = moves.recv_slots.iter().map(|slots| vec![0; *slots]).collect();
            for step in &moves.list {
                if let Some(main) = step.copy_of {
                    recv[step.to][step.to_slot] = recv[step.to][main];
                    continue;
                }
                let before: &mut u64 = &mut taken[step.from][step.to];
                send[step.from].set(step.replica, step.slot, (sender_send_disp[step.from][step.to] + *before) as i64);
                recv[step.to][step.to_slot] = (sender_recv_disp[step.from][step.to] + *before) as i64;
                *before += step.tokens * row_bytes;
            }
            send_memcpy.push(send);
            recv_memcpy.push(recv.into_iter().map(Offsets::Shards).collect());
        }
        Ok(Self { sender_send_disp, sender_transfer_sz, sender_recv_disp, recver_transfer_sz, send_memcpy, recv_memcpy })
    }
}

impl SendSlots {
    fn filled(self, value: i64) -> Offsets {
        match self.replicas {
            None => Offsets::Shards(vec![0; self.slots]),
            Some(replicas) => Offsets::Replicas(vec![vec![value; self.slots]; replicas]),
        }
    }
}

impl Offsets {
    fn set(&mut self, replica: usize, slot: usize, offset: i64) {
        match self {
            Self::Shards(offsets) => offsets[slot] = offset,
            Self::Replicas(offsets) => offsets[replica][slot] = offset,
        }
    }
}

/// Bytes from rank to rank. No sum of them exceeds what the offsets, which are signed, can hold.
fn transfer_sizes(world_size: usize, tensors: &[(&Moves, u64)]) -> Result<PairMatrix, Error> {
    let mut sizes = vec![vec![0; world_size]; world_size];
    let mut total = 0_u64;
    for (moves, row_bytes) in tensors {
        for step in moves.list.iter().filter(|step| step.copy_of.is_none()) {
            let sums = step.tokens.checked_mul(*row_bytes).and_then(|bytes| Some((bytes, total.checked_add(bytes)?)));
            let (bytes, sum) =
                sums.filter(|(_, sum)| *sum <= i64::MAX as u64).ok_or(Error::Overflow { what: "the bytes of one exchange" })?;
            total = sum;
            sizes[step.from][step.to] += bytes;
        }
    }
    Ok(sizes)
}

/// Where each of `sizes` starts when they lie back to back.
pub(super) fn starts(sizes: &[u64]) -> Vec<u64> {
    sizes.iter().scan(0, |end, size| Some(std::mem::replace(end, *end + size))).collect()
}

fn starts_by_row(sizes: &PairMatrix) -> PairMatrix {
    sizes.iter().map(|row| starts(row)).collect()
}
