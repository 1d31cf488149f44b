//! What a rank keeps: rows that it would send itself go from the tensor before the exchange straight to the tensor after it,
//! and through no buffer. Any backend may do so; what arrives is the same.
//!
//! The simulator does not. What it says is then a second opinion.

use std::borrow::Cow;

use super::refused;
use crate::{Error, ExchangeFault as Fault, Message, RankExchange, RowCopy, TensorRows};

/// One rank's part of an exchange, taken apart into what crosses and what stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The part without the rank's message to itself and the copies that pack and unpack it. Buffers are as long as before, so
    /// that the other ranks find everything where they expect it; nobody touches the room of what stays.
    pub crossing: RankExchange,
    /// What stays.
    pub rows: Vec<KeptRows>,
}

/// Consecutive rows of a tensor before an exchange that are rows of the same tensor after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptRows {
    /// Position in [`Exchange::tensors`](crate::Exchange::tensors).
    pub tensor: u32,
    /// First row before.
    pub from: u64,
    /// First row after.
    pub into: u64,
    /// How many rows.
    pub rows: u64,
}

impl Kept {
    /// Takes `part` apart. Where the copies of the message to itself do not fit together, which no exchange that was built here
    /// does, everything crosses: buffers say best what that gives.
    #[must_use]
    pub fn of(part: &RankExchange, tensors: &[TensorRows]) -> Self {
        let whole = || Self { crossing: part.clone(), rows: Vec::new() };
        let own = |messages: &[Message]| messages.iter().find(|message| message.peer == part.rank).copied();
        let (Some(sent), Some(received)) = (own(&part.sends), own(&part.receives)) else { return whole() };
        if sent.bytes != received.bytes {
            return whole();
        }
        let sides = divided(&part.pack, tensors, &sent).zip(divided(&part.unpack, tensors, &received));
        let Some(((mut packed, pack), (unpacked, unpack))) = sides else { return whole() };
        packed.sort_unstable_by_key(|copy| copy.at);
        let rows: Option<Vec<_>> = unpacked.iter().map(|copy| direct(copy, &packed, tensors)).collect();
        let Some(rows) = rows else { return whole() };
        let others = |messages: &[Message]| messages.iter().filter(|message| message.peer != part.rank).copied().collect();
        let crossing =
            RankExchange { sends: others(&part.sends), receives: others(&part.receives), pack, unpack, ..part.clone() };
        Self { crossing, rows: rows.concat() }
    }

    /// Copies what stays.
    ///
    /// # Errors
    /// [`Error::Exchange`] when the tensors have other sizes than the exchange says.
    pub fn copy(&self, tensors: &[TensorRows], input: &[Cow<'_, [u8]>], output: &mut [Vec<u8>]) -> Result<(), Error> {
        for kept in &self.rows {
            let run = |row: u64| {
                let row_bytes = tensors.get(kept.tensor as usize)?.row_bytes;
                super::range(row.checked_mul(row_bytes)?, kept.rows.checked_mul(row_bytes)?)
            };
            let from = run(kept.from).and_then(|rows| input.get(kept.tensor as usize)?.get(rows));
            let into = run(kept.into).and_then(|rows| output.get_mut(kept.tensor as usize)?.get_mut(rows));
            let (Some(from), Some(into)) = (from, into) else { return Err(refused(&self.crossing, Fault::InputSizes)) };
            into.copy_from_slice(from);
        }
        Ok(())
    }
}

/// Copies inside of a message, counted from where it begins, and those outside of it. A copy may go on from one message to the
/// next, after a whole row.
fn divided(copies: &[RowCopy], tensors: &[TensorRows], message: &Message) -> Option<(Vec<RowCopy>, Vec<RowCopy>)> {
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for copy in copies {
        let wire = tensors.get(copy.tensor as usize)?.wire_row_bytes;
        let end = copy.at.checked_add(copy.rows.checked_mul(wire)?)?;
        let (first, last) = (message.at.clamp(copy.at, end), message.at.checked_add(message.bytes)?.clamp(copy.at, end));
        let mut cut = |from: u64, to: u64, kept: bool| {
            let whole = from == to || (from - copy.at).is_multiple_of(wire) && (to - copy.at).is_multiple_of(wire);
            if from < to && whole {
                let (row, rows) = (copy.row + (from - copy.at) / wire, (to - from) / wire);
                let (list, at) = if kept { (&mut inside, from - message.at) } else { (&mut outside, from) };
                list.push(RowCopy { tensor: copy.tensor, row, rows, at });
            }
            whole.then_some(())
        };
        cut(copy.at, first, false)?;
        cut(first, last, true)?;
        cut(last, end, false)?;
    }
    Some((inside, outside))
}

/// Where the rows of an unpacking copy lie before they are packed; `packed` is in the order of the message.
fn direct(copy: &RowCopy, packed: &[RowCopy], tensors: &[TensorRows]) -> Option<Vec<KeptRows>> {
    let wire = tensors.get(copy.tensor as usize)?.wire_row_bytes;
    let mut rows = Vec::new();
    let mut done = 0;
    while done < copy.rows {
        let at = copy.at + done * wire;
        let source = packed.get(packed.partition_point(|source| source.at <= at).checked_sub(1)?)?;
        let before = (at - source.at) / wire.max(1);
        let fits = source.tensor == copy.tensor && (at - source.at).is_multiple_of(wire) && before < source.rows;
        let count = (fits.then_some(source.rows - before)?).min(copy.rows - done);
        rows.push(KeptRows { tensor: copy.tensor, from: source.row + before, into: copy.row + done, rows: count });
        done += count;
    }
    Some(rows)
}
