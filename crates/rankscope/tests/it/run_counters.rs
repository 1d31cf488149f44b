//! `run --counters`: a job's nodes are sampled beside it, and its timeline shows what they did.
#![cfg(all(target_os = "linux", feature = "clock"))]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use rankscope_formats::{ReadOptions, read};
use rankscope_job::HostGpus;
use rankscope_testkit::{Need, skip};

use crate::common::fixture;
use crate::process::{Room, text};

#[test]
fn counters_of_the_node_are_in_the_timeline_beside_its_lowest_rank() {
    let room = Room::new();
    let [first, second] = ["rank0.json.gz", "rank1.json.gz"].map(|name| fixture("torch-gloo-4ranks").join(name));
    // The ranks leave what others recorded, once counters are being sampled.
    let script = format!(
        "if [ $RANK = 0 ]; then cp {} $RANKSCOPE_RAW_DIR/rank-0.json.gz; else cp {} $RANKSCOPE_RAW_DIR/rank-1.json.gz; fi; \
         until ls $RANKSCOPE_RUN_DIR/counters/*.rkr >/dev/null 2>&1; do sleep 0.02; done",
        first.display(),
        second.display()
    );
    let output = room.run(&["--no-clock", "--counters=100", "-n", "2", "--", "sh", "-c", &script]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(room.names("counters").len(), 1);
    let timeline = File::open(room.path().join("run/timeline.pftrace")).unwrap();
    let counters: Vec<BTreeSet<String>> = read(timeline, &ReadOptions::default())
        .unwrap()
        .into_iter()
        .map(|member| {
            let trace = member.trace.unwrap();
            trace.counters.iter().map(|sample| trace.strings.text(sample.name).to_owned()).collect()
        })
        .collect();
    let has = |rank: usize| counters[rank].contains("memory available (bytes)");
    assert_eq!((counters.len(), has(0), has(1)), (2, true, false), "{counters:?}");
}

#[test]
fn a_report_knows_gpus_of_a_run_by_the_uuids_that_their_counters_tell() {
    let room = Room::new();
    let library = room.path().join("libnvidia-ml.so.1");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rankscope-counters/tests/c/fake_nvml.c");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).output();
    if !compiled.is_ok_and(|output| output.status.success()) {
        skip(Need::Compiler, "cc is not installed");
        return;
    }
    let script = "until ls $RANKSCOPE_RUN_DIR/counters/*.rkr >/dev/null 2>&1; do sleep 0.02; done; sleep 0.2";
    let mut run = room.command(&["--no-clock", "--no-report", "--counters=100", "-n", "1", "--", "sh", "-c", script]);
    let output = run.env("RANKSCOPE_NVML_LIBRARY", library).env("FAKE_NVML", "works").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let names = room.names("counters");
    let file = File::open(room.path().join("run/counters").join(&names[0])).unwrap();
    let trace = read(file, &ReadOptions::default()).unwrap().remove(0).trace.unwrap();
    let gpus = HostGpus::of(&trace).unwrap();
    // The second one is no GPU, but a part of one.
    assert_eq!(gpus.known().collect::<Vec<_>>(), [("a2a2a2a2-a2a2-a2a2-a2a2-a2a2a2a2a2a2", true)]);
}

#[test]
fn a_rate_that_is_none_is_used_wrongly_and_nothing_is_sampled_unasked() {
    let room = Room::new();
    let output = room.plain(&["--counters=1000", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("1000 is not a whole number from 1 to 100"), "{}", text(&output.stderr));
    assert!(room.plain(&["--", "true"]).status.success());
    assert!(!fs::exists(room.path().join("run/counters")).unwrap());
}
