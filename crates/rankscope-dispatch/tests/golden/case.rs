//! Reads golden files: nested lists, or arrays packed as zlib in base64.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use base64::Engine;
use flate2::read::ZlibDecoder;
use rankscope_dispatch::Padded;
use serde_json::Value;

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/dispatch")
}

/// All cases of one kind, by file name.
pub(crate) fn of_kind(kind: &str) -> Vec<(String, Value)> {
    let mut cases: Vec<_> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let case: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            (path.file_name().unwrap().to_str().unwrap().to_owned(), case)
        })
        .filter(|(_, case)| case["kind"] == kind)
        .collect();
    assert!(!cases.is_empty(), "no golden case of kind {kind}");
    cases.sort_by(|a, b| a.0.cmp(&b.0));
    cases
}

/// An array, in either form.
pub(crate) fn tensor(value: &Value) -> Padded {
    if let Some(packed) = value.get("zlib_b64_i32le") {
        let zlib = base64::prelude::BASE64_STANDARD.decode(packed.as_str().unwrap()).unwrap();
        let mut bytes = Vec::new();
        ZlibDecoder::new(zlib.as_slice()).read_to_end(&mut bytes).unwrap();
        let values = bytes.as_chunks().0.iter().map(|&word| i64::from(i32::from_le_bytes(word))).collect();
        let shape: Vec<_> = value["shape"].as_array().unwrap().iter().map(|axis| axis.as_u64().unwrap() as usize).collect();
        return Padded::new(&shape, values).unwrap();
    }
    let (mut shape, mut level) = (Vec::new(), value);
    while let Some(list) = level.as_array() {
        shape.push(list.len());
        let Some(first) = list.first() else { break };
        level = first;
    }
    let mut values = Vec::new();
    flatten(value, &mut values);
    Padded::new(&shape, values).unwrap()
}

fn flatten(value: &Value, values: &mut Vec<i64>) {
    match value {
        Value::Array(list) => list.iter().for_each(|item| flatten(item, values)),
        Value::Bool(bit) => values.push(i64::from(*bit)),
        number => values.push(number.as_i64().unwrap()),
    }
}

/// Rows of different lengths.
pub(crate) fn ragged(value: &Value) -> Vec<Vec<i64>> {
    value.as_array().unwrap().iter().map(|row| tensor(row).values().to_vec()).collect()
}

pub(crate) fn number(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}
