//! Protobuf's wire format, as much of it as traces need: no schema, no generated code, no message held whole.
//!
//! [`Encoder`] appends fields to a buffer. [`Fields`] walks a message that lies in memory. [`Stream`] walks one that does not:
//! it hands out tags and lengths, and the caller decides what to enter, take or skip, so that a message of any size passes
//! through a buffer of a few kilobytes.

use std::io::{self, BufRead, Read};

/// Field number and wire type, as they stand before every value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Field number, 1 and up.
    pub field: u32,
    /// 0 varint, 1 fixed64, 2 length-delimited, 5 fixed32.
    pub wire: u8,
}

/// A value with its wire type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// An integer, boolean or enumeration.
    Varint(u64),
    /// A `double`, `fixed64` or `sfixed64`, as its bits.
    Fixed64(u64),
    /// A string, bytes, message or packed list.
    Bytes(&'a [u8]),
    /// A `float`, `fixed32` or `sfixed32`, as its bits.
    Fixed32(u32),
}

impl<'a> Value<'a> {
    /// The value as an unsigned integer; zero for another wire type.
    pub fn u64(self) -> u64 {
        match self {
            Self::Varint(value) | Self::Fixed64(value) => value,
            Self::Fixed32(value) => u64::from(value),
            Self::Bytes(_) => 0,
        }
    }

    /// The value as a signed integer in two's complement; zero for another wire type.
    pub fn i64(self) -> i64 {
        self.u64() as i64
    }

    /// The value as a `double`; zero for another wire type.
    pub fn f64(self) -> f64 {
        match self {
            Self::Fixed64(bits) => f64::from_bits(bits),
            Self::Fixed32(bits) => f64::from(f32::from_bits(bits)),
            _ => 0.0,
        }
    }

    /// The value's bytes; none for another wire type.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => &[],
        }
    }
}

/// A message is cut short, or is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Where in the message.
    pub at: usize,
}

/// The fields of a message in memory. After the first malformed one it ends.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    message: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    /// The fields of `message`.
    pub fn of(message: &'a [u8]) -> Self {
        Self { message, at: 0 }
    }

    #[inline]
    fn varint(&mut self) -> Option<u64> {
        let first = *self.message.get(self.at)?;
        self.at += 1;
        if first < 0x80 { Some(first.into()) } else { self.long_varint(first) }
    }

    fn long_varint(&mut self, first: u8) -> Option<u64> {
        let mut value = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = *self.message.get(self.at)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        let end = self.at.checked_add(usize::try_from(len).ok()?)?;
        let bytes = self.message.get(self.at..end)?;
        self.at = end;
        Some(bytes)
    }

    fn field(&mut self) -> Option<(u32, Value<'a>)> {
        let tag = split_tag(self.varint()?)?;
        let value = match tag.wire {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            2 => {
                let len = self.varint()?;
                Value::Bytes(self.take(len)?)
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.take(4)?.try_into().ok()?)),
            _ => return None,
        };
        Some((tag.field, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.message.len() {
            return None;
        }
        let start = self.at;
        let field = self.field().ok_or(Malformed { at: start });
        if field.is_err() {
            self.at = self.message.len();
        }
        Some(field)
    }
}

/// The values of a packed list of varints; what is malformed ends it.
pub fn packed_varints(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let mut fields = Fields::of(bytes);
    std::iter::from_fn(move || if fields.at < fields.message.len() { fields.varint() } else { None })
}

fn split_tag(tag: u64) -> Option<Tag> {
    let field = u32::try_from(tag >> 3).ok().filter(|field| *field > 0)?;
    Some(Tag { field, wire: (tag & 7) as u8 })
}

/// No string or message that is taken whole is longer: compiled programs inside a trace come to some dozens of megabytes. A file
/// that claims more is damaged or made to hurt, and what it claims is passed over.
pub const TAKEN_BYTES_MAX: u64 = 256 << 20;

/// A message that is read as it comes. Every method returns `None` where the input ends early.
#[derive(Debug)]
pub struct Stream<R> {
    input: R,
    offset: u64,
}

impl<R: BufRead> Stream<R> {
    /// Reads from `input`.
    pub fn new(input: R) -> Self {
        Self { input, offset: 0 }
    }

    /// Bytes consumed so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next tag. `Ok(None)` at the end of the input, at a tag that is cut short, and at one that is none.
    ///
    /// # Errors
    /// What the input fails with.
    pub fn tag(&mut self) -> io::Result<Option<Tag>> {
        Ok(self.varint()?.and_then(split_tag))
    }

    /// The next varint.
    ///
    /// # Errors
    /// What the input fails with.
    pub fn varint(&mut self) -> io::Result<Option<u64>> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let Some(byte) = self.byte()? else { return Ok(None) };
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// The next `len` bytes into `buffer`, which is emptied first and grows only as bytes arrive. `Ok(false)` if there are fewer.
    /// Whoever takes a length from a file compares it with [`TAKEN_BYTES_MAX`] first.
    ///
    /// # Errors
    /// What the input fails with.
    pub fn take(&mut self, len: u64, buffer: &mut Vec<u8>) -> io::Result<bool> {
        buffer.clear();
        let ready = self.input.fill_buf()?;
        if let Some(bytes) = usize::try_from(len).ok().and_then(|len| ready.get(..len)) {
            buffer.extend_from_slice(bytes);
            self.input.consume(buffer.len());
            self.offset += len;
            return Ok(true);
        }
        let got = Read::take(&mut self.input, len).read_to_end(buffer)?;
        self.offset += got as u64;
        Ok(got as u64 == len)
    }

