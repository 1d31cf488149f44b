//! The byte simulator: executes an exchange in memory, for all ranks at once, through the same buffers and the same copies as a
//! real transport. What arrives here is what must arrive everywhere.
//!
//! Bytes are bytes; only the sums of gradients, and the merging of partial outputs, need to know what an element is.

mod element;
mod keep;
mod merge;
pub mod noise;
pub mod proof;
pub mod reference;

use std::borrow::Cow;
use std::ops::Range;

use rankscope_time::Rank;
use rayon::prelude::*;

use crate::{Error, Exchange, ExchangeFault as Fault, Join, RankExchange, RowCopy, RowSum, Step, TensorRows};

pub use element::ElementType;
pub use keep::{Kept, KeptRows};
use merge::Outputs;

/// Executes `exchange`. `inputs` and the result hold the tensors of every rank, by rank, then by position in
/// [`Exchange::tensors`], rows back to back. Output rows that nothing is copied to are zero.
///
/// # Errors
/// [`Error::Exchange`] when the exchange cannot be executed or the inputs have other sizes than it says.
pub fn execute(exchange: &Exchange, element: ElementType, inputs: &[Vec<Vec<u8>>]) -> Result<Vec<Vec<Vec<u8>>>, Error> {
    exchange.validate()?;
    if inputs.len() != exchange.ranks.len() {
        let fault = Fault::Inputs { given: inputs.len(), ranks: exchange.ranks.len() };
        return Err(Error::Exchange { rank: Rank(inputs.len() as u32), fault });
    }
    let packed = exchange.ranks.par_iter().zip(inputs).map(|(part, input)| pack(part, &exchange.tensors, element, input));
    let sent: Vec<Vec<u8>> = packed.collect::<Result<_, _>>()?;
    let arrive = |part: &RankExchange| {
        let mut received = zeros(part, Some(part.receive_bytes))?;
        for message in &part.receives {
            let run = |at: u64| at as usize..(at + message.bytes) as usize;
            received[run(message.at)].copy_from_slice(&sent[message.peer.0 as usize][run(message.peer_at)]);
        }
        unpack(part, &exchange.tensors, element, &received)
    };
    exchange.ranks.par_iter().map(arrive).collect()
}

/// The send buffer of one rank: sums what is summed before, then copies rows. Padding is zero.
///
/// # Errors
/// [`Error::Exchange`] when the rank's part or its input cannot be right.
pub fn pack(part: &RankExchange, tensors: &[TensorRows], element: ElementType, input: &[Vec<u8>]) -> Result<Vec<u8>, Error> {
    pack_rows(part, tensors, &summed(part, tensors, element, input)?)
}

/// The tensors of one rank with the sums that come before an exchange; those that have none as they are.
///
/// # Errors
/// [`Error::Exchange`] when the rank's part or its input cannot be right.
pub fn summed<'a>(
    part: &RankExchange,
    tensors: &[TensorRows],
    element: ElementType,
    input: &'a [Vec<u8>],
) -> Result<Vec<Cow<'a, [u8]>>, Error> {
    let sizes = tensors.iter().zip(&part.input_rows).map(|(tensor, rows)| tensor.row_bytes.checked_mul(*rows));
    if !sizes.eq(input.iter().map(|tensor| Some(tensor.len() as u64))) {
        return Err(refused(part, Fault::InputSizes));
    }
    let mut input: Vec<Cow<'_, [u8]>> = input.iter().map(|tensor| Cow::Borrowed(tensor.as_slice())).collect();
    for (index, (tensor, rows)) in tensors.iter().zip(&mut input).enumerate() {
        let sums = of_tensor(&part.sums_before, index);
        if !sums.is_empty() {
            add(part, tensor, element, &sums, rows.to_mut())?;
        }
    }
    Ok(input)
}

