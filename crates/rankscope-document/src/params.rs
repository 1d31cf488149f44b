//! What an operator was called with: values by name, in an order of their own.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// Parameters of an operator by name, in the order in which tables have them. JSON has one object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params(pub Vec<(String, Param)>);

/// The value of one parameter.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Param {
    /// Not recorded, in a list of others that are.
    Unknown,
    /// True or false.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// A number with a fraction.
    Real(f64),
    /// A word.
    Text(String),
    /// Several.
    List(Vec<Param>),
}

/// As tables for people have it: lists in round brackets.
impl fmt::Display for Param {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => to.write_str("-"),
            Self::Flag(flag) => write!(to, "{flag}"),
            Self::Whole(number) => write!(to, "{number}"),
            Self::Real(number) => write!(to, "{number}"),
            Self::Text(text) => to.write_str(text),
            Self::List(values) => {
                to.write_str("(")?;
                for (at, value) in values.iter().enumerate() {
                    write!(to, "{}{value}", if at == 0 { "" } else { ", " })?;
                }
                to.write_str(")")
            }
        }
    }
}

impl Serialize for Params {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl Serialize for Param {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unknown => to.serialize_none(),
            Self::Flag(flag) => to.serialize_bool(*flag),
            Self::Whole(number) => to.serialize_i64(*number),
            Self::Real(number) => to.serialize_f64(*number),
            Self::Text(text) => to.serialize_str(text),
            Self::List(values) => to.collect_seq(values),
        }
    }
}

impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Params;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Params, A::Error> {
                let mut params = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    params.push(entry);
                }
                Ok(Params(params))
            }
        }
        from.deserialize_map(Object)
    }
}

impl<'de> Deserialize<'de> for Param {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // Only formats that describe themselves have values of any sort; from others comes text.
        if from.is_human_readable() { from.deserialize_any(Value) } else { from.deserialize_str(Value) }
    }
}

struct Value;

impl<'de> Visitor<'de> for Value {
    type Value = Param;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a parameter")
    }

    fn visit_unit<E>(self) -> Result<Param, E> {
        Ok(Param::Unknown)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Param, E> {
        Ok(Param::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Param, E> {
        Ok(Param::Whole(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Param, E> {
        Ok(i64::try_from(number).map_or(Param::Unknown, Param::Whole))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Param, E> {
        Ok(Param::Real(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Param, E> {
        Ok(Param::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Param, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Param::List(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_come_back_as_they_were_written_and_in_their_order() {
        let list = Param::List(vec![Param::Text("c10::Half".into()), Param::Unknown]);
        let named = [
            ("N", Param::Whole(-4)),
            ("M", Param::Whole(3)),
            ("dtype", list),
            ("dropout", Param::Real(0.5)),
            ("bias", Param::Flag(true)),
        ];
        let params = Params(named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
        let json = serde_json::to_string(&params).unwrap();
        assert_eq!(json, r#"{"N":-4,"M":3,"dtype":["c10::Half",null],"dropout":0.5,"bias":true}"#);
        assert_eq!(serde_json::from_str::<Params>(&json).unwrap(), params);
        assert_eq!(params.0[2].1.to_string(), "(c10::Half, -)");
    }
}
