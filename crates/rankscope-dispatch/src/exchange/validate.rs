//! Whether an exchange can be executed: every range lies inside its buffer or tensor, nothing is written twice, and what one
//! rank sends is what the other expects. Transports and kernels trust an exchange that has passed.

use std::ops::Range;

use rankscope_time::Rank;

use super::fault::{ExchangeFault as Fault, Step, Way, Written};
use super::{Exchange, Message, RankExchange, RowCopy, RowSum, TensorRows};
use crate::Error;

impl Exchange {
    /// Checks bounds, overlaps, and that sends and receives agree.
    ///
    /// # Errors
    /// [`Error::Exchange`], naming the rank and what is wrong there.
    pub fn validate(&self) -> Result<(), Error> {
        for (index, part) in self.ranks.iter().enumerate() {
            if part.rank.0 as usize != index {
                return Err(refused(Rank(index as u32), Fault::PlaceTaken { by: part.rank }));
            }
            part.validate(&self.tensors)?;
            self.validate_ends(part)?;
        }
        Ok(())
    }

    /// Every message of `part` is listed by its other end, with the same places and size.
    fn validate_ends(&self, part: &RankExchange) -> Result<(), Error> {
        let directions = [(Way::Send, &part.sends), (Way::Receive, &part.receives)];
        for (way, messages) in directions {
            for message in messages {
                let expected = Message { peer: part.rank, at: message.peer_at, peer_at: message.at, bytes: message.bytes };
                let listed = self.ranks.get(message.peer.0 as usize).and_then(|peer| {
                    let others = if way == Way::Send { &peer.receives } else { &peer.sends };
                    others.binary_search_by_key(&part.rank, |other| other.peer).ok().map(|at| others[at])
                });
                if listed != Some(expected) {
                    let Message { peer, bytes, .. } = *message;
                    return Err(refused(part.rank, Fault::Unlisted { way, bytes, peer, listed }));
                }
            }
        }
        Ok(())
    }
}

impl RankExchange {
    /// Checks what can be checked without the other ranks: bounds and overlaps.
    ///
    /// # Errors
    /// [`Error::Exchange`] with the first range that leaves its buffer or tensor, or that is written twice.
    pub fn validate(&self, tensors: &[TensorRows]) -> Result<(), Error> {
        let rank = self.rank;
        if self.input_rows.len() != tensors.len() || self.output_rows.len() != tensors.len() {
            return Err(refused(rank, Fault::TensorCounts { tensors: tensors.len() }));
        }
        messages(rank, Way::Send, &self.sends, self.send_bytes)?;
        messages(rank, Way::Receive, &self.receives, self.receive_bytes)?;

        for copy in &self.pack {
            fits(copy, tensors, &self.input_rows, self.send_bytes).ok_or_else(|| misplaced(rank, Step::Pack, copy))?;
        }
        for copy in &self.unpack {
            fits(copy, tensors, &self.output_rows, self.receive_bytes).ok_or_else(|| misplaced(rank, Step::Unpack, copy))?;
        }
        let wire = |copy: &RowCopy| copy.at..copy.at + copy.rows * tensors[copy.tensor as usize].wire_row_bytes;
        disjoint(rank, Written::PackedBytes, self.pack.iter().map(wire))?;
        for tensor in 0..tensors.len() as u32 {
            let copies = self.unpack.iter().filter(|copy| copy.tensor == tensor);
            disjoint(rank, Written::UnpackedRows, copies.map(|copy| copy.row..copy.row + copy.rows))?;
        }
        sums(rank, &self.sums_before, &self.input_rows)?;
        sums(rank, &self.sums_after, &self.output_rows)
    }
}

/// By peer ascending, none empty, inside the buffer and apart from each other.
fn messages(rank: Rank, way: Way, messages: &[Message], buffer_bytes: u64) -> Result<(), Error> {
    if let Some(pair) = messages.windows(2).find(|pair| pair[0].peer >= pair[1].peer) {
        return Err(refused(rank, Fault::Order { way, peer: pair[1].peer, after: pair[0].peer }));
    }
    let mut ranges = Vec::with_capacity(messages.len());
    for message in messages {
        let range = within(message.at, message.bytes, 1, buffer_bytes).filter(|range| !range.is_empty());
        let Some(range) = range else {
            let Message { peer, at, bytes, .. } = *message;
            return Err(refused(rank, Fault::MessageOutside { way, bytes, at, peer, buffer_bytes }));
        };
        ranges.push(range);
    }
    disjoint(rank, Written::Messages(way), ranges.into_iter())
}

/// Whether rows and bytes of a copy lie inside.
fn fits(copy: &RowCopy, tensors: &[TensorRows], rows: &[u64], buffer_bytes: u64) -> Option<()> {
    let tensor = tensors.get(copy.tensor as usize)?;
    within(copy.row, copy.rows, 1, rows[copy.tensor as usize])?;
    within(copy.at, copy.rows, tensor.wire_row_bytes, buffer_bytes)?;
    (tensor.row_bytes <= tensor.wire_row_bytes).then_some(())
}

fn misplaced(rank: Rank, step: Step, copy: &RowCopy) -> Error {
    refused(rank, Fault::CopyOutside { step, copy: *copy })
}

fn sums(rank: Rank, sums: &[RowSum], rows: &[u64]) -> Result<(), Error> {
    let fits = |sum: &RowSum| {
        let rows = *rows.get(sum.tensor as usize)?;
        let (into, from) = (within(sum.into, sum.rows, 1, rows)?, within(sum.from, sum.rows, 1, rows)?);
        (into.end <= from.start || from.end <= into.start).then_some(())
    };
    match sums.iter().find(|sum| fits(sum).is_none()) {
        Some(sum) => Err(refused(rank, Fault::SumOutside { sum: *sum })),
        None => Ok(()),
    }
}

fn within(at: u64, count: u64, unit: u64, end: u64) -> Option<Range<u64>> {
    let last = at.checked_add(count.checked_mul(unit)?)?;
    (last <= end).then_some(at..last)
}

fn disjoint(rank: Rank, what: Written, ranges: impl Iterator<Item = Range<u64>>) -> Result<(), Error> {
    let mut sorted: Vec<_> = ranges.filter(|range| !range.is_empty()).collect();
    sorted.sort_unstable_by_key(|range| range.start);
    match sorted.windows(2).find(|pair| pair[0].end > pair[1].start) {
        Some(pair) => Err(refused(rank, Fault::Overlap { what, first: pair[0].clone(), second: pair[1].clone() })),
        None => Ok(()),
    }
}

fn refused(rank: Rank, fault: Fault) -> Error {
    Error::Exchange { rank, fault }
}
