//! Bytes to columns.

use super::flags::Flags;
use crate::error::{Codec, ColumnFault, Error};
use crate::frame::{BLOCK_BYTES_MAX, Kind, STRING_BYTES_MAX};
use crate::varint::{take, two_of_word, unzigzag};

/// The columns of a block, in the order in which they were written.
///
/// Every method takes the next column and fails if it holds something else than is asked for.
#[derive(Clone, Debug)]
pub struct Columns<'a> {
    kind: Kind,
    column: usize,
    rest: &'a [u8],
}

/// One column's bytes.
struct Column<'a> {
    rows: usize,
    bytes: &'a [u8],
}

impl<'a> Columns<'a> {
    /// The columns in `bytes`, what a block of `kind` inflates to.
    pub fn new(kind: Kind, bytes: &'a [u8]) -> Self {
        Self { kind, column: 0, rest: bytes }
    }

    /// Unsigned numbers.
    ///
    /// # Errors
    /// [`Error::Column`] if the next column is no such one, or damaged. The same holds for all methods.
    pub fn unsigned(&mut self) -> Result<Vec<u64>, Error> {
        self.next(Codec::Unsigned, |column| column.numbers(column.rows, |value| value))
    }

    /// Signed numbers.
    ///
    /// # Errors
    /// As [`Self::unsigned`].
    pub fn signed(&mut self) -> Result<Vec<i64>, Error> {
        self.next(Codec::Signed, |column| column.numbers(column.rows, unzigzag))
    }

    /// Numbers in ascending order.
    ///
    /// # Errors
    /// As [`Self::unsigned`].
    pub fn sorted(&mut self) -> Result<Vec<i64>, Error> {
        self.next(Codec::Sorted, |column| {
            let (mut last, mut is_fine) = (None, true);
            let values = column.numbers(column.rows, |step| {
                let value = stepped(last, step);
                is_fine &= value.is_some();
                last = value.or(last);
                value.unwrap_or_default()
            })?;
            if is_fine { Ok(values) } else { Err(ColumnFault::Number) }
        })
    }

    /// Disjoint intervals in ascending order.
    ///
    /// # Errors
    /// As [`Self::unsigned`].
    pub fn intervals(&mut self) -> Result<Vec<(i64, i64)>, Error> {
        self.next(Codec::Intervals, |column| {
            let steps = column.rows.checked_mul(2).filter(|steps| *steps <= column.bytes.len()).ok_or(ColumnFault::Cut)?;
            let steps = column.numbers(steps, |step| step)?;
            let (pairs, _) = steps.as_chunks();
            let Some(([first, long], others)) = pairs.split_first() else { return Ok(Vec::new()) };
            let mut is_fine = true;
            let mut stepped = |from: i64, by: u64| {
                let (to, overflows) = from.overflowing_add_unsigned(by);
                is_fine &= !overflows;
                to
            };
            let mut values = Vec::with_capacity(pairs.len());
            let mut start = unzigzag(*first);
            let mut end = stepped(start, *long);
            values.push((start, end));
            for [gap, long] in others {
                start = stepped(end, *gap);
                end = stepped(start, *long);
                values.push((start, end));
            }
            if is_fine { Ok(values) } else { Err(ColumnFault::Number) }
        })
    }

