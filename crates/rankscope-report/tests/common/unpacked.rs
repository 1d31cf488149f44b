//! What a page was given, read by code that shares nothing with what wrote it or with the page's own script.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use serde_json::{Map, Value};

/// `value` with packed integers as lists of numbers, and records with their keys.
pub(crate) fn unpacked(value: Value) -> Value {
    match value {
        Value::Object(fields) => of_object(fields),
        Value::Array(items) => items.into_iter().map(unpacked).collect(),
        other => other,
    }
}

fn of_object(mut fields: Map<String, Value>) -> Value {
    if let (1, Some((key @ ("exact" | "brief"), Value::String(text)))) =
        (fields.len(), fields.iter().next().map(|(key, text)| (key.as_str(), text)))
    {
        return integers(text, key == "brief");
    }
    if let (2, Some(Value::Array(keys)), Some(Value::Array(rows))) = (fields.len(), fields.get("keys"), fields.get("rows")) {
        let record = |row: &Value| {
            let values = row.as_array().expect("a row is a list");
            assert_eq!(values.len(), keys.len(), "a row has a value for every key");
            let named = keys.iter().zip(values).map(|(key, value)| (text(key), unpacked(value.clone())));
            Value::Object(named.collect())
        };
        return rows.iter().map(record).collect();
    }
    for value in fields.values_mut() {
        *value = unpacked(value.take());
    }
    Value::Object(fields)
}

fn text(value: &Value) -> String {
    value.as_str().expect("a key is a text").to_owned()
}

fn integers(text: &str, is_brief: bool) -> Value {
    let bytes = BASE64_STANDARD_NO_PAD.decode(text).expect("packed integers are base64");
    let (mut symbol, mut shift, mut known) = (0_i128, 0, 0_i128);
    let mut values = Vec::new();
    for byte in bytes {
        symbol |= i128::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 != 0 {
            continue;
        }
        known += match symbol {
            0 => 0,
            _ if symbol & 1 == 1 => symbol >> 1,
            _ => -(symbol >> 1),
        };
        let value = i64::try_from(if is_brief { three_digits(known) } else { known }).expect("what was packed was 64 bits");
        values.push(if symbol == 0 { Value::Null } else { value.into() });
        (symbol, shift) = (0, 0);
    }
    values.into()
}

fn three_digits(number: i128) -> i128 {
    let size = number.abs();
    let value = if size < 1_000 { size } else { (100 + (size - 1_000) % 900) * 10_i128.pow(1 + ((size - 1_000) / 900) as u32) };
    value * number.signum()
}
