//! A value of the documents without its type, its keys in their order: what a view needs that shows whatever is there.

use std::fmt;

use serde::Serialize;
use serde::ser::{
    self, Impossible, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct, Serializer,
};

/// What JSON can hold. Integers stay integers, and objects keep the order of their keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Nothing is known.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// An integer that may be beyond `i64`.
    Unsigned(u64),
    /// A number with a fraction.
    Float(f64),
    /// Text.
    Text(String),
    /// Values in order.
    List(Vec<Value>),
    /// Keys and values in order.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// `value`, as it is in JSON. What JSON has no place for, such as a map whose keys are no text, is null.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Self {
        value.serialize(Maker(Taken::All)).unwrap_or_default()
    }

    /// What `of` has under `key`; the rest of it is not looked at.
    pub fn under<T: Serialize + ?Sized>(key: &str, of: &T) -> Self {
        match of.serialize(Maker(Taken::Only(key))) {
            Ok(Self::Object(mut entries)) => entries.pop().map(|(_, value)| value).unwrap_or_default(),
            _ => Self::Null,
        }
    }

    /// The keys of `of`, in their order.
    pub fn keys<T: Serialize + ?Sized>(of: &T) -> Vec<String> {
        match of.serialize(Maker(Taken::Keys)) {
            Ok(Self::Object(entries)) => entries.into_iter().map(|(key, _)| key).collect(),
            _ => Vec::new(),
        }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match *self {
            Self::Integer(number) => Some(number as f64),
            Self::Unsigned(number) => Some(number as f64),
            Self::Float(number) => Some(number),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => to.serialize_unit(),
            Self::Bool(is) => to.serialize_bool(*is),
            Self::Integer(number) => to.serialize_i64(*number),
            Self::Unsigned(number) => to.serialize_u64(*number),
            Self::Float(number) => to.serialize_f64(*number),
            Self::Text(text) => to.serialize_str(text),
            Self::List(items) => to.collect_seq(items),
            Self::Object(entries) => to.collect_map(entries.iter().map(|(key, value)| (key, value))),
        }
    }
}

/// What is taken of an object at the top; of those inside, all is.
#[derive(Clone, Copy)]
enum Taken<'a> {
    All,
    Only(&'a str),
    Keys,
}

/// Makes a value of what serialises itself.
#[derive(Clone, Copy)]
struct Maker<'a>(Taken<'a>);

/// What a value cannot be.
#[derive(Debug)]
struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl ser::Error for Refused {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self(why.to_string())
    }
}

/// The elements of a list so far.
struct ListMaker(Vec<Value>);

/// The entries of an object so far, and the key of the one to come.
struct ObjectMaker<'a> {
    taken: Taken<'a>,
    entries: Vec<(String, Value)>,
    key: String,
}

impl ObjectMaker<'_> {
    fn entry<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), Refused> {
        let value = match self.taken {
            Taken::All => Value::of(value),
            Taken::Only(only) if only == key => Value::of(value),
            Taken::Only(_) => return Ok(()),
            Taken::Keys => Value::Null,
        };
        self.entries.push((key.to_owned(), value));
        Ok(())
    }
}

macro_rules! numbers {
    ($($method:ident: $type:ty => $variant:ident;)*) => {
        $(fn $method(self, number: $type) -> Result<Value, Refused> { Ok(Value::$variant(number.into())) })*
    };
}

impl<'a> Serializer for Maker<'a> {
    type Ok = Value;
    type Error = Refused;
    type SerializeSeq = ListMaker;
    type SerializeTuple = ListMaker;
    type SerializeTupleStruct = ListMaker;
    type SerializeTupleVariant = Impossible<Value, Refused>;
    type SerializeMap = ObjectMaker<'a>;
    type SerializeStruct = ObjectMaker<'a>;
    type SerializeStructVariant = Impossible<Value, Refused>;

    numbers! {
        serialize_bool: bool => Bool;
        serialize_i8: i8 => Integer;
        serialize_i16: i16 => Integer;
        serialize_i32: i32 => Integer;
        serialize_i64: i64 => Integer;
        serialize_u8: u8 => Unsigned;
        serialize_u16: u16 => Unsigned;
        serialize_u32: u32 => Unsigned;
        serialize_u64: u64 => Unsigned;
        serialize_f32: f32 => Float;
        serialize_f64: f64 => Float;
        serialize_char: char => Text;
        serialize_str: &str => Text;
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, Refused> {
        Ok(Value::List(bytes.iter().map(|byte| Value::Unsigned((*byte).into())).collect()))
    }

    fn serialize_none(self) -> Result<Value, Refused> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, Refused> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, Refused> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, Refused> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<Value, Refused> {
        Ok(Value::Text(name.to_owned()))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<Value, Refused> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result<Value, Refused> {
        Ok(Value::Object(vec![(name.to_owned(), Value::of(value))]))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<ListMaker, Refused> {
        Ok(ListMaker(Vec::new()))
    }

    fn serialize_tuple(self, _: usize) -> Result<ListMaker, Refused> {
        Ok(ListMaker(Vec::new()))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<ListMaker, Refused> {
        Ok(ListMaker(Vec::new()))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Impossible<Value, Refused>, Refused> {
        Err(Refused(name.to_owned()))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<ObjectMaker<'a>, Refused> {
        Ok(ObjectMaker { taken: self.0, entries: Vec::new(), key: String::new() })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<ObjectMaker<'a>, Refused> {
        self.serialize_map(None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Impossible<Value, Refused>, Refused> {
        Err(Refused(name.to_owned()))
    }
}

impl SerializeSeq for ListMaker {
    type Ok = Value;
    type Error = Refused;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        self.0.push(Value::of(value));
        Ok(())
    }

    fn end(self) -> Result<Value, Refused> {
        Ok(Value::List(self.0))
    }
}

impl SerializeTuple for ListMaker {
    type Ok = Value;
    type Error = Refused;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<Value, Refused> {
        SerializeSeq::end(self)
    }
}

impl SerializeTupleStruct for ListMaker {
    type Ok = Value;
    type Error = Refused;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<Value, Refused> {
        SerializeSeq::end(self)
    }
}

impl SerializeMap for ObjectMaker<'_> {
    type Ok = Value;
    type Error = Refused;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Refused> {
        self.key = match Value::of(key) {
            Value::Text(key) => key,
            Value::Integer(key) => key.to_string(),
            Value::Unsigned(key) => key.to_string(),
            _ => return Err(Refused("a key that is no text".to_owned())),
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        let key = std::mem::take(&mut self.key);
        self.entry(&key, value)
    }

    fn end(self) -> Result<Value, Refused> {
        Ok(Value::Object(self.entries))
    }
}

impl SerializeStruct for ObjectMaker<'_> {
    type Ok = Value;
    type Error = Refused;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Refused> {
        self.entry(key, value)
    }

    fn end(self) -> Result<Value, Refused> {
        Ok(Value::Object(self.entries))
    }
}