    /// Values of an enum with `variants` of them.
    ///
    /// # Errors
    /// As [`Self::unsigned`], and if a value is none of them.
    pub fn enums(&mut self, variants: u8) -> Result<&'a [u8], Error> {
        self.next(Codec::Enums, |column| {
            let values = column.exactly(column.rows)?;
            match values.iter().find(|value| **value >= variants) {
                Some(found) => Err(ColumnFault::Variant { found: u64::from(*found), known: u64::from(variants) }),
                None => Ok(values),
            }
        })
    }

    /// Values that `of` knows by their numbers.
    pub(crate) fn known<T>(&mut self, of: impl Fn(u8) -> Option<T>) -> Result<Vec<T>, Error> {
        self.next(Codec::Enums, |column| {
            let one = |number: &u8| of(*number).ok_or(ColumnFault::Unknown { found: u64::from(*number) });
            column.exactly(column.rows)?.iter().map(one).collect()
        })
    }

    /// What is wrong with the block as a whole.
    pub(crate) fn misfit(&self, what: &'static str) -> Error {
        Error::Misfit { kind: self.kind, what }
    }

    /// Whether, for each row.
    ///
    /// # Errors
    /// As [`Self::unsigned`].
    pub fn bits(&mut self) -> Result<Vec<bool>, Error> {
        Ok(self.flags()?.iter().collect())
    }

    /// The same without a list of them.
    pub(crate) fn flags(&mut self) -> Result<Flags<'a>, Error> {
        self.next(Codec::Bits, |column| {
            Flags::of(column.exactly(column.rows.div_ceil(8))?, column.rows).ok_or(ColumnFault::TrailingBytes)
        })
    }

    /// Strings.
    ///
    /// # Errors
    /// As [`Self::unsigned`].
    pub fn strings(&mut self) -> Result<Vec<&'a str>, Error> {
        self.next(Codec::Strings, |mut column| {
            let count = usize::try_from(number(&mut column.bytes)?).map_err(|_| ColumnFault::Number)?;
            let entry = |from: &mut &'a [u8]| {
                let len = usize::try_from(number(from)?).map_err(|_| ColumnFault::Number)?;
                if len > STRING_BYTES_MAX {
                    return Err(ColumnFault::TooLong);
                }
                let (text, rest) = from.split_at_checked(len).ok_or(ColumnFault::Cut)?;
                *from = rest;
                std::str::from_utf8(text).map_err(|_| ColumnFault::Dictionary)
            };
            let dictionary = collected(&mut column.bytes, count, entry)?;
            // A writer numbers strings as they come, so the next new one has the next number.
            let (mut seen, mut bytes) = (0, 0usize);
            let rows = column.each(|from| {
                let at = number(from)?;
                let known = dictionary.len() as u64;
                let text = usize::try_from(at).ok().and_then(|at| dictionary.get(at));
                let text = *text.ok_or(ColumnFault::Variant { found: at, known })?;
                if at > seen {
                    return Err(ColumnFault::Dictionary);
                }
                seen += u64::from(at == seen);
                bytes = bytes.saturating_add(text.len());
                if bytes > BLOCK_BYTES_MAX {
                    return Err(ColumnFault::TooLong);
                }
                Ok(text)
            })?;
            if seen == count as u64 && all_differ(&dictionary) { Ok(rows) } else { Err(ColumnFault::Dictionary) }
        })
    }

    /// Numbers of 128 bits.
    ///
    /// # Errors
    /// As [`Self::unsigned`].
    pub fn wide(&mut self) -> Result<Vec<u128>, Error> {
        self.next(Codec::Wide, |column| {
            let (values, []) = column.exactly(column.rows.checked_mul(16).ok_or(ColumnFault::Cut)?)?.as_chunks() else {
                return Err(ColumnFault::TrailingBytes);
            };
            Ok(values.iter().map(|bytes| u128::from_le_bytes(*bytes)).collect())
        })
    }

    /// Ends the block.
    ///
    /// # Errors
    /// [`Error::Column`] if there are more columns.
    pub fn end(self) -> Result<(), Error> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.fault(ColumnFault::TrailingBytes)) }
    }

    fn next<T>(&mut self, wanted: Codec, read: impl FnOnce(Column<'a>) -> Result<T, ColumnFault>) -> Result<T, Error> {
        let read = self.take(wanted).and_then(read).map_err(|fault| self.fault(fault))?;
        self.column += 1;
        Ok(read)
    }

    fn take(&mut self, wanted: Codec) -> Result<Column<'a>, ColumnFault> {
        let (codec, mut rest) = self.rest.split_first().ok_or(ColumnFault::Cut)?;
        if *codec != wanted as u8 {
            return Err(ColumnFault::OtherCodec { found: *codec, wanted });
        }
        let mut size = || number(&mut rest).and_then(|size| usize::try_from(size).map_err(|_| ColumnFault::Number));
        let (rows, len) = (size()?, size()?);
        let (bytes, rest) = rest.split_at_checked(len).ok_or(ColumnFault::Cut)?;
        self.rest = rest;
        Ok(Column { rows, bytes })
    }

    fn fault(&self, fault: ColumnFault) -> Error {
        Error::Column { kind: self.kind, column: self.column, fault }
    }
}

