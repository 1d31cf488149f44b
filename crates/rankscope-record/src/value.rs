//! [`Value`]: what an argument may be, and [`ToValue`]: what a program may hand over as one.

use std::borrow::Cow;
use std::time::Duration;

use rankscope_recording::NameId;

use crate::formatted::ShortText;

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
    /// A text of a few bytes that was made for this argument: a duration with its unit, a character.
    Short(ShortText),
    /// Bytes, copied.
    Bytes(&'a [u8]),
    /// Whole numbers, as of a tensor's shape.
    I64s(&'a [i64]),
    /// JSON text, written as it is.
    Json(&'a str),
    /// No value: the argument is left out.
    Nothing,
}

/// What can be an argument of the macros. They borrow it, so `name = self.name` moves nothing.
///
/// An `Option` that is `None` leaves its argument out. A [`Duration`] is a text with its unit, `1.5ms`; where figures are to be
/// computed with, write the number: `wait_us = wait.as_micros() as u64`.
pub trait ToValue {
    /// The value, lent.
    fn to_value(&self) -> Value<'_>;
}

macro_rules! values {
    ($($from:ty => $variant:ident as $to:ty;)*) => {
        $(impl From<$from> for Value<'_> {
            #[inline(always)]
            fn from(value: $from) -> Self {
                Self::$variant(value as $to)
            }
        }

        impl ToValue for $from {
            #[inline(always)]
            fn to_value(&self) -> Value<'_> {
                Value::$variant(*self as $to)
            }
        })*
    };
}

values! {
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
    NameId => Name as NameId;
}

/// Texts and lists, as they are and behind what owns them.
macro_rules! lent {
    ($($to:ty => $variant:ident, $($from:ty),+;)*) => {
        $(impl<'a> From<&'a $to> for Value<'a> {
            #[inline(always)]
            fn from(value: &'a $to) -> Self {
                Self::$variant(value)
            }
        }

        impl ToValue for $to {
            #[inline(always)]
            fn to_value(&self) -> Value<'_> {
                Value::$variant(self)
            }
        }

        $(impl<'a> From<&'a $from> for Value<'a> {
            #[inline(always)]
            fn from(value: &'a $from) -> Self {
                Self::$variant(value)
            }
        }

        impl ToValue for $from {
            #[inline(always)]
            fn to_value(&self) -> Value<'_> {
                Value::$variant(self)
            }
        })+)*
    };
}

lent! {
    str => Text, String, Cow<'_, str>, Box<str>;
    [i64] => I64s, Vec<i64>;
    [u8] => Bytes, Vec<u8>;
}

impl<const N: usize> ToValue for [i64; N] {
    fn to_value(&self) -> Value<'_> {
        Value::I64s(self)
    }
}

impl From<Duration> for Value<'_> {
    fn from(duration: Duration) -> Self {
        Self::Short(ShortText::of_duration(duration))
    }
}

impl ToValue for Duration {
    fn to_value(&self) -> Value<'_> {
        (*self).into()
    }
}

impl From<char> for Value<'_> {
    fn from(character: char) -> Self {
        Self::Short(ShortText::of_char(character))
    }
}

impl ToValue for char {
    fn to_value(&self) -> Value<'_> {
        (*self).into()
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    #[inline(always)]
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Nothing, Into::into)
    }
}

impl<T: ToValue> ToValue for Option<T> {
    #[inline(always)]
    fn to_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Nothing, ToValue::to_value)
    }
}

impl<T: ToValue + ?Sized> ToValue for &T {
    #[inline(always)]
    fn to_value(&self) -> Value<'_> {
        (**self).to_value()
    }
}

impl<T: ToValue + ?Sized> ToValue for &mut T {
    #[inline(always)]
    fn to_value(&self) -> Value<'_> {
        (**self).to_value()
    }
}

impl ToValue for Value<'_> {
    #[inline(always)]
    fn to_value(&self) -> Value<'_> {
        *self
    }
}
