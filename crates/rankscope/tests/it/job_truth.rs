//! Jobs whose truth is known: the report has to find it again.

use std::collections::BTreeMap;

use crate::common::{assert_adds_up, report, time, write_job};
use rankscope_testkit::{Job, Metadata, NodeClock, Straggler};
use serde_json::Value;

fn last_arrivals(document: &Value) -> BTreeMap<u32, u64> {
    serde_json::from_value(document["collectives"]["last_arrivals"].clone()).expect("a map of counts")
}

/// How often each rank came last, over the collectives that `counts` holds for.
fn truth(job: &Job) -> BTreeMap<u32, u64> {
    let truth = job.truth().last_arrivals();
    (0..).zip(truth).filter(|(_, count)| *count > 0).map(|(rank, count)| (rank, u64::from(count))).collect()
}

fn straggling() -> Job {
    Job { ranks: 4, steps: 4, straggler: Some(Straggler { rank: 2, factor: 1.3 }), ..Job::default() }
}

#[test]
fn time_is_accounted_to_the_nanosecond() {
    let job = Job { ranks: 3, ..straggling() };
    let directory = write_job(&job);
    for (classes, fills_compute) in [("default", false), ("tracelens", true)] {
        let document = report(directory.path(), &["--classes", classes]);
        for (rank, truth) in document["ranks"].as_array().expect("ranks").iter().zip(&job.truth().times) {
            let truth = if fills_compute { truth.fills_as_compute } else { truth.fills_as_copies };
            assert_adds_up(rank);
            assert_eq!(time(rank, "computation"), truth.computation, "{classes}");
            assert_eq!(time(rank, "exposed_comm"), truth.exposed_comm, "{classes}");
            assert_eq!(time(rank, "exposed_memcpy"), truth.exposed_memcpy, "{classes}");
            // All ranks are accounted over the time that any of them worked in.
            assert_eq!(time(rank, "total"), time(&document["ranks"][0], "total"), "{classes}");
            assert!(time(rank, "total") >= truth.total, "{classes}");
            assert_eq!(time(rank, "total_comm"), truth.total_comm, "{classes}");
            assert_eq!(rank["steps"].as_array().map(Vec::len), Some(4));
            rank["steps"].as_array().expect("steps").iter().for_each(assert_adds_up);
        }
    }
}

#[test]
fn the_straggler_is_named_whatever_the_files_say_about_collectives() {
    for metadata in [Metadata::Args, Metadata::ArgsAndSeq, Metadata::None] {
        let job = Job { metadata, ..straggling() };
        let document = report(write_job(&job).path(), &[]);
        if metadata == Metadata::None {
            // An all-to-all is a kernel of sends and receives; without arguments nothing says that it is more.
            let lacking = document["collectives"]["unmatched_list"].as_array().expect("a list");
            assert!(!lacking.is_empty() && lacking.iter().all(|lacking| lacking["name"] == "send_recv"), "{lacking:?}");
        } else {
            assert_eq!(document["collectives"]["unmatched"], 0, "{metadata:?}");
            assert_eq!(last_arrivals(&document), truth(&job), "{metadata:?}");
        }
        let notes = document["notes"].to_string();
        assert!(notes.contains("Rank 2 is late"), "{metadata:?}: {notes}");
        let late = document["verdict"]["late"].as_array().expect("a list");
        assert_eq!(late.len(), 1, "{late:?}");
        assert_eq!(late[0]["rank"], 2);
        let delay = |key: &str| late[0][key].as_i64().expect("a time");
        assert!(delay("lo_ns") <= delay("delay_wall_ns") && delay("delay_wall_ns") <= delay("hi_ns"));
        assert!(delay("hi_ns") <= time(&document["ranks"][0], "total"));
    }
}

