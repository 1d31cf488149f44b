//! Events of a Kineto trace, by what they are.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

/// All of them.
pub(super) fn of(trace: &Value) -> &[Value] {
    trace["traceEvents"].as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn of_mut(trace: &mut Value) -> &mut Vec<Value> {
    trace["traceEvents"].as_array_mut().expect("a Kineto trace has a list of events")
}

/// A stamp or length of `event` in nanoseconds; files have microseconds.
pub(super) fn ns(event: &Value, key: &str) -> Option<i64> {
    let value = &event[key];
    value.as_i64().map(|us| us * 1_000).or_else(|| value.as_f64().map(|us| (us * 1_000.0).round() as i64))
}

/// The number that the file has for `ns`. Microseconds of a few months keep their nanoseconds in a double.
pub(super) fn us(ns: i64) -> Value {
    if ns % 1_000 == 0 { (ns / 1_000).into() } else { (ns as f64 / 1_000.0).into() }
}

pub(super) fn start_ns(event: &Value) -> i64 {
    ns(event, "ts").unwrap_or(0)
}

pub(super) fn end_ns(event: &Value) -> i64 {
    start_ns(event) + ns(event, "dur").unwrap_or(0)
}

pub(super) fn category(event: &Value) -> &str {
    event["cat"].as_str().unwrap_or("")
}

pub(super) fn name(event: &Value) -> &str {
    event["name"].as_str().unwrap_or("")
}

/// Whether it is work of a device.
pub(super) fn is_work(event: &Value) -> bool {
    event["ph"] == "X" && matches!(category(event), "kernel" | "gpu_memcpy" | "gpu_memset")
}

pub(super) fn is_collective(event: &Value) -> bool {
    is_work(event) && name(event).to_ascii_lowercase().contains("nccl")
}

/// The collectives of a rank, in order.
pub(super) fn collectives(trace: &Value) -> Vec<usize> {
    let events = of(trace);
    let mut all: Vec<usize> = (0..events.len()).filter(|index| is_collective(&events[*index])).collect();
    all.sort_by_key(|index| start_ns(&events[*index]));
    all
}

/// Work with the innermost operator around the call that launched it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launched {
    pub(super) work: usize,
    pub(super) launch: usize,
    pub(super) operator: usize,
}

/// Spans of each thread: start, end below zero so that the outer of two sorts first, and which event it is.
type Threads = BTreeMap<(String, String), Vec<(i64, i64, usize)>>;

/// All work whose operator is known, in order of its launch.
pub(super) fn launched(trace: &Value) -> Vec<Launched> {
    let events = of(trace);
    let thread = |event: &Value| (event["pid"].to_string(), event["tid"].to_string());
    let mut operators = Threads::new();
    let mut work: HashMap<i64, Vec<usize>> = HashMap::new();
    for (index, event) in events.iter().enumerate() {
        if category(event) == "cpu_op" {
            operators.entry(thread(event)).or_default().push((start_ns(event), -end_ns(event), index));
        } else if is_work(event)
            && let Some(correlation) = event["args"]["correlation"].as_i64()
        {
            work.entry(correlation).or_default().push(index);
        }
    }
    operators.values_mut().for_each(|list| list.sort_unstable());
    let mut found = Vec::new();
    for (launch, event) in events.iter().enumerate().filter(|(_, event)| category(event) == "cuda_runtime") {
        let Some(list) = operators.get(&thread(event)) else { continue };
        let Some(own) = event["args"]["correlation"].as_i64().and_then(|correlation| work.get(&correlation)) else { continue };
        let at = start_ns(event);
        let before = list.partition_point(|(start, ..)| *start <= at);
        let around = list[..before].iter().rev().take(4_096).find(|(_, end, _)| -end >= end_ns(event));
        if let Some((_, _, operator)) = around {
            found.extend(own.iter().map(|work| Launched { work: *work, launch, operator: *operator }));
        }
    }
    found.sort_by_key(|one| start_ns(&events[one.launch]));
    found
}
