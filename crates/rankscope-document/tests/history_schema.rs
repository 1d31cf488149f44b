//! `history.json` and docs/reference/formats/history-json.md agree, both ways: every key that a document can have is described,
//! and what is described exists.

mod page;

use std::collections::BTreeSet;

use rankscope_document::{
    HistoryDocument, HistoryMetric, HistoryOrder, LevelChange, MetricComparison, MoreEvidence, Note, NoteLevel, PastRun,
    Segment, StartSource,
};
use serde_json::Value;

use page::{described, ticked};

const PAGE: &str = include_str!("../../../docs/reference/formats/history-json.md");

/// What `latest` has is described where comparisons are.
const COMPARISONS: &str = include_str!("../../../docs/reference/formats/compare-json.md");

/// A table of the page, by its heading, and where in a document its keys are.
const TABLES: [(&str, &str); 5] = [
    ("The document", ""),
    ("`runs`", "/runs/0"),
    ("`metrics`", "/metrics/0"),
    ("`changes`", "/metrics/0/changes/0"),
    ("`segment`", "/metrics/0/segment"),
];

/// A document with one of everything.
fn full() -> Value {
    let metric = HistoryMetric {
        values: vec![Some(1.0)],
        changes: vec![LevelChange::default()],
        segment: Some(Segment::default()),
        latest: Some(MetricComparison { needed: Some(MoreEvidence::default()), ..MetricComparison::default() }),
        ..HistoryMetric::default()
    };
    let document = HistoryDocument {
        notes: vec![Note { level: NoteLevel::Caution, text: String::new() }],
        runs: vec![PastRun::default()],
        metrics: vec![metric],
        ..HistoryDocument::default()
    };
    serde_json::to_value(document).expect("a document is JSON")
}

fn keys(document: &Value, place: &str) -> BTreeSet<String> {
    let object = document.pointer(place).and_then(Value::as_object);
    object.expect("the document has one of everything").keys().cloned().collect()
}

#[test]
fn every_key_is_described_and_every_described_key_exists() {
    let document = full();
    let mut described = described(PAGE);
    for (heading, place) in TABLES {
        assert_eq!(described.remove(heading).unwrap_or_default(), keys(&document, place), "the table under {heading}");
    }
    assert!(described.is_empty(), "{described:?} is of nothing");
    let of_metrics = self::described(COMPARISONS).remove("`metrics`").unwrap_or_default();
    assert_eq!(of_metrics, keys(&document, "/metrics/0/latest"), "`latest` is a metric of a comparison");
}

#[test]
fn every_word_of_a_closed_vocabulary_is_in_the_page() {
    let ticked: BTreeSet<&str> = ticked(PAGE).collect();
    let missing: Vec<&str> =
        [HistoryOrder::WORDS, StartSource::WORDS].concat().into_iter().filter(|word| !ticked.contains(word)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
