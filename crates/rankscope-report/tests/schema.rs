//! `report.json` and its description agree.

mod common;

use std::collections::BTreeSet;

use rankscope_document::Document;
use rankscope_report::{Layout, json};
use serde_json::Value;

#[test]
fn every_key_is_described() {
    let mut keys = BTreeSet::new();
    collect(&serde_json::from_str(&json(&common::eight_gpus(), Layout::Compact)).unwrap(), &mut keys);
    // Keyed by rank or by collective, not by words of ours.
    keys.retain(|key| key.parse::<u32>().is_err() && key != "_allgather_base");
    let text = include_str!("../../../docs/reference/formats/report-json.md");
    let missing: Vec<_> = keys.iter().filter(|key| !text.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "not in docs/reference/formats/report-json.md: {missing:?}");
}

#[test]
fn both_layouts_hold_the_same() {
    let document = common::eight_gpus();
    let [pretty, compact] = [Layout::Pretty, Layout::Compact].map(|layout| json(&document, layout));
    assert!(pretty.lines().count() > 1000 && compact.lines().count() == 1);
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(value(&pretty), value(&compact));
    let back: Document = serde_json::from_str(&pretty).unwrap();
    assert_eq!(value(&json(&back, Layout::Compact)), value(&compact));
}

fn collect(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            keys.insert(key.clone());
            collect(value, keys);
        }),
        Value::Array(items) => items.iter().for_each(|item| collect(item, keys)),
        _ => {}
    }
}
