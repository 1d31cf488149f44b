//! A pickle as serde's data, so that one description of a dump serves both forms.
//!
//! A container may be referred to many times, and a small file can so stand for an endless one: steps are counted, and too many are
//! refused. What the description does not ask for is not walked.

use std::cell::Cell;

use rankscope_pickle::{Kind, Value};
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Values that a dump may be walked to: a full ring of two thousand calls with their stacks has some two hundred thousand.
const STEPS_MAX: u64 = 1 << 25;

/// Why a pickle is no dump.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(String);

impl serde::de::Error for Unfit {
    fn custom<T: std::fmt::Display>(why: T) -> Self {
        Self(why.to_string())
    }
}

/// A value that counts the steps that were taken to it and its like.
#[derive(Clone, Copy)]
pub(crate) struct Pickled<'p> {
    value: Value<'p>,
    steps: &'p Cell<u64>,
}

impl<'p> Pickled<'p> {
    pub(crate) const fn new(value: Value<'p>, steps: &'p Cell<u64>) -> Self {
        Self { value, steps }
    }
}

impl<'p> IntoDeserializer<'p, Unfit> for Pickled<'p> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Pickled<'de> {
    type Error = Unfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > STEPS_MAX {
            return Err(Unfit("it refers to the same values so often that it has no end".to_owned()));
        }
        let of = |value| Self::new(value, self.steps);
        match self.value.container() {
            Some((_, Kind::Dict)) => {
                visitor.visit_map(MapDeserializer::new(self.value.entries().map(|(key, value)| (of(key), of(value)))))
            }
            Some(_) => visitor.visit_seq(SeqDeserializer::new(self.value.items().map(of))),
            None => self.plain(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        if self.value.is_none() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct seq tuple
        tuple_struct map struct enum identifier
    }
}

impl<'p> Pickled<'p> {
    fn plain<V: Visitor<'p>>(self, visitor: V) -> Result<V::Value, Unfit> {
        let value = self.value;
        if let Some(truth) = value.as_bool() {
            visitor.visit_bool(truth)
        } else if let Some(number) = value.as_i64() {
            visitor.visit_i64(number)
        } else if let Some(number) = value.as_u64() {
            visitor.visit_u64(number)
        } else if let Some(number) = value.as_f64() {
            visitor.visit_f64(number)
        } else if let Some(text) = value.as_str() {
            visitor.visit_borrowed_str(text)
        } else {
            visitor.visit_unit()
        }
    }
}