    /// Passes over the next `len` bytes. `Ok(false)` if there are fewer.
    ///
    /// # Errors
    /// What the input fails with.
    pub fn pass(&mut self, len: u64) -> io::Result<bool> {
        let got = io::copy(&mut Read::take(&mut self.input, len), &mut io::sink())?;
        self.offset += got;
        Ok(got == len)
    }

    /// Passes over the value of `tag`. `Ok(false)` if the input ends first or the wire type is unknown.
    ///
    /// # Errors
    /// What the input fails with.
    pub fn skip(&mut self, tag: Tag) -> io::Result<bool> {
        let len = match tag.wire {
            0 => return Ok(self.varint()?.is_some()),
            1 => 8,
            2 => match self.varint()? {
                Some(len) => len,
                None => return Ok(false),
            },
            5 => 4,
            _ => return Ok(false),
        };
        self.pass(len)
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let Some(byte) = self.input.fill_buf()?.first().copied() else { return Ok(None) };
        self.input.consume(1);
        self.offset += 1;
        Ok(Some(byte))
    }
}

/// Appends fields to a buffer.
#[derive(Clone, Debug, Default)]
pub struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    /// What has been encoded so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All that has been encoded.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Forgets what has been encoded and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// A field of type `int64`, `uint64`, `bool` or an enumeration.
    pub fn varint(&mut self, field: u32, value: u64) -> &mut Self {
        self.raw_varint(u64::from(field) << 3);
        self.raw_varint(value);
        self
    }

    /// A varint by itself, as packed lists have them.
    pub fn bare_varint(&mut self, value: u64) -> &mut Self {
        self.raw_varint(value);
        self
    }

    /// A field of type `double`.
    pub fn double(&mut self, field: u32, value: f64) -> &mut Self {
        self.raw_varint(u64::from(field) << 3 | 1);
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// A field of type `fixed64`.
    pub fn fixed64(&mut self, field: u32, value: u64) -> &mut Self {
        self.raw_varint(u64::from(field) << 3 | 1);
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// A field of type `string` or `bytes`, or an already encoded message.
    pub fn bytes_field(&mut self, field: u32, value: &[u8]) -> &mut Self {
        self.raw_varint(u64::from(field) << 3 | 2);
        self.raw_varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
        self
    }

    /// A field of type `string`.
    pub fn string(&mut self, field: u32, value: &str) -> &mut Self {
        self.bytes_field(field, value.as_bytes())
    }

    /// A nested message. Its length is known only afterwards: messages under 128 bytes get it patched in, longer ones are moved.
    pub fn message(&mut self, field: u32, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.raw_varint(u64::from(field) << 3 | 2);
        self.delimited(fill)
    }

    /// A message behind its length, as files of many messages have them.
    pub fn delimited(&mut self, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let at = self.bytes.len();
        self.bytes.push(0);
        fill(self);
        let len = self.bytes.len() - at - 1;
        if len < 0x80 {
            self.bytes[at] = len as u8;
        } else {
            let mut prefix = Self::default();
            prefix.raw_varint(len as u64);
            self.bytes.splice(at..=at, prefix.bytes);
        }
        self
    }

    /// A bare varint: a length before a message, an element of a packed list.
    pub fn raw_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_read_back() {
        let mut encoder = Encoder::default();
        encoder.varint(1, u64::MAX).double(2, -0.5).string(3, "ab").fixed64(4, 9);
        encoder.message(5, |inner| {
            inner.bytes_field(1, &[7; 300]);
        });
        let fields: Vec<_> = Fields::of(encoder.bytes()).map(|field| field.expect("well formed")).collect();
        assert_eq!(fields[0], (1, Value::Varint(u64::MAX)));
        assert_eq!((fields[1].0, fields[1].1.f64()), (2, -0.5));
        assert_eq!((fields[2].0, fields[2].1.bytes()), (3, &b"ab"[..]));
        assert_eq!(fields[3], (4, Value::Fixed64(9)));
        let inner: Vec<_> = Fields::of(fields[4].1.bytes()).flatten().collect();
        assert_eq!(inner, [(1, Value::Bytes(&[7; 300]))]);
    }

    #[test]
    fn every_truncation_ends_in_malformed_or_at_a_boundary() {
        let mut encoder = Encoder::default();
        encoder.varint(1, 300).string(2, "hello").double(3, 1.0);
        for len in 0..encoder.bytes().len() {
            let read = Fields::of(&encoder.bytes()[..len]).count();
            assert!(read <= 3, "{read} fields from {len} bytes");
            let mut stream = Stream::new(&encoder.bytes()[..len]);
            while let Some(tag) = stream.tag().expect("memory does not fail") {
                if !stream.skip(tag).expect("memory does not fail") {
                    break;
                }
            }
            assert!(stream.offset() <= len as u64);
        }
    }

    #[test]
    fn a_claimed_length_costs_no_memory() {
        let mut bytes = Encoder::default();
        bytes.raw_varint(u64::from(1u32) << 3 | 2);
        bytes.raw_varint(u64::MAX >> 1);
        let mut stream = Stream::new(bytes.bytes());
        let mut buffer = Vec::new();
        stream.tag().expect("memory does not fail").expect("a tag");
        let len = stream.varint().expect("memory does not fail").expect("a length");
        assert!(!stream.take(len, &mut buffer).expect("memory does not fail"));
        assert!(buffer.capacity() < 4096);
    }
}
