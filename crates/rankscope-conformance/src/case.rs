//! A case: an object with inputs beside `kind`, under `inputs`, or both.

use std::sync::Arc;

use rankscope_dispatch::Padded;
use serde_json::Value;

use super::array;
use super::error::{At, Error, InputFault, Must, Place, Result};
use super::files::Files;

/// The object that was read, or one inside it.
#[derive(Clone)]
pub struct Case {
    value: Value,
    files: Arc<dyn Files>,
}

impl Error {
    /// An input that a kind needs is not there.
    pub(crate) fn missing(name: &str) -> Self {
        Self::MissingInput { name: name.to_owned() }
    }

    /// An input is not what its kind takes.
    pub(crate) fn input(name: &str, fault: InputFault) -> Self {
        Self::Input { name: name.to_owned(), fault }
    }

    /// An input has another value than `must` allows.
    pub(crate) fn value(name: &str, value: &Value, must: Must) -> Self {
        Self::input(name, InputFault::Value { value: value.clone(), must })
    }
}

impl Case {
    /// The case in `value`, which must be an object; `files` has the files that it names.
    ///
    /// # Errors
    /// [`Error::NotAnObject`].
    pub fn new(value: Value, files: Arc<dyn Files>) -> Result<Self> {
        match value.is_object() {
            true => Ok(Self { value, files }),
            false => Err(Error::NotAnObject),
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
        self.value.get("kind").and_then(Value::as_str).ok_or(Error::NoKind)
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
        self.find(key).ok_or_else(|| Error::missing(key))
    }

    /// An array.
    pub(crate) fn array(&self, key: &str) -> Result<Padded> {
        array::read(self.need(key)?, self.files()).at(|| Place::Input(key.to_owned()))
    }

    /// An array that may be missing.
    pub(crate) fn array_if_any(&self, key: &str) -> Result<Option<Padded>> {
        self.find(key).map(|value| array::read(value, self.files()).at(|| Place::Input(key.to_owned()))).transpose()
    }

    /// Rows that may have different lengths.
    pub(crate) fn rows(&self, key: &str) -> Result<Vec<Vec<i64>>> {
        serde_json::from_value(self.need(key)?.clone()).map_err(|error| Error::input(key, InputFault::NoRows(error)))
    }

    /// A number that counts something, or what is taken when it is missing.
    pub(crate) fn count_or(&self, key: &str, otherwise: u32) -> Result<u32> {
        if self.find(key).is_some() { self.count(key) } else { Ok(otherwise) }
    }

    /// A number that counts something.
    pub(crate) fn count(&self, key: &str) -> Result<u32> {
        let value = self.need(key)?;
        let count = value.as_u64().and_then(|value| u32::try_from(value).ok());
        count.ok_or_else(|| Error::value(key, value, Must::Count))
    }

    /// A seed; torch takes 64 bits and uses the lower half.
    pub(crate) fn seed(&self) -> Result<u64> {
        let value = self.need("seed")?;
        let seed = value.as_u64().or_else(|| value.as_i64().map(i64::cast_unsigned));
        seed.ok_or_else(|| Error::value("seed", value, Must::Seed))
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
            .map(|value| Self::new(value.clone(), Arc::clone(&self.files)).at(|| Place::Object(key.to_owned())))
            .transpose()
    }

    /// The cases in a list.
    pub(crate) fn list(&self, key: &str) -> Result<Vec<Case>> {
        let list = self.need(key)?.as_array().ok_or_else(|| Error::input(key, InputFault::NoList))?;
        list.iter()
            .enumerate()
            .map(|(at, value)| {
                Self::new(value.clone(), Arc::clone(&self.files)).at(|| Place::Case { list: key.to_owned(), at })
            })
            .collect()
    }

    /// Whether arrays are packed in this kind of case.
    pub(crate) fn is_big(&self) -> bool {
        self.kind().is_ok_and(|kind| kind.ends_with("_big"))
    }
}
