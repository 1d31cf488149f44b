//! A saved trace with what is not in the recording: events that backends reported, and handles that were resolved.
//!
//! The recording is exported and read back as JSON, so whatever the export writes stays. Numbers keep their values; stamps may
//! lose zeros at their end.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::KinetoError;
use super::event::KinetoEvent;
use crate::export::ExportFormat;
use crate::recorded::Recorded;

/// What is to be added.
pub(super) struct Additions<'a> {
    /// Ops whose call stack and modules were found afterwards.
    pub(super) resolved: Vec<&'a KinetoEvent>,
    /// Events of backends.
    pub(super) reported: Vec<&'a KinetoEvent>,
}

/// The trace of `recorded` with `additions`.
pub(super) fn amended(recorded: &Recorded, additions: Additions<'_>) -> Result<Value, KinetoError> {
    let mut bytes = Vec::new();
    recorded.export_to(ExportFormat::KinetoJson, &mut bytes)?;
    let mut trace: Value =
        serde_json::from_slice(&bytes).map_err(|error| rankscope_formats::Error::from(std::io::Error::from(error)))?;
    let base_ns = trace["baseTimeNanoseconds"].as_i64().unwrap_or(0);
    let Some(events) = trace.get_mut("traceEvents").and_then(Value::as_array_mut) else { return Ok(trace) };
    let by_id: HashMap<u64, &KinetoEvent> = additions.resolved.iter().map(|event| (event.correlation_id, *event)).collect();
    for event in events.iter_mut() {
        let id = event.pointer("/args/External id").and_then(Value::as_u64);
        if let (Some(resolved), Some(Value::Object(args))) = (id.and_then(|id| by_id.get(&id)), event.get_mut("args")) {
            put_context(args, resolved);
        }
    }
    let pid = events.iter().find_map(|event| event["pid"].as_u64()).unwrap_or_else(|| std::process::id().into());
    events.extend(additions.reported.iter().map(|event| as_json(event, pid, base_ns)));
    Ok(trace)
}

fn put_context(args: &mut Map<String, Value>, event: &KinetoEvent) {
    if event.has_stack() {
        args.insert("Call stack".into(), event.stack().join(";").into());
    }
    if event.has_module_hierarchy() {
        args.insert("Module Hierarchy".into(), event.module_hierarchy().join(".").into());
    }
}

fn as_json(event: &KinetoEvent, pid: u64, base_ns: i64) -> Value {
    let mut args = Map::new();
    args.insert("Backend".into(), event.backend().into());
    put_context(&mut args, event);
    // Backends count in whole microseconds, but the base may lie between two.
    let us = |ns: i64| ns as f64 / 1000.0;
    json!({
        "ph": "X",
        "cat": "cpu_op",
        "name": event.name(),
        "pid": pid,
        "tid": event.start_thread_id(),
        // What began before the base begins with it, as in Kineto's own traces; how long it took stays.
        "ts": us(event.start_ns().saturating_sub(base_ns).max(0)),
        "dur": us(event.duration_ns()),
        "args": args,
    })
}
