//! `clock doctor` looks at a real host and says something about everything.
#![cfg(all(target_os = "linux", feature = "clock"))]

use crate::common::rankscope;
use serde_json::Value;

#[test]
fn the_document_holds_what_was_measured() {
    let output = rankscope(&["clock", "doctor", "--format", "json"]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let test = &document["self_tests"][0];
    assert_eq!(test["address"], "127.0.0.1");
    assert!(test["error"].is_string() || test["stamped"].as_u64() <= test["sent"].as_u64(), "{test}");
    assert!(document["clocks"]["sandwich_ns"]["p50"].as_i64() > Some(0), "{document}");
    assert!(document["expectation"]["loaded_ns"].as_i64() >= document["expectation"]["idle_ns"].as_i64());
    let bad = document["advice"].as_array().expect("a list").iter().any(|advice| advice["grade"] == "bad");
    assert_eq!(output.status.code() == Some(3), bad);
}

#[test]
fn the_table_says_what_to_expect() {
    let output = rankscope(&["clock", "doctor"]);
    let said = String::from_utf8_lossy(&output.stdout);
    for part in ["stamps", "self-test", "clocksource", "time of day", "permissions", "interface ", "expect an error of about"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}
