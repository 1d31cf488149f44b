//! [`Value`]: what an argument may be, and how many words it takes.

use rankscope_formats::recording::NameId;

/// The value of an argument, lent until it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// A whole number; up to 40 bits it costs no word of its own.
    I64(i64),
    /// A whole number beyond that.
    U64(u64),
    /// Any number.
    F64(f64),
    /// Yes or no.
    Bool(bool),
    /// A text that is interned already.
    Name(NameId),
    /// A text, copied.
    Text(&'a str),
    /// Bytes, copied.
    Bytes(&'a [u8]),
    /// Whole numbers, as of a tensor's shape.
    I64s(&'a [i64]),
    /// JSON text, written as it is.
    Json(&'a str),
}

macro_rules! from {
    ($($from:ty => $variant:ident as $to:ty;)*) => {
        $(impl From<$from> for Value<'_> {
            #[inline(always)]
            fn from(value: $from) -> Self {
                Self::$variant(value as $to)
            }
        })*
    };
}

from! {
    i8 => I64 as i64;
    i16 => I64 as i64;
    i32 => I64 as i64;
    i64 => I64 as i64;
    isize => I64 as i64;
    u8 => I64 as i64;
    u16 => I64 as i64;
    u32 => I64 as i64;
    u64 => U64 as u64;
    usize => U64 as u64;
    f32 => F64 as f64;
    f64 => F64 as f64;
    bool => Bool as bool;
}

impl From<NameId> for Value<'_> {
    #[inline(always)]
    fn from(name: NameId) -> Self {
        Self::Name(name)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    #[inline(always)]
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    #[inline(always)]
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a [i64]> for Value<'a> {
    #[inline(always)]
    fn from(numbers: &'a [i64]) -> Self {
        Self::I64s(numbers)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    #[inline(always)]
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}
