//! The tables of a rank as JSON objects whose keys keep the order in which they were written.

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

/// An object with its keys in the order in which they were written.
pub(super) struct Ordered(pub(super) Vec<(String, Nested)>);

/// What a key of the tables holds.
pub(super) enum Nested {
    Rows(Vec<Ordered>),
    One(Ordered),
    Scalar(Value),
}

pub(super) fn ordered(tables: &impl Serialize) -> Option<Ordered> {
    serde_json::from_str(&serde_json::to_string(tables).ok()?).ok()
}

impl Nested {
    /// The single value, or the list of single ones, that it is.
    pub(super) fn scalar(self) -> Option<Value> {
        match self {
            Self::Scalar(value) => Some(value),
            Self::Rows(rows) if rows.is_empty() => Some(Value::Array(Vec::new())),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Ordered;

            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                to.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered, A::Error> {
                let mut keys = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    keys.push(entry);
                }
                Ok(Ordered(keys))
            }
        }
        from.deserialize_map(Keys)
    }
}

impl<'de> Deserialize<'de> for Nested {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum Any {
            Rows(Vec<Ordered>),
            One(Ordered),
            Scalar(Value),
        }
        Ok(match Any::deserialize(from)? {
            Any::Rows(rows) => Self::Rows(rows),
            Any::One(one) => Self::One(one),
            Any::Scalar(value) => Self::Scalar(value),
        })
    }
}
