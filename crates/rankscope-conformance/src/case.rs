//! A case: an object with inputs beside `kind`, under `inputs`, or both.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use rankscope_dispatch::Padded;
use serde_json::Value;

use super::array;
use super::files::Files;

/// The object that was read, or one inside it.
#[derive(Clone)]
pub struct Case {
    value: Value,
    files: Arc<dyn Files>,
}

/// An input that a kind needs.
#[derive(Debug, thiserror::Error)]
#[error("the input `{0}` is missing")]
pub(crate) struct MissingInput(String);

impl MissingInput {
    pub(super) fn new(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl Case {
    /// The case in `value`, which must be an object; `files` has the files that it names.
    pub fn new(value: Value, files: Arc<dyn Files>) -> Result<Self> {
        match value.is_object() {
            true => Ok(Self { value, files }),
            false => Err(anyhow!("a case is an object with `kind` and the inputs of that kind")),
        }
    }

    /// All of it.
    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    /// The files that the case names.
    pub(crate) fn files(&self) -> &dyn Files {
        self.files.as_ref()
    }

    /// What function the case is for.
    pub(crate) fn kind(&self) -> Result<&str> {
        self.value.get("kind").and_then(Value::as_str).context("the case has no `kind`")
    }

    /// An input, wherever it is.
    pub(crate) fn find(&self, key: &str) -> Option<&Value> {
        let nested = self.value.get("inputs").and_then(|inputs| inputs.get(key));
        nested.or_else(|| self.value.get(key)).filter(|value| !value.is_null())
    }

    /// The same, unless it is a note under `inputs` that describes what lies beside it.
    pub(crate) fn input(&self, key: &str) -> Option<&Value> {
        self.find(key).filter(|value| !value.is_string()).or_else(|| self.value.get(key)).or_else(|| self.find(key))
    }

    fn need(&self, key: &str) -> Result<&Value> {
        self.find(key).ok_or_else(|| MissingInput::new(key).into())
    }

    /// An array.
    pub(crate) fn array(&self, key: &str) -> Result<Padded> {
        array::read(self.need(key)?, self.files()).with_context(|| format!("the input `{key}`"))
    }

    /// An array that may be missing.
    pub(crate) fn array_if_any(&self, key: &str) -> Result<Option<Padded>> {
        self.find(key).map(|value| array::read(value, self.files()).with_context(|| format!("the input `{key}`"))).transpose()
    }

    /// Rows that may have different lengths.
    pub(crate) fn rows(&self, key: &str) -> Result<Vec<Vec<i64>>> {
        serde_json::from_value(self.need(key)?.clone())
            .with_context(|| format!("the input `{key}` is no list of lists of integers"))
    }

    /// A number that counts something, or what is taken when it is missing.
    pub(crate) fn count_or(&self, key: &str, otherwise: u32) -> Result<u32> {
        if self.find(key).is_some() { self.count(key) } else { Ok(otherwise) }
    }

    /// A number that counts something.
    pub(crate) fn count(&self, key: &str) -> Result<u32> {
        let value = self.need(key)?;
        let count = value.as_u64().and_then(|value| u32::try_from(value).ok());
        count.with_context(|| format!("the input `{key}` is {value} and must be a whole number below 2^32"))
    }

    /// A seed; torch takes 64 bits and uses the lower half.
    pub(crate) fn seed(&self) -> Result<u64> {
        let value = self.need("seed")?;
        let seed = value.as_u64().or_else(|| value.as_i64().map(i64::cast_unsigned));
        seed.with_context(|| format!("the input `seed` is {value} and must be a whole number of 64 bits"))
    }

    /// The same case of the kind that is called `kind`.
    pub(super) fn with_kind(&self, kind: &str) -> Self {
        let mut case = self.clone();
        case.value["kind"] = kind.into();
        case
    }

    /// An object that may be missing.
    pub(crate) fn object(&self, key: &str) -> Result<Option<Case>> {
        self.find(key)
            .map(|value| {
                Self::new(value.clone(), Arc::clone(&self.files)).with_context(|| format!("the input `{key}` is no object"))
            })
            .transpose()
    }

    /// The cases in a list.
    pub(crate) fn list(&self, key: &str) -> Result<Vec<Case>> {
        let list = self.need(key)?.as_array().with_context(|| format!("the input `{key}` is no list"))?;
        list.iter()
            .enumerate()
            .map(|(at, value)| Self::new(value.clone(), Arc::clone(&self.files)).with_context(|| format!("{key}, entry {at}")))
            .collect()
    }

    /// Whether arrays are packed in this kind of case.
    pub(crate) fn is_big(&self) -> bool {
        self.kind().is_ok_and(|kind| kind.ends_with("_big"))
    }
}
