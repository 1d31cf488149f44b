//! Arguments of an event, read where they lie.

use std::borrow::Cow;

use super::varint;
use super::word::{Kind, NameId, Word};

/// The arguments of one event, in the order they were recorded.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a> {
    words: &'a [u64],
}

impl<'a> Args<'a> {
    /// No arguments.
    pub const NONE: Self = Self { words: &[] };

    /// Whole argument records, one behind the other, as [`ArgView::put`] makes them.
    pub const fn of(words: &'a [u64]) -> Self {
        Self { words }
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.words.is_empty()
    }

    /// Keys and values.
    pub const fn iter(self) -> ArgIter<'a> {
        ArgIter { words: self.words }
    }

    /// The lists of whole numbers whose key `is_key` knows.
    pub(crate) fn lists(self, mut is_key: impl FnMut(NameId) -> bool) -> impl Iterator<Item = I64s<'a>> {
        self.iter().filter_map(move |(key, value)| match value {
            ArgView::I64s(list) if is_key(key) => Some(list),
            _ => None,
        })
    }
}

impl<'a> IntoIterator for Args<'a> {
    type Item = (NameId, ArgView<'a>);
    type IntoIter = ArgIter<'a>;

    fn into_iter(self) -> ArgIter<'a> {
        self.iter()
    }
}

/// Walks [`Args`].
#[derive(Clone, Debug)]
pub struct ArgIter<'a> {
    words: &'a [u64],
}

impl<'a> Iterator for ArgIter<'a> {
    type Item = (NameId, ArgView<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (first, rest) = self.words.split_first()?;
        let head = Word(*first);
        let payload = rest.get(..usize::try_from(head.payload_words()?).ok()?)?;
        self.words = &rest[payload.len()..];
        Some((head.name(), view(head, payload)?))
    }
}

fn view<'a>(head: Word, payload: &'a [u64]) -> Option<ArgView<'a>> {
    let word = payload.first().copied().unwrap_or_default();
    let bytes = || &bytemuck::cast_slice::<u64, u8>(payload)[..head.value() as usize];
    Some(match head.kind()? {
        Kind::ArgSmall => ArgView::I64(head.signed()),
        Kind::ArgI64 => ArgView::I64(word as i64),
        Kind::ArgU64 => ArgView::U64(word),
        Kind::ArgF64 => ArgView::F64(f64::from_bits(word)),
        Kind::ArgBool => ArgView::Bool(head.value() != 0),
        Kind::ArgName => ArgView::Name(NameId(u32::try_from(head.value()).unwrap_or(u32::MAX))),
        Kind::ArgText => ArgView::Text(String::from_utf8_lossy(bytes())),
        Kind::ArgBytes => ArgView::Bytes(Cow::Borrowed(bytes())),
        Kind::ArgI64s => ArgView::I64s(I64s { bytes: bytes() }),
        Kind::ArgJson => ArgView::Json(String::from_utf8_lossy(bytes())),
        Kind::ArgCut => ArgView::Cut { true_len: head.value() },
        _ => return None,
    })
}

// Texts are bytes that lie in words: looking at them in place needs the words in the order of the file.
const _: () = assert!(cfg!(target_endian = "little"), "recordings are read on little-endian machines only");

/// One value, lent.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgView<'a> {
    /// A whole number.
    I64(i64),
    /// A whole number beyond `i64`.
    U64(u64),
    /// Any number.
    F64(f64),
    /// Yes or no.
    Bool(bool),
    /// A text of the table of names.
    Name(NameId),
    /// A text; bytes that are no UTF-8 show as U+FFFD.
    Text(Cow<'a, str>),
    /// Bytes.
    Bytes(Cow<'a, [u8]>),
    /// Whole numbers.
    I64s(I64s<'a>),
    /// JSON text, as it was given.
    Json(Cow<'a, str>),
    /// The argument before it, of the same key, was cut to a part of this length. With no key: so many arguments are missing.
    Cut {
        /// What was there before.
        true_len: u64,
    },
}

impl ArgView<'_> {
    /// Appends the record of the argument with this value, called `key`.
    pub fn put(&self, key: NameId, to: &mut Vec<u64>) {
        let head = |kind, value| Word::new(kind, key.0, value).0;
        match self {
            ArgView::I64(value) if (-(1 << 39)..1 << 39).contains(value) => to.push(head(Kind::ArgSmall, *value as u64)),
            ArgView::I64(value) => to.extend([head(Kind::ArgI64, 0), *value as u64]),
            ArgView::U64(value) => to.extend([head(Kind::ArgU64, 0), *value]),
            ArgView::F64(value) => to.extend([head(Kind::ArgF64, 0), value.to_bits()]),
            ArgView::Bool(value) => to.push(head(Kind::ArgBool, u64::from(*value))),
            ArgView::Name(name) => to.push(head(Kind::ArgName, u64::from(name.0))),
            ArgView::Text(text) => put_bytes(to, head(Kind::ArgText, text.len() as u64), text.as_bytes()),
            ArgView::Bytes(bytes) => put_bytes(to, head(Kind::ArgBytes, bytes.len() as u64), bytes),
            ArgView::I64s(list) => put_bytes(to, head(Kind::ArgI64s, list.bytes.len() as u64), list.bytes),
            ArgView::Json(text) => put_bytes(to, head(Kind::ArgJson, text.len() as u64), text.as_bytes()),
            ArgView::Cut { true_len } => to.push(head(Kind::ArgCut, *true_len)),
        }
    }
}

/// A list of whole numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct I64s<'a> {
    bytes: &'a [u8],
}

impl<'a> I64s<'a> {
    /// The list as recorded.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The list that `bytes` are, as [`I64s::pack`] makes them.
    pub const fn of(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// `numbers` as zigzag varints.
    pub fn pack(numbers: &[i64]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(numbers.len());
        numbers.iter().for_each(|number| varint::put_signed(&mut bytes, *number));
        bytes
    }
}

impl Iterator for I64s<'_> {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        varint::take_signed(&mut self.bytes)
    }
}

/// Appends a head and the bytes that follow it, padded with zeros.
pub(super) fn put_bytes(to: &mut Vec<u64>, head: u64, bytes: &[u8]) {
    to.push(head);
    to.extend(bytes.chunks(8).map(|part| {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        u64::from_le_bytes(word)
    }));
}
