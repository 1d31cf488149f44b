//! Preparing, enabling and disabling the profiler (recorder specification, sections 1.4.1 to 1.4.4 and 1.7).
//!
//! There is one profiler a process, whoever enabled it. Where Kineto keeps one per thread, silently gives the data to the wrong
//! one, or loses what other threads did, this one refuses with an error or simply works: any thread may disable it, and it has
//! the events of all threads.

use super::callbacks::{RecordFunctionCallback, Scopes, add_global_callback};
use super::convert::{Converted, convert};
use super::event::EventType;
use super::fields::Wishes;
use super::result::ProfilerResult;
use super::slot::{self, Active, PostProcess};
use super::{
    Activities, ActivityType, CallbackHandle, KinetoError, ProfilerConfig, ProfilerState, Ranges, Warning, current_thread_id,
    op_args,
};
use crate::about::set_metadata;
use crate::scope::Scope;
use crate::session::{Session, SessionOptions, Stopped};
use rankscope_recording::{Categories, Category};

/// What [`prepare_profiler`] may hand to device libraries besides the activities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrepareOptions {
    /// Fine-grained activities allowed, by group.
    pub filter: Vec<(String, Vec<String>)>,
    /// Settings of extensions.
    pub extensions: Vec<(String, String)>,
}

/// Checks what will be enabled, and says what will be missing. Nothing before [`enable_profiler`] is recorded either way: there
/// is nothing to warm up, as threads have their memory when they first record.
///
/// # Errors
/// Those of Kineto: a state that does not record, performance events without the host's activity, no activity. For NVTX and ITT
/// this does nothing.
pub fn prepare_profiler(
    config: &ProfilerConfig,
    activities: Activities,
    options: &PrepareOptions,
) -> Result<Vec<Warning>, KinetoError> {
    const CALL: &str = "prepare the profiler";
    if matches!(config.state, ProfilerState::Nvtx | ProfilerState::Itt) {
        return Ok(Vec::new());
    }
    if !config.state.can_prepare() {
        return Err(KinetoError::WrongState { call: CALL, state: config.state });
    }
    check(CALL, config, activities)?;
    let mut warnings = warnings(config, activities);
    let unread = [("filter", !options.filter.is_empty()), ("extensions", !options.extensions.is_empty())];
    warnings.extend(unread.into_iter().filter(|(_, asked)| *asked).map(|(field, _)| Warning::NoEffect { field }));
    Ok(warnings)
}

/// Enables the profiler; `scopes` narrows the ops that become events, an empty list being all.
///
/// # Errors
/// See [`KinetoError`]; the profiler is then as it was before.
pub fn enable_profiler(config: ProfilerConfig, activities: Activities, scopes: &[Scope]) -> Result<Vec<Warning>, KinetoError> {
    enable(config, activities, scopes, None)
}

/// As [`enable_profiler`]; when the profiler is disabled, `resolve` is called once for each finished op and each event of a
/// backend, with its debug handle, and may fill in its call stack and module hierarchy.
///
/// # Errors
/// Those of [`enable_profiler`], and for NVTX, ITT and on-demand, which have no events.
pub fn enable_profiler_with_event_post_process(
    config: ProfilerConfig,
    activities: Activities,
    resolve: impl FnMut(i64, &mut Vec<String>, &mut Vec<String>) + Send + 'static,
    scopes: &[Scope],
) -> Result<Vec<Warning>, KinetoError> {
    let state = config.state;
    if matches!(state, ProfilerState::Nvtx | ProfilerState::Itt | ProfilerState::PrivateUse1) || config.global() {
        return Err(KinetoError::WrongState { call: "resolve events after recording", state });
    }
    if config.experimental.trace_only {
        return Err(KinetoError::TraceOnly);
    }
    enable(config, activities, scopes, Some(Box::new(resolve)))
}

/// Disables the profiler, whichever thread enabled it, and returns what it recorded. For NVTX, ITT and on-demand the result is
/// empty and says so.
///
/// # Errors
/// [`KinetoError::NotEnabled`], or what stopping the session or reading it says.
pub fn disable_profiler() -> Result<ProfilerResult, KinetoError> {
    let active = slot::lock().active.take().ok_or(KinetoError::NotEnabled { call: "disable the profiler" })?;
    op_args::set_wishes(None);
    if let Some(ranges) = &active.ranges {
        ranges.remove();
    }
    let Some(session) = &active.session else {
        return Ok(ProfilerResult::nothing(active.config.state));
    };
    let stopped = session.stop()?;
    finish(active, stopped)
}

/// Whether a profiler is enabled that other threads may join.
pub fn is_profiler_enabled_in_main_thread() -> bool {
    slot::lock().joinable().is_some()
}

/// What is enabled.
pub fn active_profiler_type() -> super::ActiveProfilerType {
    slot::lock().active.as_ref().map_or(super::ActiveProfilerType::None, |active| active.config.state.active_type())
}

