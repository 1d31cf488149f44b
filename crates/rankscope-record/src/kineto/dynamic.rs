//! What can be said to a running profiler: toggling, events of backends, metadata, steps (recorder specification, sections 1.4.6,
//! 1.4.7 and 1.4.9).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::convert::Reported;
use super::enable::categories;
use super::event::{Details, EventType, KinetoEvent};
use super::{Activities, ActivityType, KinetoError, Warning, current_thread_id, slot};
use crate::about::set_metadata;
use crate::scope::Scope;
use rankscope_recording::Category;

/// Turns activities off and on again. Ops that are open when their activity goes off are ended as they would have been, and
/// flagged: [`KinetoEvent::crosses_toggle`].
///
/// # Errors
/// [`KinetoError::NotEnabled`] also where a profiler is enabled that records nothing, and [`KinetoError::NoActivities`].
pub fn toggle_collection_dynamic(enable: bool, activities: Activities) -> Result<Vec<Warning>, KinetoError> {
    const CALL: &str = "toggle collection";
    let mut slot = slot::lock();
    let active = slot.active(CALL)?;
    let session = active.session.as_ref().ok_or(KinetoError::NotEnabled { call: CALL })?;
    if activities.is_empty() {
        return Err(KinetoError::NoActivities { call: CALL });
    }
    let can_toggle = |activity: &ActivityType| matches!(activity, ActivityType::Cpu | ActivityType::Cuda | ActivityType::Xpu);
    let mut warnings: Vec<Warning> =
        activities.iter().filter(|activity| !can_toggle(activity)).map(|activity| Warning::CannotToggle { activity }).collect();
    let toggled: Activities = activities.iter().filter(can_toggle).collect();
    let has_device = toggled.iter().any(|activity| activity != ActivityType::Cpu);
    if !toggled.is_empty() && has_device != toggled.contains(ActivityType::Cpu) {
        warnings.push(Warning::OneSideToggled);
    }
    let without: Activities = active.activities.iter().filter(|activity| !toggled.contains(*activity)).collect();
    active.activities = if enable { active.activities | toggled } else { without };
    // A session with no category at all keeps one that nothing here produces: its window stays open.
    let wanted = categories(&active.config, active.activities);
    let wanted = if wanted.is_empty() { Category::CUDA_PROFILER_RANGE.alone() } else { wanted };
    session.set_categories(wanted)?;
    Ok(warnings)
}

/// Adds an event that a backend timed itself, in microseconds since 1970, from any thread. Whether it was taken: without a
/// profiler it is not, and that is no error.
///
/// # Errors
/// [`KinetoError::GlobalProfiler`], and [`KinetoError::BackendInterval`] for times that are none.
pub fn report_backend_event_to_active_profiler(
    start_us: i64,
    end_us: i64,
    debug_handle: i64,
    scope: Scope,
    name: &str,
    backend: &str,
) -> Result<bool, KinetoError> {
    let mut slot = slot::lock();
    let Some(active) = &mut slot.active else { return Ok(false) };
    if active.config.global() {
        return Err(KinetoError::GlobalProfiler);
    }
    if active.session.is_none() {
        return Ok(false);
    }
    let ns = |us: i64| us.checked_mul(1000).ok_or(KinetoError::BackendInterval { start_us, end_us });
    let (start_ns, end_ns) = (ns(start_us)?, ns(end_us)?);
    if end_ns < start_ns {
        return Err(KinetoError::BackendInterval { start_us, end_us });
    }
    let tid = current_thread_id();
    let details = Details { debug_handle, backend: backend.to_owned(), ..Details::default() };
    let event = KinetoEvent {
        name: Arc::from(name),
        kind: EventType::Backend,
        category: Category::CPU_OP.number(),
        scope: scope as u8,
        unfinished: false,
        crosses_toggle: false,
        start_ns,
        end_ns,
        start_tid: tid,
        end_tid: tid,
        correlation_id: 0,
        linked_correlation_id: 0,
        flow: None,
        details: Some(Box::new(details)),
    };
    active.reported.push(Reported { event });
    Ok(true)
}

/// Adds metadata to the trace: `json` is JSON text, kept as it is.
///
/// # Errors
/// [`KinetoError::InvalidJson`], and [`KinetoError::NotEnabled`] where nothing is recorded.
pub fn add_metadata_json(key: &str, json: &str) -> Result<(), KinetoError> {
    const CALL: &str = "add metadata";
    check_json(key, json)?;
    let mut slot = slot::lock();
    slot.active(CALL)?.session.as_ref().ok_or(KinetoError::NotEnabled { call: CALL })?;
    set_metadata(key, json);
    Ok(())
}

/// Adds metadata to the trace of the profiler that is enabled next; of one key the last value counts.
///
/// # Errors
/// [`KinetoError::InvalidJson`].
pub fn preset_metadata_json(key: &str, json: &str) -> Result<(), KinetoError> {
    check_json(key, json)?;
    slot::lock().preset.push((key.to_owned(), json.to_owned()));
    Ok(())
}

fn check_json(key: &str, json: &str) -> Result<(), KinetoError> {
    serde_json::from_str::<serde::de::IgnoredAny>(json)
        .map(|_| ())
        .map_err(|error| KinetoError::InvalidJson { key: key.to_owned(), reason: error.to_string() })
}

/// Says that an iteration of the program is over, for whoever counts iterations; returns how many there were. With or without a
/// profiler.
pub fn profiler_step() -> u64 {
    ITERATIONS.fetch_add(1, Ordering::Relaxed) + 1
}

/// How many iterations there were.
pub fn iterations() -> u64 {
    ITERATIONS.load(Ordering::Relaxed)
}

static ITERATIONS: AtomicU64 = AtomicU64::new(0);