/// The send buffer of one rank from tensors in which all is summed.
///
/// # Errors
/// [`Error::Exchange`] when the rank's part or its input cannot be right.
pub fn pack_rows(part: &RankExchange, tensors: &[TensorRows], input: &[Cow<'_, [u8]>]) -> Result<Vec<u8>, Error> {
    let mut buffer = zeros(part, Some(part.send_bytes))?;
    for copy in &part.pack {
        let (tensor, rows, wire) = ranges(part, tensors, Step::Pack, copy)?;
        let from = input.get(copy.tensor as usize).and_then(|tensor| tensor.get(rows));
        let (Some(from), Some(into)) = (from, buffer.get_mut(wire)) else {
            return Err(refused(part, Fault::CopyOutside { step: Step::Pack, copy: *copy }));
        };
        copy_rows(tensor.row_bytes, from, tensor.row_bytes, into, tensor.wire_row_bytes);
    }
    Ok(buffer)
}

/// The tensors of one rank after the exchange, from its receive buffer.
///
/// # Errors
/// [`Error::Exchange`] when the rank's part or its buffer cannot be right.
pub fn unpack(part: &RankExchange, tensors: &[TensorRows], element: ElementType, buffer: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let mut output = unpack_rows(part, tensors, buffer)?;
    sum_after(part, tensors, element, &mut output)?;
    Ok(output)
}

/// The same before anything is summed.
///
/// # Errors
/// [`Error::Exchange`] when the rank's part or its buffer cannot be right.
pub fn unpack_rows(part: &RankExchange, tensors: &[TensorRows], buffer: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let sizes = tensors.iter().zip(&part.output_rows).map(|(tensor, rows)| tensor.row_bytes.checked_mul(*rows));
    let mut output: Vec<Vec<u8>> = sizes.map(|bytes| zeros(part, bytes)).collect::<Result<_, _>>()?;
    for copy in &part.unpack {
        let (tensor, rows, wire) = ranges(part, tensors, Step::Unpack, copy)?;
        let (Some(into), Some(from)) = (output[copy.tensor as usize].get_mut(rows), buffer.get(wire)) else {
            return Err(refused(part, Fault::CopyOutside { step: Step::Unpack, copy: *copy }));
        };
        copy_rows(tensor.row_bytes, from, tensor.wire_row_bytes, into, tensor.row_bytes);
    }
    Ok(output)
}

/// Sums what is summed after an exchange.
///
/// # Errors
/// [`Error::Exchange`] when the rank's part cannot be right.
pub fn sum_after(
    part: &RankExchange,
    tensors: &[TensorRows],
    element: ElementType,
    output: &mut [Vec<u8>],
) -> Result<(), Error> {
    for (index, (tensor, rows)) in tensors.iter().zip(output).enumerate() {
        add(part, tensor, element, &of_tensor(&part.sums_after, index), rows)?;
    }
    Ok(())
}

/// All rows at once where neither side has padding.
fn copy_rows(row_bytes: u64, from: &[u8], from_stride: u64, into: &mut [u8], into_stride: u64) {
    if from_stride == into_stride {
        return into.copy_from_slice(from);
    }
    let row_bytes = row_bytes as usize;
    for (from, into) in from.chunks_exact(from_stride as usize).zip(into.chunks_exact_mut(into_stride as usize)) {
        into[..row_bytes].copy_from_slice(&from[..row_bytes]);
    }
}

fn of_tensor(sums: &[RowSum], tensor: usize) -> Vec<RowSum> {
    sums.iter().filter(|sum| sum.tensor as usize == tensor).copied().collect()
}

/// Joins rows within one tensor, in order.
fn add(part: &RankExchange, tensor: &TensorRows, element: ElementType, sums: &[RowSum], rows: &mut [u8]) -> Result<(), Error> {
    let row_bytes = tensor.row_bytes;
    if !sums.is_empty() && !row_bytes.is_multiple_of(element.bytes()) {
        return Err(refused(part, Fault::PartialElement { row_bytes, element }));
    }
    let inside = |row: u64, count: u64| {
        let bytes = range(row.checked_mul(row_bytes)?, count.checked_mul(row_bytes)?)?;
        (bytes.end <= rows.len()).then_some(bytes)
    };
    let ranges = |sum: &RowSum| {
        let (into, from) = (inside(sum.into, sum.rows)?, inside(sum.from, sum.rows)?);
        (into.end <= from.start || from.end <= into.start).then_some((into, from))
    };
    let pairs: Option<Vec<_>> = sums.iter().map(ranges).collect();
    let pairs = pairs.ok_or_else(|| refused(part, Fault::Sums))?;
    match tensor.join {
        _ if pairs.is_empty() => {}
        Join::Add => element.add(rows, &pairs),
        Join::Merge { heads } => Outputs::new(element, row_bytes, heads)
            .ok_or_else(|| refused(part, Fault::NoOutputs { row_bytes, heads, element }))?
            .merge(rows, &pairs),
    }
    Ok(())
}

/// The tensor of a copy, and the bytes of the copy in the tensor and in the buffer.
fn ranges<'a>(
    part: &RankExchange,
    tensors: &'a [TensorRows],
    step: Step,
    copy: &RowCopy,
) -> Result<(&'a TensorRows, Range<usize>, Range<usize>), Error> {
    let ranges = || {
        let tensor = tensors.get(copy.tensor as usize).filter(|tensor| tensor.row_bytes <= tensor.wire_row_bytes)?;
        let rows = range(copy.row.checked_mul(tensor.row_bytes)?, copy.rows.checked_mul(tensor.row_bytes)?)?;
        Some((tensor, rows, range(copy.at, copy.rows.checked_mul(tensor.wire_row_bytes)?)?))
    };
    ranges().ok_or_else(|| refused(part, Fault::CopyOutside { step, copy: *copy }))
}

fn range(at: u64, bytes: u64) -> Option<Range<usize>> {
    let end = at.checked_add(bytes)?;
    Some(usize::try_from(at).ok()?..usize::try_from(end).ok()?)
}

/// Zeros of a size that this machine can at least address.
fn zeros(part: &RankExchange, bytes: Option<u64>) -> Result<Vec<u8>, Error> {
    let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok()).filter(|bytes| *bytes <= isize::MAX as usize);
    bytes.map(|bytes| vec![0; bytes]).ok_or_else(|| refused(part, Fault::Unaddressable))
}

fn refused(part: &RankExchange, fault: Fault) -> Error {
    Error::Exchange { rank: part.rank, fault }
}
