//! What lies in a folder beside the traces is passed over with a true reason; what is named is read or refused with one.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

use std::fs;
use std::path::Path;

use crate::common::{failure, rankscope, report, write_job};
use rankscope_testkit::Job;
use serde_json::Value;

fn job() -> Job {
    Job { ranks: 2, steps: 1, layers: 2, ops_per_step: 8, ..Job::default() }
}

/// JSON that profilers and engines leave beside traces.
const STRAY: [(&str, &str, &str); 5] = [
    ("execution_details.json", r#"[{"file": "x.json", "batch_size": 32, "mode": "FULL"}]"#, "objects without a phase"),
    ("names.json", r#"{"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x"}}]}"#, "'M'"),
    ("memory_timeline.json", "[[1, 2], [3, 4]]", "a JSON list whose first item is no object"),
    ("objects.json", r#"[{"ph": "O", "name": "o", "id": 1, "ts": 1}]"#, "events of phase 'O'"),
    ("config.json", r#"{"lr": 0.1}"#, "lr"),
];

fn combined(inputs: &[&Path], output: &Path) -> Value {
    let mut args = vec!["combine", "--format", "json", "-o", output.to_str().unwrap()];
    args.extend(inputs.iter().map(|path| path.to_str().unwrap()));
    let done = rankscope(&args);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

#[test]
fn other_json_in_a_folder_is_passed_over_with_its_reason() {
    let folder = write_job(&job());
    fs::create_dir(folder.path().join("rank0")).unwrap();
    for (name, text, _) in STRAY {
        fs::write(folder.path().join("rank0").join(name), text).unwrap();
    }
    let document = report(folder.path(), &[]);
    assert_eq!(document["ranks"].as_array().unwrap().len(), 2);
    let notes = document["notes"].to_string();
    let out = tempfile::tempdir().unwrap();
    let metadata = combined(&[folder.path()], &out.path().join("all.json"));
    assert_eq!(metadata["nodes"].as_array().unwrap().len(), 2);
    let skipped = metadata["skipped"].to_string();
    for (name, _, why) in STRAY {
        for said in [&notes, &skipped] {
            assert!(said.contains(name) && said.contains(why), "{name}: {said}");
        }
    }
}

#[test]
fn a_named_file_that_is_no_trace_is_refused_with_the_reason_and_the_remedy() {
    let folder = write_job(&job());
    for (name, text, why) in STRAY {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        let alone = failure(&["report", file.to_str().unwrap(), "--format", "json"]);
        assert!(alone.contains(name) && alone.contains(why) && !alone.contains("--partial"), "{alone}");
        let rank0 = folder.path().join("rank0.json");
        let beside = failure(&["report", rank0.to_str().unwrap(), file.to_str().unwrap(), "--format", "json"]);
        assert!(beside.contains(why) && beside.contains("--partial"), "{beside}");
    }
}

#[test]
fn a_file_that_names_a_rank_nobody_else_stands_for_is_meant_to_be_its_trace() {
    let folder = write_job(&job());
    fs::write(folder.path().join("rank1.json"), STRAY[0].1).unwrap();
    let said = failure(&["report", folder.path().to_str().unwrap(), "--format", "json"]);
    assert!(said.contains("rank1.json") && said.contains("--partial"), "{said}");
}

#[test]
fn the_same_trace_twice_is_read_once() {
    let folder = write_job(&job());
    fs::copy(folder.path().join("rank1.json"), folder.path().join("pp_1.json")).unwrap();
    let document = report(folder.path(), &[]);
    assert_eq!(document["ranks"].as_array().unwrap().len(), 2);
    assert!(document["notes"].to_string().contains("a copy of"), "{}", document["notes"]);
    let out = tempfile::tempdir().unwrap();
    let metadata = combined(&[folder.path()], &out.path().join("all.pftrace"));
    assert_eq!(metadata["nodes"].as_array().unwrap().len(), 2);
}

#[test]
fn traces_of_the_host_alone_are_combined() {
    for category in ["cpu_op", "python_function"] {
        let folder = tempfile::tempdir().unwrap();
        for rank in 0..2 {
            let event = |name: &str, ts: u32| {
                format!(r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 1, "tid": 1, "ts": {ts}, "dur": 5}}"#)
            };
            let text = format!(
                r#"{{"schemaVersion": 1, "distributedInfo": {{"rank": {rank}}}, "traceEvents": [{}, {}]}}"#,
                event("a", 10),
                event("b", 20)
            );
            fs::write(folder.path().join(format!("rank{rank}.json")), text).unwrap();
        }
        let out = tempfile::tempdir().unwrap();
        for name in ["all.json", "all.pftrace", "all.tar", "all.xplane.pb"] {
            let output = out.path().join(name);
            let metadata = combined(&[folder.path()], &output);
            let events: u64 = metadata["nodes"].as_array().unwrap().iter().map(|node| node["events"].as_u64().unwrap()).sum();
            assert_eq!(events, 4, "{category} {name}");
            // What was combined is input again.
            if name != "all.tar" {
                combined(&[&output], &out.path().join(format!("again-{name}")));
            }
        }
    }
}

#[test]
fn kernels_of_an_expert_library_are_matched_sort_by_sort() {
    const KERNELS: [&str; 5] = [
        "void deep_ep::layout::get_dispatch_layout<256, 32>(long const*)",
        "void deep_ep::intranode::notify_dispatch<8>(int const*)",
        "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)",
        "void deep_ep::intranode::cached_notify_combine<8>(void**)",
        "void deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>(__nv_bfloat16*)",
    ];
    let folder = tempfile::tempdir().unwrap();
    for rank in 0..2 {
        // The second rank's recording began after the first kernels, so that order alone would pair different sorts.
        let kernels = (0..20).skip(2 * rank).map(|at| {
            let name = KERNELS[at % KERNELS.len()];
            format!(
                r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {}, "dur": 80, "args": {{"device": 0, "stream": 7}}}}"#,
                100 * (at + 1)
            )
        });
        let text = format!(
            r#"{{"schemaVersion": 1, "distributedInfo": {{"rank": {rank}, "world_size": 2}}, "traceEvents": [{}]}}"#,
            kernels.collect::<Vec<_>>().join(",\n")
        );
        fs::write(folder.path().join(format!("rank{rank}.json")), text).unwrap();
    }
    let document = report(folder.path(), &[]);
    let rows = document["collectives"].to_string();
    for name in ["intranode notify_dispatch", "intranode dispatch", "intranode cached_notify_combine", "intranode combine"] {
        assert!(rows.contains(name), "{name}: {rows}");
    }
    assert!(!rows.contains("unknown") && !rows.contains("layout"), "{rows}");
    assert!(document["notes"].to_string().contains("The most exposed collective is intranode"), "{}", document["notes"]);
}

#[test]
fn copies_and_waits_of_an_accelerator_are_no_computation_in_any_format() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("trace.json");
    let event = |name: &str, tid: u32, ts: u32, args: &str| {
        format!(
            r#"{{"ph": "X", "cat": "mtia_ccp_events", "name": "{name}", "pid": 0, "tid": {tid}, "ts": {ts}, "dur": 10, "args": {{{args}}}}}"#
        )
    };
    let events = [
        event("matmul", 1, 0, r#""grid": 1"#),
        event("dma_request", 2, 20, r#""direction": "DEVICE_TO_HOST", "size": 4096"#),
        event("event_wait", 2, 40, r#""wait_on_stream": 3"#),
        event("matmul", 1, 60, r#""grid": 1"#),
    ];
    fs::write(&input, format!(r#"{{"schemaVersion": 1, "traceEvents": [{}]}}"#, events.join(",\n"))).unwrap();
    for name in ["trace.json", "out.json", "out.pftrace", "out.xplane.pb"] {
        let file = folder.path().join(name);
        if file != input {
            let done = rankscope(&["convert", input.to_str().unwrap(), file.to_str().unwrap()]);
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
        let document = report(&file, &[]);
        let rank = &document["ranks"][0];
        let times = ["computation", "exposed_memcpy", "idle", "total"].map(|class| crate::common::time(rank, class));
        assert_eq!(times, [20_000, 10_000, 40_000, 70_000], "{name}");
        assert_eq!(rank["copies"]["device_to_host"]["bytes"], 4096, "{name}: {}", rank["copies"]);
    }
}

#[test]
fn a_conversion_says_what_its_format_cannot_hold() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("trace.json");
    let text = r#"[
        {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 100, "dur": 50},
        {"ph": "i", "name": "mark", "s": "t", "pid": 1, "tid": 1, "ts": 300},
        {"ph": "s", "name": "f", "cat": "c", "id": 1, "pid": 1, "tid": 1, "ts": 120},
        {"ph": "f", "name": "f", "cat": "c", "id": 1, "pid": 1, "tid": 1, "ts": 900, "bp": "e"}
    ]"#;
    fs::write(&input, text).unwrap();
    for (name, lost) in [("out.json", ""), ("out.pftrace", "1 flow points"), ("out.xplane.pb", "1 flow points")] {
        let output = folder.path().join(name);
        let done = rankscope(&["convert", input.to_str().unwrap(), output.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success() && said.contains(lost) && said.is_empty() == lost.is_empty(), "{name}: {said}");
        let total = |path: &Path| report(path, &[])["ranks"][0]["time_ns"]["total"].clone();
        assert_eq!(total(&output), total(&input), "{name}");
    }
}