impl<'a> Column<'a> {
    /// All rows, which take all bytes.
    fn each<T>(mut self, one: impl FnMut(&mut &'a [u8]) -> Result<T, ColumnFault>) -> Result<Vec<T>, ColumnFault> {
        let rows = collected(&mut self.bytes, self.rows, one)?;
        if self.bytes.is_empty() { Ok(rows) } else { Err(ColumnFault::TrailingBytes) }
    }

    /// `count` numbers, which take all bytes, as what `one` makes of each.
    fn numbers<T>(&self, count: usize, mut one: impl FnMut(u64) -> T) -> Result<Vec<T>, ColumnFault> {
        // Each takes a byte at least.
        if count > self.bytes.len() {
            return Err(ColumnFault::Cut);
        }
        let mut values = Vec::with_capacity(count);
        let (mut from, mut some) = (self.bytes, [0; AT_ONCE]);
        while values.len() < count {
            let some = &mut some[..(count - values.len()).min(AT_ONCE)];
            fill(some, &mut from)?;
            values.extend(some.iter().map(|number| one(*number)));
        }
        if from.is_empty() { Ok(values) } else { Err(ColumnFault::TrailingBytes) }
    }

    /// The bytes, of which there have to be `len`.
    fn exactly(&self, len: usize) -> Result<&'a [u8], ColumnFault> {
        match self.bytes.len() {
            found if found < len => Err(ColumnFault::Cut),
            found if found > len => Err(ColumnFault::TrailingBytes),
            _ => Ok(self.bytes),
        }
    }
}

/// `count` values, each of which takes a byte at least.
fn collected<'a, T>(
    from: &mut &'a [u8],
    count: usize,
    mut one: impl FnMut(&mut &'a [u8]) -> Result<T, ColumnFault>,
) -> Result<Vec<T>, ColumnFault> {
    if count > from.len() {
        return Err(ColumnFault::Cut);
    }
    // What may fail has no size that a list could be made of.
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        values.push(one(from)?);
    }
    Ok(values)
}

/// Numbers that are read before anything is made of them.
const AT_ONCE: usize = 256;

/// Takes as many numbers as there is room for.
fn fill(to: &mut [u64], from: &mut &[u8]) -> Result<(), ColumnFault> {
    let mut at = 0;
    while let (Some(next), Some(eight)) = (from.first_chunk::<8>(), to.get_mut(at..at + 8)) {
        let word = u64::from_le_bytes(*next);
        // Many columns have small numbers alone, of a byte each.
        if word & 0x8080_8080_8080_8080 == 0 {
            eight.copy_from_slice(&next.map(u64::from));
            (*from, at) = (&from[8..], at + 8);
        } else if let Some((two, len)) = two_of_word(word) {
            eight[..2].copy_from_slice(&two);
            (*from, at) = (&from[len..], at + 2);
        } else {
            eight[0] = number(from)?;
            at += 1;
        }
    }
    for to in &mut to[at..] {
        *to = number(from)?;
    }
    Ok(())
}

#[inline(always)]
fn number(from: &mut &[u8]) -> Result<u64, ColumnFault> {
    if from.is_empty() { Err(ColumnFault::Cut) } else { take(from).ok_or(ColumnFault::Number) }
}

/// The value that is `by` behind `last`, which it may equal, if there is one; the first of all by itself.
fn stepped(last: Option<i64>, by: u64) -> Option<i64> {
    last.map_or(Some(unzigzag(by)), |last| last.checked_add_unsigned(by))
}

fn all_differ(strings: &[&str]) -> bool {
    let mut sorted = strings.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}
