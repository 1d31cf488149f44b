//! Answers on input that lacks something: what still holds, with what it lacks, or that it cannot be told. Never a guess.

use std::fs;

use rankscope_testkit::simulated::{Cause, Job, Layout, Part};
use serde_json::{Value, json};

use crate::common::{assert_answers_add_up, rankscope, report};

/// Four ranks on two nodes, of which one has a slow kernel.
fn slow_kernel() -> Job {
    let layout = Layout { ranks: 4, tensor: 1, pipeline: 1, experts: false, gpus_per_node: 2 };
    Job { layout, cause: Some(Cause::SlowKernel { rank: 2, part: Part::Up, factor: 4.0 }), ..Job::default() }
}

/// The traces of `job` as `edit` leaves the events of each rank; a rank of which it leaves none has no trace.
fn written(job: &Job, edit: impl Fn(usize, &mut Vec<Value>)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary directory");
    for (rank, bytes) in job.all_ranks().into_iter().enumerate() {
        let mut trace: Value = serde_json::from_slice(&bytes).expect("JSON");
        let events = trace["traceEvents"].as_array_mut().expect("events");
        edit(rank, events);
        if !events.is_empty() {
            fs::write(folder.path().join(format!("rank{rank}.json")), trace.to_string()).expect("written");
        }
    }
    folder
}

fn without(job: &Job, is_out: impl Fn(usize, &Value) -> bool) -> tempfile::TempDir {
    written(job, |rank, events| events.retain(|event| !is_out(rank, event)))
}

fn is_of(event: &Value, categories: &[&str]) -> bool {
    event["cat"].as_str().is_some_and(|category| categories.contains(&category))
}

fn is_named(event: &Value, part: &str) -> bool {
    event["name"].as_str().is_some_and(|name| name.contains(part))
}

/// The report, whose answers add up, and the text of what it says it lacks.
fn reported(folder: &tempfile::TempDir) -> (Value, String) {
    let document = report(folder.path(), &[]);
    assert_answers_add_up(&document);
    let lacks = document["unanswered"].to_string();
    (document, lacks)
}

fn what_if(folder: &tempfile::TempDir, set: &str) -> Value {
    let path = folder.path().display().to_string();
    let output = rankscope(&["what-if", &path, "--set", set, "--format", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn rules(document: &Value) -> Vec<&str> {
    document["advice"].as_array().into_iter().flatten().filter_map(|one| one["rule"].as_str()).collect()
}

#[test]
fn without_steps_figures_are_of_the_whole_recording() {
    let folder = without(&slow_kernel(), |_, event| is_named(event, "ProfilerStep"));
    let (document, lacks) = reported(&folder);
    assert!(lacks.contains("No rank marks steps") && lacks.contains("advice that counts by them is left out"), "{lacks}");
    let first = &document["advice"][0];
    assert_eq!((&first["rule"], &first["ranks"]), (&json!("straggler_rank"), &json!([2])), "{first}");
    assert!(!first.to_string().contains("a step") && first.to_string().contains("in all"), "{first}");
    let answer = what_if(&folder, "rank:2=median");
    assert!(answer["steps"] == 0 && answer["notes"].to_string().contains("mark no steps"), "{answer}");
}

#[test]
fn without_launches_nothing_is_advised_and_ranks_are_still_blamed() {
    let folder = without(&slow_kernel(), |_, event| is_of(event, &["cuda_runtime", "cuda_driver"]));
    let (document, lacks) = reported(&folder);
    assert!(lacks.contains("What would help cannot be told: no call that launched") && rules(&document).is_empty(), "{lacks}");
    assert_eq!(document["blame"][0]["rank"], 2, "{}", document["blame"]);
    let notes = what_if(&folder, "rank:2=median")["notes"].to_string();
    assert!(notes.contains("no call that launched device work is recorded of ranks 0, 1, 2, 3"), "{notes}");
}

#[test]
fn without_devices_the_answers_are_those_of_the_hosts() {
    let device = ["kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation", "cuda_sync"];
    let folder = without(&slow_kernel(), |_, event| is_of(event, &device));
    let (document, lacks) = reported(&folder);
    assert!(lacks.contains("No device work is recorded"), "{lacks}");
    let is_of_kernels = |rule: &&str| ["throttled_device", "small_kernels", "host_bound"].contains(rule);
    assert!(!rules(&document).iter().any(is_of_kernels), "{}", document["advice"]);
}

#[test]
fn a_rank_without_collectives_is_waited_for_by_nobody_and_that_is_said() {
    let is_exchange = |event: &Value| is_named(event, "nccl") || is_named(event, "c10d") || is_named(event, "record_param");
    let folder = without(&slow_kernel(), |rank, event| rank == 2 && is_exchange(event));
    let (document, lacks) = reported(&folder);
    assert!(lacks.contains("cannot go through what some ranks did not record"), "{lacks}");
    assert!(rules(&document).is_empty(), "{}", document["advice"]);
    let answer = what_if(&folder, "rank:0=median");
    assert!(answer["notes"].to_string().contains("could not be matched"), "{answer}");
}

#[test]
fn nobody_is_named_for_a_rank_that_left_no_trace() {
    let folder = without(&slow_kernel(), |rank, _| rank == 2);
    let (document, lacks) = reported(&folder);
    assert!(lacks.contains("ranks without a trace (2)"), "{lacks}");
    assert!(
        rules(&document).is_empty() && document["blame_groups"].is_null(),
        "{} {}",
        document["advice"],
        document["blame_groups"]
    );
    let path = folder.path().display().to_string();
    let output = rankscope(&["what-if", &path, "--set", "rank:2=median"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("no rank \"2\"") && said.contains("0-1, 3"), "{said}");
}

#[test]
fn clocks_that_jump_bound_nothing_between_nodes_and_that_is_said() {
    // The second node's clock is 4 ms ahead every other 10 ms, which no offset puts right.
    let folder = written(&slow_kernel(), |rank, events| {
        for event in events.iter_mut().filter(|_| rank >= 2) {
            if let Some(us) = event["ts"].as_f64() {
                event["ts"] = json!(us + if (us / 10_000.0) as i64 % 2 == 0 { 4_000.0 } else { 0.0 });
            }
        }
    });
    let (_, lacks) = reported(&folder);
    assert!(lacks.contains("contradict causality with any clock offsets"), "{lacks}");
    let answer = what_if(&folder, "rank:2=median");
    assert!(answer["notes"].to_string().contains("not to be relied upon"), "{answer}");
}
