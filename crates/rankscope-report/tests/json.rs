//! `report.json` holds the document, in either layout.

mod common;

use rankscope_document::Document;
use rankscope_report::{Layout, json, write_json};
use serde_json::Value;

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

#[test]
fn what_is_written_piece_by_piece_is_the_text() {
    let document = common::eight_gpus();
    for layout in [Layout::Pretty, Layout::Compact] {
        let mut written = Vec::new();
        write_json(&document, layout, &mut written).unwrap();
        assert!(written == json(&document, layout).into_bytes());
    }
}
