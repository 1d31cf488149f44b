//! `compare.json` and docs/reference/formats/compare-json.md agree, both ways: every key that a document can have is described,
//! and what is described exists.

mod page;

use std::collections::BTreeSet;

use rankscope_document::{
    BesideStatus, ChangeVerdict, ClassChange, CollectiveBeside, CollectiveInstance, CompareDocument, ComparedRun, ComparedSide,
    Comparison, Contribution, ContributionKind, Convention, Direction, GateCheck, GateResult, MetricComparison, MetricSeries,
    MetricUnit, MoreEvidence, Note, NoteLevel, Observation, OnInconclusive, OrderChange, Over, PairOfSides, Place, RankChange,
    RankCollectiveBeside, Ranking, SideBySide, SideSeries, SideStrips, StepStrip, StepStrips, StructureChange,
    StructureChanges, StructureKind, StructureVariation, TimeBeside,
};
use serde_json::Value;

use page::{described, ticked};

const PAGE: &str = include_str!("../../../docs/reference/formats/compare-json.md");

/// A table of the page, by its heading, and where in a document its keys are.
const TABLES: &[(&str, &str)] = &[
    ("`sides`", "/sides/0"),
    ("`runs`", "/sides/0/runs/0"),
    ("A comparison", "/others/0"),
    ("`metrics`", "/metrics/0"),
    ("`contributions`", "/contributions/0"),
    ("`classes`", "/classes/0"),
    ("`ranks` of a comparison", "/ranks/0"),
    ("`structure`", "/structure"),
    ("Changes of `structure`", "/structure/new/0"),
    ("`reordered` of `structure`", "/structure/reordered/0"),
    ("`varying` of `structure`", "/structure/varying/0"),
    ("`ranking`", "/ranking"),
    ("`places`", "/ranking/places/0"),
    ("`pairs`", "/ranking/pairs/0"),
    ("`side_by_side`", "/side_by_side/0"),
    ("`ranks` and `summary` of `side_by_side`", "/side_by_side/0/ranks/0"),
    ("`collectives` of `side_by_side`", "/side_by_side/0/collectives/0"),
    ("`rank_collectives` of `side_by_side`", "/side_by_side/0/rank_collectives/0"),
    ("Figures of `side_by_side`", "/side_by_side/0/summary/0/time"),
    ("`series`", "/series/0"),
    ("`sides` of `series`", "/series/0/sides/0"),
    ("`strips`", "/strips"),
    ("`sides` of `strips`", "/strips/sides/0"),
    ("`steps` of `strips`", "/strips/sides/0/steps/0"),
    ("`instances` of `strips`", "/strips/sides/0/steps/0/instances/0"),
    ("`gate`", "/gate"),
    ("Checks of `gate`", "/gate/failed/0"),
];

/// A document with one of everything.
fn full() -> Value {
    let change = || vec![StructureChange { modules: vec![String::new()], ..StructureChange::default() }];
    let pair = Comparison {
        metrics: vec![MetricComparison { needed: Some(MoreEvidence::default()), ..MetricComparison::default() }],
        contributions: vec![Contribution { detail: Some(String::new()), ..Contribution::default() }],
        classes: vec![ClassChange::default()],
        ranks: vec![RankChange::default()],
        structure: StructureChanges {
            new: change(),
            gone: change(),
            swapped: change(),
            count_changed: change(),
            reordered: vec![OrderChange::default()],
            varying: vec![StructureVariation::default()],
            left_out: 0,
        },
        ..Comparison::default()
    };
    let side_by_side = SideBySide {
        ranks: vec![TimeBeside::default()],
        summary: vec![TimeBeside::default()],
        collectives: vec![CollectiveBeside::default()],
        rank_collectives: vec![RankCollectiveBeside::default()],
        ..SideBySide::default()
    };
    let instance = CollectiveInstance { members: Some(0), ..CollectiveInstance::default() };
    let strip = StepStrip { instances: vec![instance], ..StepStrip::default() };
    let check = || vec![GateCheck::default()];
    let document = CompareDocument {
        sides: vec![ComparedSide { runs: vec![ComparedRun::default()], ..ComparedSide::default() }],
        notes: vec![Note { level: NoteLevel::Caution, text: String::new() }],
        first: pair.clone(),
        others: vec![pair],
        ranking: Some(Ranking { places: vec![Place::default()], winner: None, pairs: vec![PairOfSides::default()] }),
        side_by_side: vec![side_by_side],
        series: vec![MetricSeries { sides: vec![SideSeries::default()], ..MetricSeries::default() }],
        strips: Some(StepStrips { typical: 0, sides: vec![SideStrips { steps: vec![strip], ..SideStrips::default() }] }),
        gate: Some(GateResult { failed: check(), ..GateResult::default() }),
        ..CompareDocument::default()
    };
    serde_json::to_value(document).expect("a document is JSON")
}

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().expect("an object").keys().cloned().collect()
}

#[test]
fn every_key_is_described_and_every_described_key_exists() {
    let document = full();
    let mut described = described(PAGE);
    for (heading, place) in TABLES {
        let known = keys(document.pointer(place).expect("the document has one of everything"));
        assert_eq!(described.remove(*heading).unwrap_or_default(), known, "the table under {heading}");
    }
    let of_pair = keys(&document["others"][0]);
    let own: BTreeSet<String> = keys(&document).difference(&of_pair).cloned().collect();
    assert_eq!(described.remove("The document").unwrap_or_default(), own, "the table of the document");
    assert!(described.is_empty(), "{described:?} is of nothing");
}

#[test]
fn every_word_of_a_closed_vocabulary_is_in_the_page() {
    let vocabularies = [
        BesideStatus::WORDS,
        ChangeVerdict::WORDS,
        Convention::WORDS,
        OnInconclusive::WORDS,
        ContributionKind::WORDS,
        Direction::WORDS,
        MetricUnit::WORDS,
        Observation::WORDS,
        Over::WORDS,
        StructureKind::WORDS,
    ];
    let ticked: BTreeSet<&str> = ticked(PAGE).collect();
    let missing: Vec<&str> = vocabularies.concat().into_iter().filter(|word| !ticked.contains(word)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
