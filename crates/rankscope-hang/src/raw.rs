//! A dump as torch writes it. Every field is optional, and numbers may be texts: JSON writes counts as text and 0 where the pickle has
//! `None`, and older versions lack what newer ones added.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};

/// One rank's dump.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawDump<'a> {
    pub(crate) rank: Number,
    /// Every dump has one, from the first version on that was no mere list.
    #[serde(borrow)]
    pub(crate) version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) pg_config: BTreeMap<Cow<'a, str>, RawGroup<'a>>,
    #[serde(borrow)]
    pub(crate) pg_status: BTreeMap<Cow<'a, str>, RawStatus>,
    #[serde(borrow)]
    pub(crate) entries: Vec<RawCall<'a>>,
}

/// A process group, as configured.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawGroup<'a> {
    /// A list in a text: `[0, 1]`.
    #[serde(borrow)]
    pub(crate) ranks: Cow<'a, str>,
}

/// How far a group's watchdog has seen it come.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawStatus {
    pub(crate) last_enqueued_collective: Number,
    pub(crate) last_completed_collective: Number,
}

/// One call.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawCall<'a> {
    /// Its place in the order of one recorder.
    pub(crate) record_id: Number,
    pub(crate) pg_id: Number,
    #[serde(borrow)]
    pub(crate) process_group: Names<'a>,
    pub(crate) collective_seq_id: Number,
    #[serde(borrow)]
    pub(crate) profiling_name: Cow<'a, str>,
    pub(crate) time_created_ns: Number,
    pub(crate) input_sizes: Option<Vec<Vec<i64>>>,
    pub(crate) output_sizes: Option<Vec<Vec<i64>>>,
    #[serde(borrow)]
    pub(crate) input_dtypes: Option<Vec<Cow<'a, str>>>,
    #[serde(borrow)]
    pub(crate) state: Cow<'a, str>,
    pub(crate) retired: Option<bool>,
    pub(crate) is_p2p: Option<bool>,
    #[serde(borrow)]
    pub(crate) frames: Vec<RawFrame<'a>>,
}

/// One frame of a stack, the innermost first.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawFrame<'a> {
    #[serde(borrow)]
    pub(crate) name: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) filename: Cow<'a, str>,
    pub(crate) line: Number,
}

/// A whole number, if there is one: as such, or as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) Option<i64>);

impl Number {
    /// What is counted from 0 or 1 on; -1 is torch's word for none.
    pub(crate) fn count(self) -> Option<u64> {
        self.0.and_then(|number| u64::try_from(number).ok())
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }
            fn visit_i64<E>(self, number: i64) -> Result<Number, E> {
                Ok(Number(Some(number)))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Number, E> {
                Ok(Number(i64::try_from(number).ok()))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Number, E> {
                Ok(Number(None))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Number, E> {
                Ok(Number(None))
            }
            fn visit_str<E>(self, text: &str) -> Result<Number, E> {
                Ok(Number(text.trim().parse().ok()))
            }
            fn visit_unit<E>(self) -> Result<Number, E> {
                Ok(Number(None))
            }
        }
        from.deserialize_any(Any)
    }
}

/// A group's name and description; older versions wrote the name alone, or nothing.
#[derive(Default)]
pub(crate) struct Names<'a> {
    pub(crate) name: Option<Cow<'a, str>>,
    pub(crate) description: Option<Cow<'a, str>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Names<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Names<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name and the description of a process group")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Names<'de>, E> {
                Ok(Names { name: Some(Cow::Borrowed(text)), description: None })
            }
            fn visit_str<E>(self, text: &str) -> Result<Names<'de>, E> {
                Ok(Names { name: Some(Cow::Owned(text.to_owned())), description: None })
            }
            fn visit_unit<E>(self) -> Result<Names<'de>, E> {
                Ok(Names::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Names<'de>, A::Error> {
                let (name, description) = (list.next_element()?, list.next_element()?);
                while list.next_element::<serde::de::IgnoredAny>()?.is_some() {}
                Ok(Names { name, description })
            }
        }
        from.deserialize_any(Any)
    }
}
