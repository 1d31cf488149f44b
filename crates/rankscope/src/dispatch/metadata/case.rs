//! A case: an object with inputs beside `kind`, under `inputs`, or both.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use rankscope_dispatch::Padded;
use serde_json::Value;

use super::array;
use crate::dispatch::file;

/// The object that was read, or one inside it.
pub(crate) struct Case {
    value: Value,
}

impl Case {
    /// Reads a file, or the standard input for `-`.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = file::bytes(path)?;
        let value: Value = serde_json::from_slice(&text).with_context(|| format!("{}: not JSON", path.display()))?;
        Self::new(value).with_context(|| path.display().to_string())
    }

    /// The case in `value`, which must be an object.
    pub(crate) fn new(value: Value) -> Result<Self> {
        match value.is_object() {
            true => Ok(Self { value }),
            false => Err(anyhow!("a case is an object with `kind` and the inputs of that kind")),
        }
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

    /// A list that may lie beside a note of the same name under `inputs`, as in cases that only describe it there.
    pub(crate) fn find_list(&self, key: &str) -> Option<&Value> {
        self.find(key).filter(|value| value.is_array()).or_else(|| self.value.get(key))
    }

    fn need(&self, key: &str) -> Result<&Value> {
        self.find(key).with_context(|| format!("the input `{key}` is missing"))
    }

    /// An array.
    pub(crate) fn array(&self, key: &str) -> Result<Padded> {
        array::read(self.need(key)?).with_context(|| format!("the input `{key}`"))
    }

    /// An array that may be missing.
    pub(crate) fn array_if_any(&self, key: &str) -> Result<Option<Padded>> {
        self.find(key).map(|value| array::read(value).with_context(|| format!("the input `{key}`"))).transpose()
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

    /// The same case with a seed.
    pub(super) fn with_seed(&self, seed: u64) -> Self {
        let mut value = self.value.clone();
        value["seed"] = seed.into();
        Self { value }
    }

    /// An object that may be missing.
    pub(crate) fn object(&self, key: &str) -> Result<Option<Case>> {
        self.find(key).map(|value| Self::new(value.clone()).with_context(|| format!("the input `{key}`"))).transpose()
    }

    /// The cases in a list.
    pub(crate) fn list(&self, key: &str) -> Result<Vec<Case>> {
        let list = self.need(key)?.as_array().with_context(|| format!("the input `{key}` is no list"))?;
        list.iter()
            .enumerate()
            .map(|(at, value)| Self::new(value.clone()).with_context(|| format!("{key}, entry {at}")))
            .collect()
    }

    /// Whether arrays are packed in this kind of case.
    pub(crate) fn is_big(&self) -> bool {
        self.kind().is_ok_and(|kind| kind.ends_with("_big"))
    }
}