fn enable(
    config: ProfilerConfig,
    activities: Activities,
    scopes: &[Scope],
    post_process: Option<PostProcess>,
) -> Result<Vec<Warning>, KinetoError> {
    const CALL: &str = "enable the profiler";
    let mut slot = slot::lock();
    if let Some(active) = &slot.active {
        return Err(KinetoError::AlreadyEnabled { state: active.config.state });
    }
    let scopes = Scopes::of(scopes);
    let (mut session, mut ranges) = (None, None);
    let mut warnings = Vec::new();
    match config.state {
        ProfilerState::Disabled => return Err(KinetoError::WrongState { call: CALL, state: config.state }),
        ProfilerState::Cpu | ProfilerState::Cuda => return Err(KinetoError::Legacy { state: config.state }),
        ProfilerState::PrivateUse1 => return Err(KinetoError::NoPlugin),
        ProfilerState::Nvtx => ranges = Some(pass_on(Ranges::nvtx()?, &scopes, config.report_input_shapes)),
        ProfilerState::Itt => ranges = Some(pass_on(Ranges::itt()?, &scopes, false)),
        _ => {
            check(CALL, &config, activities)?;
            warnings = self::warnings(&config, activities);
            if !config.global() {
                let categories = categories(&config, activities);
                let options = SessionOptions { categories, pytorch_marks: true, ..SessionOptions::default() };
                session = Some(Session::start(options)?);
                slot.preset.drain(..).for_each(|(key, json)| set_metadata(&key, &json));
                if !config.trace_id.is_empty() {
                    set_metadata("trace_id", &serde_json::Value::from(config.trace_id.as_str()).to_string());
                }
            }
            op_args::set_wishes(Some(&config));
        }
    }
    slot.last_generation += 1;
    let (generation, thread) = (slot.last_generation, current_thread_id());
    let reported = Vec::new();
    slot.active = Some(Active { generation, config, activities, scopes, thread, session, ranges, reported, post_process });
    Ok(warnings)
}

fn check(call: &'static str, config: &ProfilerConfig, activities: Activities) -> Result<(), KinetoError> {
    let has_cpu = activities.contains(ActivityType::Cpu);
    if activities.is_empty() {
        return Err(KinetoError::NoActivities { call });
    }
    if config.global() && !has_cpu {
        return Err(KinetoError::OnDemandWithoutCpu);
    }
    if !config.experimental.performance_events.is_empty() && !has_cpu {
        return Err(KinetoError::PerformanceEventsWithoutCpu);
    }
    if config.experimental.trace_only && config.with_stack {
        return Err(KinetoError::StackWithTraceOnly);
    }
    Ok(())
}

fn warnings(config: &ProfilerConfig, activities: Activities) -> Vec<Warning> {
    let mut warnings = config.warnings();
    let devices = activities.iter().filter(|activity| *activity != ActivityType::Cpu);
    warnings.extend(devices.map(|activity| Warning::NoDeviceLibrary { activity }));
    warnings
}

/// What a session records for `activities`; memory is the host's.
pub(super) fn categories(config: &ProfilerConfig, activities: Activities) -> Categories {
    let memory = config.profile_memory && activities.contains(ActivityType::Cpu);
    activities.categories() | if memory { Category::CPU_INSTANT_EVENT.alone() } else { Categories::NONE }
}

/// Passes ops on to a vendor's tool: name, number of autograd, and shapes where they are wanted.
fn pass_on(ranges: Ranges, scopes: &Scopes, shapes: bool) -> CallbackHandle {
    let ranges = std::sync::Arc::new(ranges);
    let (scopes, ending) = (*scopes, ranges.clone());
    let callback = RecordFunctionCallback::new(move |op| {
        let dims = if shapes && !op.inputs.is_empty() { super::inputs::dims(op.inputs) } else { String::new() };
        match (op.sequence_nr >= 0, dims.is_empty()) {
            (false, true) => ranges.push(op.name),
            (true, true) => ranges.push(&format!("{}, seq = {}", op.name, op.sequence_nr)),
            (false, false) => ranges.push(&format!("{}, sizes = {dims}", op.name)),
            (true, false) => ranges.push(&format!("{}, seq = {}, sizes = {dims}", op.name, op.sequence_nr)),
        }
        None
    });
    let callback = callback.on_end(move |_, _| ending.pop()).in_scopes(scopes);
    add_global_callback(if shapes { callback.needs_inputs() } else { callback })
}

fn finish(mut active: Active, stopped: Stopped) -> Result<ProfilerResult, KinetoError> {
    let wishes = Wishes::of(&active.config, active.scopes);
    if active.config.experimental.trace_only {
        return Ok(ProfilerResult::trace_only(stopped, active.reported));
    }
    let recording = stopped.recorded.open()?;
    let mut converted = convert(&recording, stopped.recorded.cut(), wishes, &active.reported);
    if let Some(resolve) = &mut active.post_process {
        post_process(&mut converted, resolve);
    }
    let resolved = active.post_process.is_some();
    Ok(ProfilerResult::new(converted, stopped, active.reported, resolved))
}

fn post_process(converted: &mut Converted, resolve: &mut PostProcess) {
    let has_handle = |kind| matches!(kind, EventType::TorchOp | EventType::Backend);
    for event in converted.events.iter_mut().filter(|event| has_handle(event.kind) && !event.unfinished) {
        let handle = event.debug_handle();
        let details = event.details_mut();
        resolve(handle, &mut details.stack, &mut details.module_hierarchy);
    }
}
