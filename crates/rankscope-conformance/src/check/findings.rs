//! What was checked, and what is wrong with it.

use rankscope_dispatch::properties::Violation;
use serde::Serialize;
use serde_json::Value;

use super::arrays;

/// Of arrays that contradict each other, so that nothing follows from them to compare with.
pub const CONSISTENCY: &str = "consistency";

/// All of it.
#[derive(Default, Serialize)]
pub struct Findings {
    /// What the file was held against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// In the order in which it was checked.
    pub checked: Vec<Checked>,
    /// What such a file may contain, and this one does not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_in_the_file: Vec<String>,
    /// What is wrong, by what was checked.
    pub violations: Vec<Found>,
}

/// Something that was checked.
#[derive(Serialize)]
pub struct Checked {
    /// What it is.
    pub name: String,
    /// How many values were compared, where they were compared one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<usize>,
    /// How many values are wrong.
    pub violations: usize,
}

/// Something wrong.
#[derive(Serialize)]
pub struct Found {
    /// What is violated.
    pub property: &'static str,
    /// The array, with everything that it lies in.
    pub array: String,
    /// Where in the array.
    pub index: Vec<usize>,
    /// The same in words, as far as the axes have names.
    pub place: String,
    /// What must be there.
    pub expected: Value,
    /// What is.
    pub found: Value,
    /// What that means.
    pub meaning: String,
}

impl Found {
    /// A violation of one of the library's properties; `named` gives the array the name that it has in the file.
    #[must_use]
    pub fn of(violation: &Violation, named: impl Fn(&str) -> String) -> Self {
        let Violation { property, what, index, expected, found } = violation;
        let array = named(what);
        Self {
            property: property.as_str(),
            place: arrays::place(array.split('.'), index),
            array,
            index: index.clone(),
            expected: (*expected).into(),
            found: (*found).into(),
            meaning: property.meaning().to_owned(),
        }
    }
}

impl Findings {
    /// Something that was checked under this name, value by value where `values` says how many.
    pub fn add(&mut self, name: &str, values: Option<usize>, found: Vec<Found>) {
        self.checked.push(Checked { name: name.to_owned(), values, violations: found.len() });
        self.violations.extend(found);
    }

    /// Whether nothing was checked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.checked.is_empty()
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }
}
