//! Traces on disk (specification, tests 4 and 36, and the rows of 1.7 about a trace's text).

use std::time::{SystemTime, UNIX_EPOCH};

use rankscope_record::kineto::{
    Activities, Op, ProfilerConfig, ProfilerResult, ProfilerState, RecordFunction, add_metadata_json, disable_profiler,
    enable_profiler, enable_profiler_with_event_post_process, preset_metadata_json, report_backend_event_to_active_profiler,
};
use rankscope_record::{Scope, Value, record_function};
use serde_json::Value as Json;

use crate::{alone, kineto, profiled, word};

/// Saves twice, and reads what was saved.
fn saved(result: &ProfilerResult) -> Json {
    let folder = tempfile::tempdir().unwrap();
    let files = ["a.json", "b.json"].map(|name| folder.path().join(name));
    files.iter().for_each(|file| result.save(file).unwrap());
    let [first, second] = files.map(|file| std::fs::read(file).unwrap());
    assert!(first == second, "saving twice gives the same bytes");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
    serde_json::from_slice(&first).unwrap()
}

fn named<'a>(trace: &'a Json, name: &str) -> &'a Json {
    let events = trace["traceEvents"].as_array().unwrap();
    let found: Vec<_> = events.iter().filter(|event| event["name"] == name && event["ph"] == "X").collect();
    assert_eq!(found.len(), 1, "spans called {name}");
    found[0]
}

#[test]
fn a_trace_can_be_saved_twice() {
    let _alone = alone();
    let trace = saved(&profiled(kineto(), || drop(record_function!("span"))));
    assert_eq!(named(&trace, "span")["cat"], "user_annotation");
}

#[test]
fn what_breaks_kinetos_json_does_not_break_this() {
    let _alone = alone();
    let mut config = kineto();
    (config.report_input_shapes, config.with_stack) = (true, true);
    preset_metadata_json("pre\"set", "[\"a\\\\b\"]").unwrap();
    let result = profiled(config, || {
        add_metadata_json("quote\" and \\", "\"c:\\\\d \\\"e\\\"\"").unwrap();
        let stack = ["/tmp/a\"b.py(1): f"];
        let op = Op { kwinputs: &[("key", Value::Text("a \"b\""))], call_stack: &stack, ..Op::new("say \"hi\"\n\t\\ 漢") };
        drop(RecordFunction::begin(&op));
    });
    let trace = saved(&result);
    assert_eq!(trace["quote\" and \\"], "c:\\d \"e\"");
    assert_eq!(trace["pre\"set"], serde_json::json!(["a\\b"]));
    let args = &named(&trace, "say \"hi\"\n\t\\ 漢")["args"];
    assert_eq!((&args["key"], &args["Call stack"]), (&"a \"b\"".into(), &"/tmp/a\"b.py(1): f".into()));
}

#[test]
fn backends_events_and_resolved_handles_are_in_the_trace() {
    let _alone = alone();
    let resolve = |handle: i64, stack: &mut Vec<String>, modules: &mut Vec<String>| {
        stack.extend([format!("outer {handle}"), "inner".into()]);
        modules.push("Net".into());
    };
    enable_profiler_with_event_post_process(kineto(), Activities::CPU, resolve, &[]).unwrap();
    drop(RecordFunction::begin(&Op { debug_handle: 3, ..Op::new("op") }));
    // Near the rest of the trace, as a stamp in JSON is exact only within some months of its base.
    let start_us = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64;
    report_backend_event_to_active_profiler(start_us, start_us + 7, 4, Scope::Function, "there", "nnapi").unwrap();
    let trace = saved(&disable_profiler().unwrap());
    assert_eq!(named(&trace, "op")["args"]["Call stack"], "outer 3;inner");
    let there = named(&trace, "there");
    assert_eq!((&there["args"]["Backend"], &there["args"]["Call stack"]), (&"nnapi".into(), &"outer 4;inner".into()));
    let base_ns = trace["baseTimeNanoseconds"].as_i64().unwrap();
    let start_ns = base_ns + (there["ts"].as_f64().unwrap() * 1000.0).round() as i64;
    assert_eq!((start_ns, there["dur"].as_f64()), (start_us * 1000, Some(7.0)));
}

#[test]
fn a_profiler_of_traces_only_saves_and_gives_no_events() {
    let _alone = alone();
    let mut config = kineto();
    config.experimental.trace_only = true;
    enable_profiler(config, Activities::CPU, &[]).unwrap();
    drop(record_function!("span"));
    report_backend_event_to_active_profiler(1, 2, -1, Scope::Function, "backend", "nnapi").unwrap();
    let result = disable_profiler().unwrap();
    assert_eq!(word(&result.events().unwrap_err()), "TraceOnly");
    assert_eq!(word(&result.event_tree().unwrap_err()), "TraceOnly");
    let trace = saved(&result);
    assert_eq!((&named(&trace, "span")["ph"], &named(&trace, "backend")["dur"]), (&"X".into(), &1.0.into()));
    // It was long before the recording, and no trace begins before its base.
    assert_eq!(named(&trace, "backend")["ts"], 0.0);
}

#[test]
fn an_on_demand_profiler_has_nothing_to_save() {
    let _alone = alone();
    enable_profiler(ProfilerConfig::new(ProfilerState::KinetoOnDemand), Activities::CPU, &[]).unwrap();
    let result = disable_profiler().unwrap();
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(word(&result.save(folder.path().join("a.json")).unwrap_err()), "NothingToSave");
    assert!(result.events().unwrap().is_empty() && result.why_empty().is_some_and(|why| why.to_string().contains("ONDEMAND")));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
