//! Real traces of many origins, where a corpus is at hand: figures of the peers, and the laws on every file.

use std::path::{Path, PathBuf};

use crate::common::{assert_adds_up, assert_answers_add_up, corpus, rankscope, report, time};

/// TraceLens' figures in milliseconds (computation, exposed communication, exposed copies, busy, idle, total). It computes in
/// floats at 4e12 µs, where a step is half a nanosecond and every sum of thousands drifts by tens.
const TRACELENS: [(&str, [f64; 6]); 4] = [
    ("mi300x_resnet_act_checkpoint", [26.1750, 55.3712, 2.4558, 84.0021, 2.5656, 86.5677]),
    ("a100_nccl_data", [116.0466, 39.5293, 1.9242, 157.5001, 503.0509, 660.5510]),
    ("b200_eager", [10.7717, 0.0220, 0.8028, 11.5965, 72.8907, 84.4872]),
    ("h100_qwen1.5", [45.6449, 0.0, 0.0024, 45.6473, 4.0055, 49.6528]),
];

#[test]
fn parity_mode_gives_tracelens_figures() {
    let Some(corpus) = corpus() else { return };
    for (name, expected) in TRACELENS {
        let document = report(&corpus.join(format!("traces/kineto/{name}.json.gz")), &["--classes", "tracelens"]);
        let classes = ["computation", "exposed_comm", "exposed_memcpy", "busy", "idle", "total"];
        for (class, expected) in classes.iter().zip(expected) {
            let found = time(&document["ranks"][0], class) as f64 / 1e6;
            assert!((found - expected).abs() < 2e-4, "{name} {class}: {found}, TraceLens {expected}");
        }
    }
}

#[test]
fn every_trace_gives_a_report_whose_times_add_up_or_a_diagnosis() {
    let Some(corpus) = corpus() else { return };
    let mut files = Vec::new();
    traces(&corpus.join("traces"), &mut files);
    assert!(files.len() > 20, "{} files", files.len());
    for file in files {
        let name = file.display().to_string();
        let output = rankscope(&["report", &name, "--format", "json"]);
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains(&name) && said.contains("not a trace"), "{said}");
            continue;
        }
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
        let rank = &document["ranks"][0];
        assert_adds_up(rank);
        rank["steps"].as_array().expect("steps").iter().for_each(assert_adds_up);
        let groups = document["collectives"]["groups"].as_array().expect("groups");
        let exposed: i64 = groups.iter().map(|group| group["exposed_ns"].as_i64().expect("a time")).sum();
        assert_eq!(exposed, time(rank, "exposed_comm"), "{name}");
        assert_answers_add_up(&document);
    }
}

fn traces(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            traces(&path, files);
        } else {
            files.push(path);
        }
    }
}

#[test]
fn two_sampled_ranks_of_many_are_reported_and_the_rest_listed() {
    let Some(corpus) = corpus() else { return };
    let document = report(&corpus.join("traces/kineto/sampled_rank-*.json.gz"), &[]);
    assert_eq!(document["ranks"].as_array().map(Vec::len), Some(2));
    assert_eq!(document["missing_ranks"].as_array().map(Vec::len), Some(126));
}

#[test]
fn custom_communication_is_seen_where_tracelens_sees_none() {
    let Some(corpus) = corpus() else { return };
    let document = report(&corpus.join("traces/kineto/b200_eager.json.gz"), &[]);
    assert!(time(&document["ranks"][0], "total_comm") > 2_000_000, "the fused all-reduces of vLLM are communication");
}

#[test]
fn kernels_of_rocprofv3_have_the_sum_of_its_file() {
    let Some(corpus) = corpus() else { return };
    let path = corpus.join("traces/rocprof/908_results.json.gz");
    let document = report(&path, &["--tables", "all"]);
    let rank = &document["ranks"][0];
    assert_eq!(rank["format"], "rocprofv3");
    let rows = rank["tables"]["kernel_summary"].as_array().expect("rows");
    let sum = |key: &str| rows.iter().map(|row| row[key].as_u64().expect("a number")).sum::<u64>();
    // Counted in Python, from start_timestamp and end_timestamp of buffer_records.kernel_dispatch.
    assert_eq!((sum("count"), sum("sum_ns")), (43_915, 4_441_741_378));
    assert_eq!(rank["tables"]["unattributed_kernel_ns"], 4_441_741_378_u64, "it traced no calls");
}
