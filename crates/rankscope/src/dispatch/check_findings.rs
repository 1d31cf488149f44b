//! What was checked, and what is wrong with it.

use std::fmt::Write as _;

use rankscope_dispatch::properties::Violation;
use serde::Serialize;
use serde_json::Value;

use super::check_case::arrays;

/// Of arrays that contradict each other, so that nothing follows from them to compare with.
pub(super) const CONSISTENCY: &str = "consistency";

/// All of it.
#[derive(Default, Serialize)]
pub(super) struct Findings {
    /// What the file was held against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) against: Option<String>,
    checked: Vec<Checked>,
    /// What such a file may contain, and this one does not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_in_the_file: Vec<String>,
    violations: Vec<Found>,
}

#[derive(Serialize)]
struct Checked {
    name: String,
    /// How many values were compared, where they were compared one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<usize>,
    violations: usize,
}

/// Something wrong.
#[derive(Serialize)]
pub(super) struct Found {
    pub(super) property: &'static str,
    /// The array, with everything that it lies in.
    pub(super) array: String,
    pub(super) index: Vec<usize>,
    /// The same in words, as far as the axes have names.
    pub(super) place: String,
    pub(super) expected: Value,
    pub(super) found: Value,
    pub(super) meaning: String,
}

impl Found {
    /// A violation of one of the library's properties; `named` gives the array the name that it has in the file.
    pub(super) fn of(violation: &Violation, named: impl Fn(&str) -> String) -> Self {
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

    fn line(&self) -> String {
        if self.property == CONSISTENCY {
            return format!("{CONSISTENCY}: {}: {}", self.array, self.meaning);
        }
        let Self { property, array, index, place, expected, found, meaning } = self;
        let index: String = index.iter().map(|at| format!("[{at}]")).collect();
        let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
        let must = match (expected, found) {
            (Value::Null, _) => "must not be there".to_owned(),
            (expected, Value::Null) => format!("is missing and must be {}", short(expected)),
            (expected, found) => format!("is {} and must be {}", short(found), short(expected)),
        };
        format!("{property}: {array}{index}{place} {must}: {meaning}")
    }
}

/// Values that fill no line.
fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= MOST_LETTERS { text } else { text.chars().take(MOST_LETTERS).chain("...".chars()).collect() }
}

const MOST_LETTERS: usize = 40;

impl Findings {
    /// Something that was checked under this name, value by value where `values` says how many.
    pub(super) fn add(&mut self, name: &str, values: Option<usize>, found: Vec<Found>) {
        self.checked.push(Checked { name: name.to_owned(), values, violations: found.len() });
        self.violations.extend(found);
    }

    /// Whether nothing was checked.
    pub(super) fn is_empty(&self) -> bool {
        self.checked.is_empty()
    }

    pub(super) fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }

    pub(super) fn table(&self) -> String {
        let mut text = String::new();
        let mut rest = self.violations.as_slice();
        for Checked { name, values, violations } in &self.checked {
            let (here, after) = rest.split_at((*violations).min(rest.len()));
            rest = after;
            let _ = match (violations, values) {
                (0, None) => writeln!(text, "{name}: every property holds"),
                (0, Some(values)) => writeln!(text, "{name}: {values} values, every one is right"),
                (count, None) => writeln!(text, "{name}: {count} {}", plural(*count)),
                (count, Some(values)) => writeln!(text, "{name}: {values} values, {count} {}", plural(*count)),
            };
            for found in here.iter().take(MOST_LINES) {
                let _ = writeln!(text, "  {}", found.line());
            }
            if here.len() > MOST_LINES {
                let _ = writeln!(text, "  and {} more; --format json lists all", here.len() - MOST_LINES);
            }
        }
        if !self.not_in_the_file.is_empty() {
            let _ = writeln!(text, "not in the file, so not checked: {}", self.not_in_the_file.join(", "));
        }
        if let Some(against) = &self.against {
            let _ = writeln!(text, "compared with {against}");
        }
        text
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "violation" } else { "violations" }
}

/// One wrong length moves everything after it; the first lines say it.
const MOST_LINES: usize = 20;
