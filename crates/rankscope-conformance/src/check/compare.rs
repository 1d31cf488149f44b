//! Two answers, value by value.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::arrays;
use super::findings::Found;
use crate::array::{Packed, is_packed, nested, read as read_array};
use crate::case::Case;

/// What came of it.
pub(super) struct Comparison<'a> {
    case: &'a Case,
    path: Path,
    /// How many values were compared.
    pub(super) values: usize,
    pub(super) found: Vec<Found>,
    /// What cases in a list may leave out.
    pub(super) absent: Vec<String>,
}

/// The names that lead to a value, each with its position in the lists under that name.
#[derive(Default)]
pub(super) struct Path(Vec<(String, Vec<usize>)>);

impl Path {
    /// The names alone.
    pub(super) fn names(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.0.iter().map(|step| step.0.as_str())
    }

    /// The position under the last name.
    pub(super) fn index(&self) -> &[usize] {
        self.0.last().map_or(&[], |step| &step.1)
    }

    /// All positions but those of a case among cases.
    fn positions(&self) -> Vec<usize> {
        self.0.iter().filter(|step| step.0 != "cases").flat_map(|step| &step.1).copied().collect()
    }

    fn last(&self) -> &str {
        self.names().last().unwrap_or_default()
    }

    fn enter(&mut self, name: &str) {
        self.0.push((name.to_owned(), Vec::new()));
    }

    fn leave(&mut self) {
        self.0.pop();
    }

    /// With the positions between names, not those under the last.
    fn text(&self) -> String {
        let mut text = String::new();
        for (at, (name, index)) in self.0.iter().enumerate() {
            let _ = write!(text, "{}{name}", if at > 0 { "." } else { "" });
            if at + 1 < self.0.len() {
                let _ = index.iter().try_for_each(|at| write!(text, "[{at}]"));
            }
        }
        text
    }
}

impl<'a> Comparison<'a> {
    /// Everything under `key`, which the answer in `case` gives as `given`.
    pub(super) fn of(key: &str, expected: &Value, given: &Value, case: &'a Case) -> Self {
        let path = Path(vec![(key.to_owned(), Vec::new())]);
        let mut all = Self { case, path, values: 0, found: Vec::new(), absent: Vec::new() };
        all.value(expected, given, &Value::Null);
        all
    }

    /// `within` is the object that `expected` is an entry of.
    fn value(&mut self, expected: &Value, given: &Value, within: &Value) {
        match (expected, given) {
            _ if is_packed(expected) || is_packed(given) => self.packed(expected, given, within),
            (Value::Array(_), Value::String(_)) => match self.unpacked(given) {
                Ok(given) => self.value(expected, &given, within),
                Err(problem) => self.differs("shape", expected, given, problem),
            },
            (Value::Object(right), Value::Object(found)) => {
                for (key, right) in right {
                    let is_case = self.path.last() == "cases";
                    self.path.enter(key);
                    match found.get(key) {
                        Some(found) => self.value(right, found, expected),
                        None if right.is_null() || right.is_string() => {}
                        None if is_case => self.absent.push(self.path.text()),
                        None => self.differs("shape", right, &Value::Null, "an array is missing".to_owned()),
                    }
                    self.path.leave();
                }
                for (key, found) in found.iter().filter(|(key, found)| !right.contains_key(*key) && !found.is_null()) {
                    self.path.enter(key);
                    if !found.is_string() {
                        self.differs("unknown", &Value::Null, found, "there is no such array".to_owned());
                    }
                    self.path.leave();
                }
            }
            (Value::Array(right), Value::Array(found)) => match (shape(expected), shape(given)) {
                (Some(right), Some(found)) if right != found => {
                    self.differs("shape", &json!(right), &json!(found), "shape mismatch".to_owned());
                }
                _ if right.len() != found.len() => {
                    let meaning = "shape mismatch: so many entries".to_owned();
                    self.differs("shape", &right.len().into(), &found.len().into(), meaning);
                }
                _ => {
                    for (at, (right, found)) in right.iter().zip(found).enumerate() {
                        if let Some(step) = self.path.0.last_mut() {
                            step.1.push(at);
                        }
                        self.value(right, found, within);
                        if let Some(step) = self.path.0.last_mut() {
                            step.1.pop();
                        }
                    }
                }
            },
            // Texts beside arrays are notes.
            (Value::String(_), Value::String(_)) if self.path.index().is_empty() && self.path.last() != "sha256" => {}
            _ => self.leaf(expected, given, within),
        }
    }

    fn leaf(&mut self, expected: &Value, given: &Value, within: &Value) {
        self.values += 1;
        let number = |value: &Value| {
            value
                .as_bool()
                .map_or_else(|| value.as_i64().map(i128::from).or(value.as_u64().map(i128::from)), |bit| Some(bit.into()))
        };
        let (right, found) = (number(expected), number(given));
        let same = match (right, found) {
            (Some(right), Some(found)) => right == found,
            _ => expected == given || (expected.is_number() && given.is_number() && expected.as_f64() == given.as_f64()),
        };
        if same {
            return;
        }
        if right.is_some() && found.is_none() {
            return self.differs("type", expected, given, "not a whole number of 64 bits".to_owned());
        }
        let (property, meaning) = arrays::property(&self.path, expected, within);
        self.differs(property, expected, given, meaning);
    }

    /// Packed arrays are compared by their values where both have them, and by sums and hashes as well.
    fn packed(&mut self, expected: &Value, given: &Value, within: &Value) {
        let has_values = |value: &Value| !is_packed(value) || value.get("zlib_b64_i32le").is_some();
        if has_values(expected) && has_values(given) {
            match (self.unpacked(expected), self.unpacked(given)) {
                (Ok(right), Ok(found)) => self.value(&right, &found, within),
                (_, Err(problem)) | (Err(problem), _) => self.differs("shape", &json!("an array"), given, problem),
            }
        }
        if !is_packed(expected) {
            return;
        }
        let given = if is_packed(given) {
            given.clone()
        } else {
            let array = read_array(given, self.case.files()).map(|array| Packed::digest(array.shape(), array.values()));
            array.ok().and_then(|packed| serde_json::to_value(packed).ok()).unwrap_or_default()
        };
        for key in ["shape", "sum", "weighted_sum_mod_2p61m1", "sha256_i64le"] {
            self.values += 1;
            if expected[key] != given[key] {
                self.path.enter(key);
                let meaning = "the sum of the array, or its hash, is another".to_owned();
                self.differs("digest", &expected[key], &given[key], meaning);
                self.path.leave();
            }
        }
    }

    /// As nested lists.
    fn unpacked(&self, value: &Value) -> Result<Value, String> {
        if value.is_array() {
            return Ok(value.clone());
        }
        let array = read_array(value, self.case.files()).map_err(|error| error.to_string())?;
        Ok(nested(array.shape(), array.values()))
    }

    fn differs(&mut self, property: &'static str, expected: &Value, found: &Value, meaning: String) {
        self.found.push(Found {
            property,
            place: arrays::place(self.path.names(), &self.path.positions()),
            array: self.path.text(),
            index: self.path.index().to_vec(),
            expected: expected.clone(),
            found: found.clone(),
            meaning,
        });
    }
}

/// Lengths of the axes, of a list whose rows are all alike.
fn shape(value: &Value) -> Option<Vec<usize>> {
    let Value::Array(list) = value else { return Some(Vec::new()) };
    let mut shapes = list.iter().map(shape);
    let first = shapes.next().unwrap_or_else(|| Some(Vec::new()))?;
    shapes.all(|shape| shape.as_ref() == Some(&first)).then(|| [vec![list.len()], first].concat())
}
