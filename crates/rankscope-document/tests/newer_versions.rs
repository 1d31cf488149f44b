//! A document of a newer version, with keys and words that this one does not know, can be read, and loses no word that is shown.

use rankscope_document::{
    AlignmentStage, Because, CautionKind, ClockMethod, CombineDocument, Confidence, Document, NoteLevel, Rule, SpansDocument,
    SpansSort, Unnamed, ValidationDocument,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

#[test]
fn unknown_words_of_a_report_are_kept_or_stood_in_for() {
    let mut text = to_value(Document {
        notes: vec![rankscope_document::Note { level: NoteLevel::Finding, text: "a".to_owned() }],
        ranks: vec![rankscope_document::Rank::default()],
        ..Document::default()
    });
    text["added"] = json!({ "later": 1 });
    text["classes"] = json!("by_magic");
    text["clock"]["method"] = json!("by_light");
    text["notes"][0]["level"] = json!("hint");
    text["ranks"][0]["step_source"] = json!("marks");
    text["verdict"]["reason"] = json!("too_late_at_night");
    text["verdict"]["late"] = json!([{ "rank": 1, "delay_wall_ns": 1, "lo_ns": 0, "hi_ns": 2, "share": 0.5, "confidence": "absolute", "because": "it_slept" }]);
    text["cautions"] = json!([{ "kind": "eclipse", "ranks": [], "text": "b" }]);
    let document: Document = from_value(&text);
    assert_eq!((document.notes[0].level, document.cautions[0].kind), (NoteLevel::Caution, CautionKind::Other));
    assert_eq!(document.verdict.reason, Some(Unnamed::Other));
    assert_eq!((document.verdict.late[0].confidence, document.verdict.late[0].because), (Confidence::Low, Because::Other));
    assert_eq!(document.clock.method, ClockMethod::Other("by_light".to_owned()));
    let back = to_value(&document);
    for (key, word) in [("/classes", "by_magic"), ("/clock/method", "by_light"), ("/ranks/0/step_source", "marks")] {
        assert_eq!(back.pointer(key), Some(&json!(word)), "{key}");
    }
}

#[test]
fn other_documents_can_be_read_back_as_they_were_written() {
    let mut validation = to_value(ValidationDocument::default());
    validation["clocks"] = json!("one_host");
    let pair = json!({
        "rule": "collective_overlap", "op": "all_reduce", "rank": 1, "gap_ns": 5, "at_ns": null, "correlation_ids": [3, 4], "detail": "late",
        "group": "0", "occurrence": 7, "latest_start_node": 1, "latest_start_rank": 1, "latest_start_time": 9, "earliest_end_node": 0,
        "earliest_end_rank": 0, "earliest_end_time": 4, "certain": true
    });
    let alone =
        json!({ "rule": "of_tomorrow", "op": "", "rank": 0, "gap_ns": null, "at_ns": 1, "correlation_ids": [], "detail": "" });
    validation["details"] = json!([pair, alone]);
    let read: ValidationDocument = from_value(&validation);
    assert_eq!(read.details[0].pair.as_ref().map(|pair| pair.occurrence), Some(7));
    assert_eq!(
        (&read.details[0].rule, &read.details[1].rule),
        (&Rule::CollectiveOverlap, &Rule::Other("of_tomorrow".to_owned()))
    );
    assert!(read.details[1].pair.is_none());
    assert_eq!(to_value(&read), validation);

    let mut combined = to_value(CombineDocument { validation: Some(read), ..CombineDocument::default() });
    combined["left_out"] = json!({ "flow_names": 2, "of_tomorrow": 1 });
    assert_eq!(to_value(from_value::<CombineDocument>(&combined)), combined);

    let spans = SpansDocument { sort: SpansSort::SelfTime, ..SpansDocument::default() };
    assert_eq!(to_value(&spans)["sort"], "self");
    assert_eq!(AlignmentStage::from("one host"), AlignmentStage::OneHost);
}

fn to_value(document: impl Serialize) -> Value {
    serde_json::to_value(document).expect("documents can be written")
}

fn from_value<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_str(&value.to_string()).expect("a document that can be read")
}
