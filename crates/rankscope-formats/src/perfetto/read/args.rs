//! Debug annotations to arguments. Dictionaries and lists become JSON text.

use rankscope_trace::{ArgValue, StrId, Strings};
use serde_json::{Map, Value as Json};

use super::sequence::Sequence;
use crate::perfetto::interning::NULL_IID;
use crate::perfetto::schema::annotation;
use crate::wire::{Fields, Value};

/// Deeper nesting than this is not read; no profiler nests arguments half as deep.
const DEPTH_MAX: usize = 24;

/// Why an annotation gave no argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// The message is none.
    Malformed,
    /// It refers to a string that was never sent.
    Missing,
}

/// The key and value of a `DebugAnnotation`. In files of ours, interned strings with odd ids are JSON.
pub(super) fn argument(
    message: &[u8],
    sequence: &Sequence,
    strings: &mut Strings,
    ours: bool,
) -> Result<(StrId, ArgValue), Lost> {
    let mut key = StrId::EMPTY;
    let mut argument = ArgValue::Null;
    let mut nested = false;
    for field in Fields::of(message) {
        let (number, value) = field.map_err(|_| Lost::Malformed)?;
        match number {
            annotation::NAME_IID => key = sequence.keys.get(value.u64()).ok_or(Lost::Missing)?,
            annotation::NAME => key = intern(strings, value),
            annotation::BOOL => argument = ArgValue::Bool(value.u64() != 0),
            annotation::UINT | annotation::POINTER => argument = ArgValue::U64(value.u64()),
            annotation::INT => argument = ArgValue::I64(value.i64()),
            annotation::DOUBLE => argument = ArgValue::F64(value.f64()),
            annotation::STRING => argument = ArgValue::Text(intern(strings, value)),
            annotation::STRING_IID => {
                let text = sequence.texts.get(value.u64()).ok_or(Lost::Missing)?;
                argument = match value.u64() {
                    NULL_IID if ours => ArgValue::Null,
                    iid if ours && iid % 2 == 1 => ArgValue::Json(text),
                    _ => ArgValue::Text(text),
                };
            }
            annotation::LEGACY_JSON => argument = ArgValue::Json(intern(strings, value)),
            annotation::NESTED => {
                let json = old_json(value.bytes(), DEPTH_MAX).ok_or(Lost::Malformed)?;
                argument = ArgValue::Json(strings.intern(&json.to_string()));
            }
            annotation::DICT_ENTRIES | annotation::ARRAY_VALUES => nested = true,
            _ => {}
        }
    }
    if nested {
        let json = json(message, sequence, strings, DEPTH_MAX).ok_or(Lost::Malformed)?;
        argument = ArgValue::Json(strings.intern(&json.to_string()));
    }
    Ok((key, argument))
}

/// A nested annotation, its name aside.
fn json(message: &[u8], sequence: &Sequence, strings: &Strings, depth: usize) -> Option<Json> {
    let mut value_of = Json::Null;
    let mut list: Option<Vec<Json>> = None;
    let mut map: Option<Map<String, Json>> = None;
    for field in Fields::of(message) {
        let (number, value) = field.ok()?;
        match number {
            annotation::BOOL => value_of = Json::Bool(value.u64() != 0),
            annotation::UINT | annotation::POINTER => value_of = value.u64().into(),
            annotation::INT => value_of = value.i64().into(),
            annotation::DOUBLE => value_of = value.f64().into(),
            annotation::STRING | annotation::LEGACY_JSON => value_of = lossy(value).into(),
            annotation::STRING_IID => value_of = strings.text(sequence.texts.get(value.u64())?).into(),
            annotation::NESTED => value_of = old_json(value.bytes(), depth.checked_sub(1)?)?,
            annotation::ARRAY_VALUES => {
                list.get_or_insert_default().push(json(value.bytes(), sequence, strings, depth.checked_sub(1)?)?);
            }
            annotation::DICT_ENTRIES => {
                let entry = json(value.bytes(), sequence, strings, depth.checked_sub(1)?)?;
                map.get_or_insert_default().insert(name(value.bytes(), sequence, strings)?, entry);
            }
            _ => {}
        }
    }
    Some(map.map(Json::Object).or(list.map(Json::Array)).unwrap_or(value_of))
}

fn name(message: &[u8], sequence: &Sequence, strings: &Strings) -> Option<String> {
    Fields::of(message).flatten().find_map(|(number, value)| match number {
        annotation::NAME_IID => Some(strings.text(sequence.keys.get(value.u64())?).to_owned()),
        annotation::NAME => Some(lossy(value)),
        _ => None,
    })
}

/// The older way to nest, `NestedValue`: keys and values of a dictionary are two lists.
fn old_json(message: &[u8], depth: usize) -> Option<Json> {
    let mut leaf = Json::Null;
    let (mut keys, mut values, mut list) = (Vec::new(), Vec::new(), Vec::new());
    let mut kind = 0;
    for field in Fields::of(message) {
        match field.ok()? {
            (1, value) => kind = value.u64(),
            (2, value) => keys.push(lossy(value)),
            (3, value) => values.push(old_json(value.bytes(), depth.checked_sub(1)?)?),
            (4, value) => list.push(old_json(value.bytes(), depth.checked_sub(1)?)?),
            (5, value) => leaf = value.i64().into(),
            (6, value) => leaf = value.f64().into(),
            (7, value) => leaf = (value.u64() != 0).into(),
            (8, value) => leaf = lossy(value).into(),
            _ => {}
        }
    }
    Some(match kind {
        1 => Json::Object(keys.into_iter().zip(values).collect()),
        2 => Json::Array(list),
        _ => leaf,
    })
}

fn intern(strings: &mut Strings, value: Value<'_>) -> StrId {
    strings.intern(&String::from_utf8_lossy(value.bytes()))
}

fn lossy(value: Value<'_>) -> String {
    String::from_utf8_lossy(value.bytes()).into_owned()
}
