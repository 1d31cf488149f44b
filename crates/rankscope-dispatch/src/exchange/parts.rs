//! The parts of all ranks, or of one, while they are written: copies that go on where another ends become one, and what is
//! written of keys is written of values.

use rankscope_time::Rank;

use super::blocks::{Block, Wire};
use super::{Direction, Message, RankExchange, RowCopy, RowSum};

/// Parts that grow.
pub(super) struct Parts {
    pub(super) ranks: Vec<RankExchange>,
    direction: Direction,
    only: Option<Rank>,
    wire: Wire,
}

/// The two sides of a message.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Side {
    Linear,
    Attention,
}

impl Parts {
    /// Nothing yet, for all ranks or for one.
    pub(super) fn new(world_size: u32, tensors: usize, direction: Direction, only: Option<Rank>, wire: Wire) -> Self {
        let ranks = only.map_or(0..world_size, |rank| rank.0..rank.0 + 1);
        Self { ranks: ranks.map(|rank| RankExchange::empty(Rank(rank), tensors)).collect(), direction, only, wire }
    }

    /// What is sent and received, and the buffers for it. Blocks are by linear rank, then attention rank.
    pub(super) fn messages(&mut self, blocks: &[Block], linear_bytes: &[u64], attention_bytes: &[u64]) {
        for block in blocks {
            let bytes = block.bytes(self.wire);
            if bytes == 0 {
                continue;
            }
            let linear = Message { peer: Rank(block.attention), at: block.linear_at, peer_at: block.attention_at, bytes };
            let attention = Message { peer: Rank(block.linear), at: block.attention_at, peer_at: block.linear_at, bytes };
            for (rank, side, message) in [(block.linear, Side::Linear, linear), (block.attention, Side::Attention, attention)] {
                let sends = self.sends(side);
                let Some(part) = self.rank(rank) else { continue };
                if sends { &mut part.sends } else { &mut part.receives }.push(message);
            }
        }
        let linear_sends = self.sends(Side::Linear);
        for part in &mut self.ranks {
            let rank = part.rank.0 as usize;
            let (linear, attention) = (linear_bytes[rank], attention_bytes[rank]);
            (part.send_bytes, part.receive_bytes) = if linear_sends { (linear, attention) } else { (attention, linear) };
        }
    }

    /// A copy of queries, or of what has a row for each of them.
    pub(super) fn copy_queries(&mut self, side: Side, rank: u32, copy: RowCopy) {
        let wire = self.wire.query;
        let Some(copies) = self.copies(side, rank) else { return };
        match copies.last_mut() {
            _ if copy.rows == 0 => {}
            Some(last) if continues(last, &copy, wire) => last.rows += copy.rows,
            _ => copies.push(copy),
        }
    }

    /// A copy of keys and the like copy of values.
    pub(super) fn copy_contexts(&mut self, side: Side, rank: u32, key: RowCopy, value_after: u64) {
        let wire = self.wire.context;
        let value = RowCopy { tensor: 2, at: key.at + value_after, ..key };
        let Some(copies) = self.copies(side, rank) else { return };
        match copies.as_mut_slice() {
            _ if key.rows == 0 => {}
            [.., last_key, last_value] if continues(last_key, &key, wire) && continues(last_value, &value, wire) => {
                last_key.rows += key.rows;
                last_value.rows += key.rows;
            }
            _ => copies.extend([key, value]),
        }
    }

    /// Rows of the first tensor that are joined: planes on the linear side, copies on the other.
    pub(super) fn sum_queries(&mut self, side: Side, rank: u32, sum: RowSum) {
        let Some(sums) = self.sums(side, rank).filter(|_| sum.rows > 0) else { return };
        match sums.last_mut() {
            Some(last) if goes_on(last, &sum) => last.rows += sum.rows,
            _ => sums.push(sum),
        }
    }

    /// Gradients of keys that are added, and those of values alike.
    pub(super) fn sum_contexts(&mut self, side: Side, rank: u32, key: RowSum) {
        let Some(sums) = self.sums(side, rank).filter(|_| key.rows > 0) else { return };
        match sums.as_mut_slice() {
            [.., last, value] if goes_on(last, &key) && goes_on(value, &RowSum { tensor: 2, ..key }) => {
                last.rows += key.rows;
                value.rows += key.rows;
            }
            _ => sums.extend([key, RowSum { tensor: 2, ..key }]),
        }
    }

    /// Whether that side sends.
    pub(super) fn sends(&self, side: Side) -> bool {
        self.direction.to_attention() == (side == Side::Linear)
    }

    fn sums(&mut self, side: Side, rank: u32) -> Option<&mut Vec<RowSum>> {
        let part = self.rank(rank)?;
        Some(if side == Side::Linear { &mut part.sums_after } else { &mut part.sums_before })
    }

    fn copies(&mut self, side: Side, rank: u32) -> Option<&mut Vec<RowCopy>> {
        let sends = self.sends(side);
        let part = self.rank(rank)?;
        Some(if sends { &mut part.pack } else { &mut part.unpack })
    }

    fn rank(&mut self, rank: u32) -> Option<&mut RankExchange> {
        match self.only {
            None => self.ranks.get_mut(rank as usize),
            Some(only) => (only.0 == rank).then_some(&mut self.ranks[0]),
        }
    }
}

/// Whether `next` goes on where `last` ends, in the tensor and in the buffer.
fn continues(last: &RowCopy, next: &RowCopy, wire: u64) -> bool {
    last.tensor == next.tensor && last.row + last.rows == next.row && last.at + last.rows * wire == next.at
}

fn goes_on(last: &RowSum, next: &RowSum) -> bool {
    last.tensor == next.tensor && (last.into + last.rows, last.from + last.rows) == (next.into, next.from)
}