#[test]
fn nobody_is_named_in_a_job_without_a_straggler() {
    for seed in 0..20 {
        let job = Job { ranks: 2 + seed as u32 % 7, steps: 4, seed, ..Job::default() };
        let document = report(write_job(&job).path(), &[]);
        assert_eq!(document["verdict"]["late"], serde_json::json!([]), "seed {seed}");
        assert!(document["verdict"]["reason"].is_string(), "seed {seed}");
    }
}

#[test]
fn clocks_of_two_nodes_do_not_hide_the_straggler() {
    let far = NodeClock { offset_ns: 850_000, drift_ppb: 2_000 };
    let job = Job { ranks: 8, gpus_per_node: 4, clocks: vec![NodeClock::default(), far], ..straggling() };
    let document = report(write_job(&job).path(), &[]);
    assert_eq!(document["clock"]["method"], "collectives");
    for offset in document["clock"]["offsets"].as_array().expect("offsets") {
        let rank = offset["rank"].as_u64().expect("a rank");
        let expected = if rank < 4 { 0 } else { 850_000 };
        let found = offset["offset_ns"].as_i64().expect("an offset");
        assert!((found - expected).abs() < 2_000, "rank {rank}: {found}");
    }
    let late = document["collectives"]["ranks"].as_array().expect("ranks");
    let worst = late.iter().max_by_key(|rank| rank["delay_ns"].as_i64()).expect("a rank");
    assert_eq!(worst["rank"], 2);
}

#[test]
fn a_lost_collective_is_listed_and_the_rest_matched() {
    for missing in [vec![(3, 5)], vec![(3, 0), (3, 1), (3, 2), (3, 3)], vec![(0, 9), (3, 4)]] {
        let job = Job { missing: missing.clone(), ..straggling() };
        let document = report(write_job(&job).path(), &[]);
        assert_eq!(document["collectives"]["unmatched"], missing.len(), "{missing:?}");
        assert_eq!(last_arrivals(&document), truth(&job), "{missing:?}");
        for lacking in document["collectives"]["unmatched_list"].as_array().expect("a list") {
            let absent = &lacking["absent"][0];
            assert!(missing.iter().any(|(rank, _)| absent == rank), "{missing:?}: {lacking}");
        }
    }
}

#[test]
fn exposed_time_of_collectives_adds_up_to_the_ranks() {
    let document = report(write_job(&straggling()).path(), &[]);
    let sum = |list: &Value, of: fn(&Value) -> i64| list.as_array().expect("a list").iter().map(of).sum::<i64>();
    let by_group = sum(&document["collectives"]["groups"], |group| group["exposed_ns"].as_i64().expect("a time"));
    let by_rank = sum(&document["ranks"], |rank| time(rank, "exposed_comm"));
    assert_eq!(by_group, by_rank);
}

#[test]
fn one_step_and_one_rank_can_be_asked_for() {
    let directory = write_job(&straggling());
    let whole = report(directory.path(), &[]);
    let step = report(directory.path(), &["--step", "2", "--rank", "1"]);
    assert_eq!(step["ranks"].as_array().map(Vec::len), Some(1));
    assert_eq!(step["ranks"][0]["time_ns"], whole["ranks"][1]["steps"][2]["time_ns"]);
    assert!(step["collectives"]["matched"].as_u64() < whole["collectives"]["matched"].as_u64());
    assert!(step["collectives"]["matched"].as_u64() > Some(0));
}

#[test]
fn gpu_only_changes_no_figure() {
    let directory = write_job(&straggling());
    let (whole, device) = (report(directory.path(), &[]), report(directory.path(), &["--gpu-only"]));
    assert_eq!(whole["ranks"][0]["time_ns"], device["ranks"][0]["time_ns"]);
    assert_eq!(whole["ranks"][0]["steps"], device["ranks"][0]["steps"]);
    assert_eq!(whole["collectives"], device["collectives"]);
    assert!(device["ranks"][0]["events"].as_u64() < whole["ranks"][0]["events"].as_u64());
}
