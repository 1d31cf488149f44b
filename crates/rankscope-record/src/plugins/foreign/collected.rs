//! [`Collected`]: what a plugin hands over, checked as it comes.

use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rankscope_recording::Category;
use rankscope_recording::device::{CorrelationKind, DeviceItem, DeviceRecord, ExternalCorrelation};

use super::abi::{Activity, DeviceInfo, Emit, ProblemSeverity, ResourceInfo, Tie, TieKind};
use super::host::{copied, text};

/// What a plugin handed over.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) items: Vec<DeviceItem>,
    /// Keys and JSON.
    pub(super) metadata: Vec<(String, String)>,
    pub(super) counters: Vec<(String, f64)>,
    pub(super) problems: Vec<(&'static str, String)>,
    /// Things that cannot be.
    pub(super) refused: u64,
}

const OK: i32 = 0;
const INVALID: i32 = 1;
const PANICKED: i32 = 11;

impl Collected {
    /// The table by which a plugin hands over to this.
    pub(super) fn table(&mut self) -> Emit {
        Emit {
            struct_size: size_of::<Emit>() as u32,
            reserved: 0,
            sink: std::ptr::from_mut(self).cast(),
            device: Some(device),
            resource: Some(resource),
            activity: Some(activity),
            tie: Some(tie),
            counter: Some(counter),
            metadata: Some(metadata),
            problem: Some(problem),
        }
    }
}

/// Runs `take` on the sink that a plugin hands back; what it does not take is refused, and counted.
///
/// # Safety
/// `sink` is null or what [`Collected::table`] gave out.
unsafe fn into(sink: *mut c_void, take: impl FnOnce(&mut Collected) -> Option<()>) -> i32 {
    // SAFETY: the caller says so; one thread has it during the call.
    let Some(collected) = (unsafe { sink.cast::<Collected>().as_mut() }) else { return INVALID };
    match catch_unwind(AssertUnwindSafe(|| take(collected))) {
        Ok(Some(())) => OK,
        Ok(None) => {
            collected.refused += 1;
            INVALID
        }
        Err(_) => PANICKED,
    }
}

unsafe extern "C" fn device(sink: *mut c_void, info: *const DeviceInfo) -> i32 {
    // SAFETY: plugins pass on what they were given, and structures and texts that are what they say.
    unsafe {
        into(sink, |to| {
            let info = copied(info, 40)?;
            let name = serde_json::Value::from(text(info.name, info.name_bytes)?);
            let said = if info.properties.is_null() { None } else { text(info.properties, info.properties_bytes) };
            let properties: serde_json::Value = said.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
            let json = serde_json::json!({ "name": name, "properties": properties });
            to.metadata.push((format!("device.{}", info.id), json.to_string()));
            Some(())
        })
    }
}

unsafe extern "C" fn resource(sink: *mut c_void, info: *const ResourceInfo) -> i32 {
    // SAFETY: as in `device`.
    unsafe {
        into(sink, |to| {
            let info = copied(info, 32)?;
            let json = serde_json::json!({ "name": text(info.name, info.name_bytes)? });
            to.metadata.push((format!("device.{}.stream.{}", info.device, info.id), json.to_string()));
            Some(())
        })
    }
}

unsafe extern "C" fn activity(sink: *mut c_void, activity: *const Activity) -> i32 {
    // SAFETY: as in `device`.
    unsafe {
        into(sink, |to| {
            let activity = copied(activity, 64)?;
            to.items.push(DeviceItem::Record(DeviceRecord {
                kind: u8::try_from(activity.category).ok().and_then(Category::of)?,
                name: Arc::from(text(activity.name, activity.name_bytes)?),
                start_ns: activity.start_ns,
                end_ns: activity.end_ns,
                device: activity.device,
                stream: activity.stream,
                correlation: activity.correlation,
                graph: None,
            }));
            Some(())
        })
    }
}

unsafe extern "C" fn tie(sink: *mut c_void, tie: *const Tie) -> i32 {
    // SAFETY: as in `device`.
    unsafe {
        into(sink, |to| {
            let tie = copied(tie, 24)?;
            let kind = match tie.kind {
                kind if kind == TieKind::Span as u32 => CorrelationKind::Default,
                kind if kind == TieKind::UserAnnotation as u32 => CorrelationKind::UserAnnotation,
                _ => return None,
            };
            let (external_id, correlation) = (tie.external_id, tie.correlation);
            to.items.push(DeviceItem::Tie(ExternalCorrelation { kind, external_id, correlation }));
            Some(())
        })
    }
}

unsafe extern "C" fn counter(sink: *mut c_void, name: *const c_char, name_bytes: usize, value: f64) -> i32 {
    // SAFETY: as in `device`.
    unsafe {
        into(sink, |to| {
            to.counters.push((text(name, name_bytes)?, value));
            Some(())
        })
    }
}

unsafe extern "C" fn metadata(
    sink: *mut c_void,
    key: *const c_char,
    key_bytes: usize,
    json: *const c_char,
    json_bytes: usize,
) -> i32 {
    // SAFETY: as in `device`.
    unsafe {
        into(sink, |to| {
            to.metadata.push((text(key, key_bytes)?, text(json, json_bytes)?));
            Some(())
        })
    }
}

unsafe extern "C" fn problem(sink: *mut c_void, severity: u32, words: *const c_char, bytes: usize) -> i32 {
    // SAFETY: as in `device`.
    unsafe {
        into(sink, |to| {
            let severity = match severity {
                severity if severity == ProblemSeverity::Warning as u32 => "warning",
                severity if severity == ProblemSeverity::Error as u32 => "error",
                _ => return None,
            };
            to.problems.push((severity, text(words, bytes)?));
            Some(())
        })
    }
}
