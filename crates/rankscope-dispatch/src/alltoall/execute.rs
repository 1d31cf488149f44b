//! The original's metadata as an [`Exchange`], so that what it means can be executed and compared.

use rankscope_time::Rank;

use super::layout::starts;
use super::{FastAllToAll, Offsets, SeqLens};
use crate::{Error, Exchange, Message, RankExchange, RowCopy, RowSum, TensorRows};

impl FastAllToAll {
    /// The same bytes as an exchange of `tensors`, which name what is moved and give the sizes of rows.
    ///
    /// # Errors
    /// [`Error::Exchange`] where the metadata cannot be executed: where a query shard without a destination takes part, for
    /// one, because its offset of 0 cannot be told from a place.
    pub fn exchange(&self, tensors: &[TensorRows]) -> Result<Exchange, Error> {
        let exchange =
            Exchange { tensors: tensors.to_vec(), ranks: (0..self.world_size()).map(|rank| self.part(rank)).collect() };
        exchange.validate()?;
        Ok(exchange)
    }

    fn part(&self, rank: usize) -> RankExchange {
        let mut part = RankExchange {
            rank: Rank(rank as u32),
            sends: Vec::new(),
            receives: Vec::new(),
            send_bytes: self.sender_transfer_sz[rank].iter().sum(),
            receive_bytes: self.recver_transfer_sz[rank].iter().sum(),
            input_rows: Vec::new(),
            output_rows: Vec::new(),
            pack: Vec::new(),
            unpack: Vec::new(),
            sums_before: Vec::new(),
            sums_after: Vec::new(),
        };
        for peer in 0..self.world_size() {
            let (send, receive) = (self.sender_transfer_sz[rank][peer], self.recver_transfer_sz[rank][peer]);
            let (at, peer_at) = (self.sender_send_disp[rank][peer], self.sender_recv_disp[rank][peer]);
            let sends = Message { peer: Rank(peer as u32), at, peer_at, bytes: send };
            let (at, peer_at) = (self.sender_recv_disp[peer][rank], self.sender_send_disp[peer][rank]);
            let receives = Message { at, peer_at, bytes: receive, ..sends };
            part.sends.extend((send > 0).then_some(sends));
            part.receives.extend((receive > 0).then_some(receives));
        }
        for (index, (send, recv)) in self.send_memcpy.iter().zip(&self.recv_memcpy).enumerate() {
            let SeqLens { send: send_lens, recv: recv_lens } = &self.seq_lens[index.min(1)];
            let (tensor, masks) = (index as u32, self.kv_replica_mask.as_ref().map(|masks| &masks[rank]));
            let sums = self.kv_grad_send_dedup.as_ref().filter(|_| index > 0).map(|sums| &sums[rank]);

            let from = Side { tensor, offsets: &send[rank], lens: &send_lens[rank], masks, planes: false };
            let into = Side { tensor, offsets: &recv[rank], lens: &recv_lens[rank], masks, planes: true };
            let is_main = |slot: usize| sums.is_none_or(|sums| sums.main_copy_mask[slot] == 1);
            part.pack.extend(from.copies().into_iter().filter(|(slot, _)| is_main(*slot)).map(|(_, copy)| copy));
            part.unpack.extend(into.copies().into_iter().map(|(_, copy)| copy));
            part.input_rows.push(from.rows());
            part.output_rows.push(into.rows());

            if let Some(sums) = sums {
                let starts = starts(&send_lens[rank]);
                for (slot, copies) in sums.copy_start_id.iter().enumerate() {
                    let (into, rows) = (starts[slot], send_lens[rank][slot]);
                    let copies = copies.iter().take(sums.num_copies[slot] as usize).filter(|_| rows > 0);
                    part.sums_before.extend(copies.map(|&from| RowSum { tensor, into, from, rows }));
                }
            }
            if let (Offsets::Replicas(planes), Some(masks)) = (&recv[rank], masks) {
                let (starts, plane_rows) = (starts(&recv_lens[rank]), recv_lens[rank].iter().sum::<u64>());
                for plane in 1..planes.len() {
                    let valid = (0..masks.len()).filter(|&slot| masks[slot][plane] == 1 && recv_lens[rank][slot] > 0);
                    part.sums_after.extend(valid.map(|slot| {
                        let (into, rows) = (starts[slot], recv_lens[rank][slot]);
                        RowSum { tensor, into, from: plane as u64 * plane_rows + into, rows }
                    }));
                }
            }
        }
        part
    }
}

/// One side of one tensor on one rank.
struct Side<'a> {
    tensor: u32,
    offsets: &'a Offsets,
    lens: &'a [u64],
    masks: Option<&'a Vec<Vec<u8>>>,
    /// Replicas leave from one and the same tensor and return to a plane each.
    planes: bool,
}

impl Side<'_> {
    /// Slots of the shards, or replicas of shards, that have a place in a message, and where it is.
    fn copies(&self) -> Vec<(usize, RowCopy)> {
        let replicas = match self.offsets {
            Offsets::Shards(offsets) => std::slice::from_ref(offsets),
            Offsets::Replicas(replicas) => replicas.as_slice(),
        };
        let (starts, plane_rows) = (starts(self.lens), self.lens.iter().sum::<u64>());
        let mut copies = Vec::new();
        for (replica, offsets) in replicas.iter().enumerate() {
            let plane = if self.planes { replica as u64 * plane_rows } else { 0 };
            for (slot, (&rows, &at)) in self.lens.iter().zip(offsets).enumerate() {
                let is_sent = match (self.offsets, self.masks) {
                    (Offsets::Replicas(_), Some(masks)) => masks[slot][replica] == 1,
                    _ => true,
                };
                if is_sent && rows > 0 {
                    copies.push((slot, RowCopy { tensor: self.tensor, row: plane + starts[slot], rows, at: at as u64 }));
                }
            }
        }
        copies
    }

    fn rows(&self) -> u64 {
        let planes = match self.offsets {
            Offsets::Replicas(replicas) if self.planes => replicas.len() as u64,
            _ => 1,
        };
        planes * self.lens.iter().sum::<u64>()
    }
}
