//! Answers as JSON whose keys stay in the order in which they were added: that of the golden files.

use std::fmt::Write as _;

use rankscope_dispatch::Padded;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;

use super::Packed;

/// A value of an answer.
pub(crate) enum Json {
    Null,
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<Json>),
    Nested(Padded),
    Packed(Packed),
    Object(Object),
    /// As it was read.
    Given(Value),
}

/// Keys and values in order.
#[derive(Default)]
pub struct Object(Vec<(String, Json)>);

impl Object {
    /// An answer to a case of this kind.
    pub(crate) fn of_kind(kind: &str) -> Self {
        Self::default().with("kind", kind)
    }

    /// One entry more.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Json>) -> Self {
        self.push(key, value);
        self
    }

    pub(crate) fn push(&mut self, key: &str, value: impl Into<Json>) {
        self.0.push((key.into(), value.into()));
    }

    /// Puts an entry before the one at `at`.
    pub(super) fn insert(&mut self, at: usize, key: &str, value: impl Into<Json>) {
        self.0.insert(at.min(self.0.len()), (key.into(), value.into()));
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.0.iter().any(|entry| entry.0 == key)
    }

    /// Whether this is the answer of a test that did not pass.
    #[must_use]
    pub fn says_no(&self) -> bool {
        self.0.iter().any(|(key, value)| key == "passed" && matches!(value, Json::Given(Value::Bool(false))))
    }

    /// A line per entry: the shape of an array, the value of anything else, in lines of so many columns.
    #[must_use]
    pub fn summary(&self, columns: usize) -> String {
        let mut text = String::new();
        self.summarize(&mut text, columns, 0);
        text
    }

    fn summarize(&self, text: &mut String, columns: usize, depth: usize) {
        for (key, value) in &self.0 {
            let _ = write!(text, "{:indent$}{key}", "", indent = 2 * depth);
            match value {
                Json::Object(inner) => {
                    text.push('\n');
                    inner.summarize(text, columns, depth + 1);
                }
                value => {
                    let room = columns.saturating_sub(2 * depth + key.len() + 2).max(LETTERS_ALWAYS);
                    let _ = writeln!(text, ": {}", value.brief(room));
                }
            }
        }
    }
}

impl Json {
    /// In one line of so many letters.
    fn brief(&self, room: usize) -> String {
        match self {
            Self::Nested(array) if array.values().len() > MOST_VALUES_SHOWN => format!("array of shape {:?}", array.shape()),
            Self::List(list) if list.len() > MOST_VALUES_SHOWN => format!("{} entries", list.len()),
            value => match serde_json::to_string(value) {
                Ok(text) if text.chars().count() <= room => text,
                Ok(text) => text.chars().take(room - ELLIPSIS.len()).chain(ELLIPSIS.chars()).collect(),
                Err(error) => error.to_string(),
            },
        }
    }
}

/// Enough to see the smallest worked examples whole.
const MOST_VALUES_SHOWN: usize = 32;
/// Beside whatever name, in however narrow a terminal.
const LETTERS_ALWAYS: usize = 20;
const ELLIPSIS: &str = "...";

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
        map.end()
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Integer(value) => value.serialize(serializer),
            Self::Float(value) => value.serialize(serializer),
            Self::Text(text) => text.serialize(serializer),
            Self::List(list) => list.serialize(serializer),
            Self::Nested(array) => Level { shape: array.shape(), values: array.values() }.serialize(serializer),
            Self::Packed(packed) => packed.serialize(serializer),
            Self::Object(object) => object.serialize(serializer),
            Self::Given(value) => value.serialize(serializer),
        }
    }
}

/// The values of an array from one axis on.
struct Level<'a> {
    shape: &'a [usize],
    values: &'a [i64],
}

impl Serialize for Level<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [axis, inner @ ..] = self.shape else { return self.values.serialize(serializer) };
        if inner.is_empty() {
            return self.values.serialize(serializer);
        }
        let (width, mut list) = (inner.iter().product::<usize>(), serializer.serialize_seq(Some(*axis))?);
        for at in 0..*axis {
            list.serialize_element(&Level { shape: inner, values: &self.values[at * width..(at + 1) * width] })?;
        }
        list.end()
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u32> for Json {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<usize> for Json {
    fn from(value: usize) -> Self {
        Self::Integer(value as i64)
    }
}

impl From<f64> for Json {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<Padded> for Json {
    fn from(array: Padded) -> Self {
        Self::Nested(array)
    }
}

impl From<Packed> for Json {
    fn from(packed: Packed) -> Self {
        Self::Packed(packed)
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self::Given(value)
    }
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(list: Vec<T>) -> Self {
        Self::List(list.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
