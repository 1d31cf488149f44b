//! Columns to bytes.

use rustc_hash::FxHashMap;

use crate::error::{Codec, ColumnFault};
use crate::frame::{BLOCK_BYTES_MAX, STRING_BYTES_MAX};
use crate::varint::{put, zigzag};

/// Takes the columns of a block, in order.
#[derive(Debug, Default)]
pub struct ColumnsWriter {
    bytes: Vec<u8>,
    columns: usize,
    /// The first column that could not be written, by number.
    fault: Option<(usize, ColumnFault)>,
}

impl ColumnsWriter {
    /// Unsigned numbers.
    pub fn unsigned(&mut self, values: &[u64]) {
        self.column(Codec::Unsigned, values.len(), |to| values.iter().for_each(|value| put(to, *value)));
    }

    /// Signed numbers.
    pub fn signed(&mut self, values: &[i64]) {
        self.column(Codec::Signed, values.len(), |to| values.iter().for_each(|value| put(to, zigzag(*value))));
    }

    /// Numbers in ascending order; equal ones may follow each other. Any other order is an error of [`crate::Writer::block`].
    pub fn sorted(&mut self, values: &[i64]) {
        if !values.is_sorted() {
            self.refuse(ColumnFault::Order);
        }
        self.column(Codec::Sorted, values.len(), |to| {
            let mut last = None;
            for value in values {
                put(to, step(last, *value));
                last = Some(*value);
            }
        });
    }

    /// Intervals from start to end, each no earlier than the one before ended. Anything else is an error of
    /// [`crate::Writer::block`].
    pub fn intervals(&mut self, values: &[(i64, i64)]) {
        let ordered = values.iter().all(|(start, end)| start <= end);
        if !ordered || !values.windows(2).all(|pair| pair[0].1 <= pair[1].0) {
            self.refuse(ColumnFault::Order);
        }
        self.column(Codec::Intervals, values.len(), |to| {
            let mut last = None;
            for (start, end) in values {
                put(to, step(last, *start));
                put(to, step(Some(*start), *end));
                last = Some(*end);
            }
        });
    }

    /// Values of an enum, as the numbers of their variants.
    pub fn enums(&mut self, values: &[u8]) {
        self.column(Codec::Enums, values.len(), |to| to.extend_from_slice(values));
    }

    /// Whether, a bit a row. A column of options is this and a column of those that there are.
    pub fn bits(&mut self, values: &[bool]) {
        let byte = |bits: &[bool]| bits.iter().enumerate().fold(0, |byte, (at, bit)| byte | u8::from(*bit) << at);
        self.column(Codec::Bits, values.len(), |to| to.extend(values.chunks(8).map(byte)));
    }

    /// Strings, each stored once however often it comes.
    pub fn strings<'a>(&mut self, values: impl IntoIterator<Item = &'a str>) {
        let mut numbers: FxHashMap<&str, u64> = FxHashMap::default();
        let (mut dictionary, mut rows, mut count, mut bytes) = (Vec::new(), Vec::new(), 0, 0usize);
        for value in values {
            bytes = bytes.saturating_add(value.len());
            if value.len() > STRING_BYTES_MAX || bytes > BLOCK_BYTES_MAX {
                self.refuse(ColumnFault::TooLong);
                break;
            }
            let next = numbers.len() as u64;
            let number = *numbers.entry(value).or_insert_with(|| {
                put(&mut dictionary, value.len() as u64);
                dictionary.extend_from_slice(value.as_bytes());
                next
            });
            put(&mut rows, number);
            count += 1;
        }
        self.column(Codec::Strings, count, |to| {
            put(to, numbers.len() as u64);
            to.append(&mut dictionary);
            to.append(&mut rows);
        });
    }

    /// Numbers of 128 bits: fingerprints.
    pub fn wide(&mut self, values: &[u128]) {
        self.column(Codec::Wide, values.len(), |to| to.extend(values.iter().flat_map(|value| value.to_le_bytes())));
    }

    fn column(&mut self, codec: Codec, rows: usize, fill: impl FnOnce(&mut Vec<u8>)) {
        let mut column = Vec::new();
        fill(&mut column);
        self.bytes.push(codec as u8);
        put(&mut self.bytes, rows as u64);
        put(&mut self.bytes, column.len() as u64);
        self.bytes.append(&mut column);
        self.columns += 1;
    }

    fn refuse(&mut self, fault: ColumnFault) {
        self.fault.get_or_insert((self.columns, fault));
    }

    /// The columns without a block around them.
    ///
    /// # Errors
    /// The first column that was given values out of order, by number.
    pub fn into_bytes(self) -> Result<Vec<u8>, (usize, ColumnFault)> {
        self.fault.map_or(Ok(self.bytes), Err)
    }
}

/// What tells `value` from the one before, which is not greater; of the first one there is, the value itself.
fn step(last: Option<i64>, value: i64) -> u64 {
    last.map_or_else(|| zigzag(value), |last| value.wrapping_sub(last).cast_unsigned())
}
