//! A folder of what NCCL's Inspector wrote, a file a process, as a report sees it: which rank comes late, on clocks that are wrong.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::report;

const RANKS: u64 = 4;
const LATE: u64 = 2;
const ROUNDS: u64 = 40;

/// What the wall clock of the rank's host is ahead, in microseconds.
fn ahead_us(rank: u64) -> u64 {
    [0, 7_000, 3_000, 11_000][rank as usize]
}

/// One operation of `rank`: from when its kernel began to when all were there and it was done.
fn line(
    rank: u64,
    (id, ranks, own): (&str, u64, u64),
    function: &str,
    number: u64,
    (start_us, stop_us): (u64, u64),
    is_timed: bool,
) -> String {
    let (start_us, stop_us) = (start_us + ahead_us(rank), stop_us + ahead_us(rank));
    let times = format!(
        r#","event_trace_ts":{{"coll_start_ts":{},"coll_stop_ts":{},"kernel_events":[{{"channel_id":0,"kernel_start_ts":{start_us},"kernel_stop_ts":{stop_us},"kernel_record_ts":{stop_us}}}]}}"#,
        start_us - 20,
        start_us - 15,
    );
    format!(
        r#"{{"header":{{"id":"{id}","rank":{own},"n_ranks":{ranks},"nnodes":4}},"metadata":{{"inspector_output_format_version":"v4.0","git_rev":"","rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":{},"hostname":"node{rank}","pid":{}}},"coll_perf":{{"coll":"{function}","coll_sn":{number},"coll_msg_size_bytes":1048576,"coll_exec_time_us":{},"coll_timing_source":"kernel_gpu","coll_algobw_gbs":1.0,"coll_busbw_gbs":1.0{}}}}}"#,
        stop_us + 400,
        100 + rank,
        stop_us - start_us,
        if is_timed { &times } else { "" },
    )
}

/// All ranks' reductions, to which one comes late, and those of each pair among themselves; with rubbish in between.
fn write(folder: &Path, is_timed: bool) {
    for rank in 0..RANKS {
        let mut text = String::new();
        for round in 0..ROUNDS {
            let begin_us = 1_752_867_229_000_000 + round * 20_000;
            let arrival = |rank: u64| begin_us + rank * 3 + if rank == LATE { 2_000 } else { 0 };
            let done_us = begin_us + 2_500;
            let all = line(rank, ("0xfeed", RANKS, rank), "AllReduce", round, (arrival(rank), done_us), is_timed);
            let pair = format!("0xbee{}", rank / 2);
            let pairs = line(rank, (&pair, 2, rank % 2), "AllGather", round, (done_us + 5_000, done_us + 5_100), is_timed);
            let _ = writeln!(text, "{all}\n{pairs}");
            if round == 5 {
                text.push_str("{\"header\": {\"id\": \n");
            }
        }
        fs::write(folder.join(format!("node{rank}-pid{}.log", 100 + rank)), text).expect("written");
    }
    fs::write(folder.join("train.log"), "step 1: loss 3\n").expect("written");
}

#[test]
fn the_late_rank_is_named_and_the_clocks_are_found() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    write(folder.path(), true);
    let document = report(folder.path(), &[]);
    let ranks = document["ranks"].as_array().expect("a list");
    assert_eq!((&document["world_size"], ranks.len()), (&Value::from(RANKS), RANKS as usize));
    assert!(ranks.iter().all(|rank| rank["format"] == "nccl_inspector"), "{}", ranks[0]);
    let collectives = &document["collectives"];
    assert_eq!((&collectives["matched"], &collectives["unmatched"]), (&Value::from(ROUNDS * 3), &Value::from(0)));
    assert_eq!(document["verdict"]["late"][0]["rank"], LATE, "{}", document["verdict"]);
    assert_eq!(document["clock"]["method"], "collectives");
    // A stamp is cut to the microsecond, at either end.
    const STAMP_NS: i64 = 1_000;
    for offset in document["clock"]["offsets"].as_array().expect("a list") {
        let truth_ns = (ahead_us(offset["rank"].as_u64().expect("a rank")) * 1_000) as i64;
        let bound = |key: &str| offset[key].as_i64().expect("a bound");
        assert!(bound("lo_ns") - STAMP_NS <= truth_ns && truth_ns <= bound("hi_ns") + STAMP_NS, "{offset}: {truth_ns}");
    }
    for rank in ranks {
        let problems = rank["problems"].as_array().expect("a list");
        assert_eq!((problems.len(), &problems[0]["kind"]), (1, &Value::from("malformed_event")), "{rank}");
    }
}

#[test]
fn without_times_durations_are_told_and_nothing_is_said_of_who_is_late() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    write(folder.path(), false);
    let document = report(folder.path(), &[]);
    assert_eq!(document["ranks"].as_array().map(Vec::len), Some(RANKS as usize));
    assert_eq!(document["collectives"]["matched"], 0, "{}", document["collectives"]);
    let problems = document["ranks"][0]["problems"].to_string();
    assert!(problems.contains("missing_timestamp"), "{problems}");
}
