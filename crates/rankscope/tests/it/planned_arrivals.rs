//! Who comes last in each collective of a real trace, planned and then found, with the clocks of two nodes apart.

use std::collections::BTreeMap;
use std::fs;

use rankscope_testkit::{NodeClock, Warped};
use serde_json::Value;

use crate::common::{corpus, report};

const OFFSET_NS: i64 = 850_000;

/// Eight ranks on two nodes. Rank 5 comes last in twelve of seventeen collectives, and by more than the others do.
fn planned() -> Warped {
    let last = [5, 5, 0, 5, 3, 5, 5, 1, 5, 5, 3, 5, 5, 0, 5, 5, 5];
    let last = last.map(|rank| (rank, if rank == 5 { 200_000 } else { 40_000 }));
    let far = NodeClock { offset_ns: OFFSET_NS, drift_ppb: 0 };
    Warped { last: last.to_vec(), gpus_per_node: 4, clocks: vec![NodeClock::default(), far], missing: Vec::new(), seed: 1 }
}

/// How often each rank comes last, over what all ranks have recorded.
fn arrivals(plan: &Warped) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let is_whole = |ordinal: u32| plan.missing.iter().all(|(_, missing)| *missing != ordinal);
    for (_, (rank, _)) in (0..).zip(&plan.last).filter(|(ordinal, _)| is_whole(*ordinal)) {
        *counts.entry(rank.to_string()).or_default() += 1;
    }
    counts
}

/// The report on the files of `plan`.
fn reported(plan: &Warped, base: &[u8]) -> Value {
    let folder = tempfile::tempdir().expect("a temporary directory");
    for (rank, trace) in plan.traces(base).iter().enumerate() {
        fs::write(folder.path().join(format!("rank{rank}.json")), trace).expect("written");
    }
    report(folder.path(), &["--tables", "straggler_summary"])
}

fn base() -> Option<Vec<u8>> {
    let corpus = corpus()?;
    Some(fs::read(corpus.join("traces/kineto/mi300x_resnet_act_checkpoint.json.gz")).expect("it is in the corpus"))
}

fn assert_found(plan: &Warped, document: &Value) {
    let collectives = &document["collectives"];
    let counts = arrivals(plan);
    assert_eq!(serde_json::from_value::<BTreeMap<String, u64>>(collectives["last_arrivals"].clone()).expect("counts"), counts);
    let rows = document["collective_tables"]["straggler_summary"].as_array().expect("rows");
    assert_eq!((rows.len(), &rows[0]["rank"]), (8, &5.into()), "who came last most often is first");
    for row in rows {
        let expected = counts.get(&row["rank"].to_string()).copied().unwrap_or(0);
        assert_eq!((&row["last"], &row["flips"]), (&expected.into(), &false.into()), "{row}");
    }
    for (rank, offset) in document["clock"]["offsets"].as_array().expect("offsets").iter().enumerate() {
        let expected = if rank < 4 { 0 } else { OFFSET_NS };
        let found = offset["offset_ns"].as_i64().expect("an offset");
        assert!((found - expected).abs() <= 1_000, "{offset}, truly {expected}");
    }
}

#[test]
fn the_last_arrivals_of_a_real_trace_are_those_that_were_planned() {
    let Some(base) = base() else { return };
    let plan = planned();
    let expected = [("0", 2), ("1", 1), ("3", 2), ("5", 12)].map(|(rank, count)| (rank.to_owned(), count));
    assert_eq!(arrivals(&plan), expected.into());
    let document = reported(&plan, &base);
    assert_eq!((&document["collectives"]["matched"], &document["collectives"]["unmatched"]), (&17.into(), &0.into()));
    assert_found(&plan, &document);
}

#[test]
fn collectives_that_one_rank_lost_are_listed_and_the_rest_is_as_planned() {
    let Some(base) = base() else { return };
    // One, and all of a step.
    for missing in [vec![(6, 8)], vec![(6, 9), (6, 10), (6, 11), (6, 12)]] {
        let plan = Warped { missing, ..planned() };
        let document = reported(&plan, &base);
        let unmatched = document["collectives"]["unmatched_list"].as_array().expect("a list");
        assert_eq!(unmatched.len(), plan.missing.len());
        assert!(unmatched.iter().all(|lacking| lacking["absent"] == serde_json::json!([6])), "{unmatched:?}");
        assert_found(&plan, &document);
    }
}
