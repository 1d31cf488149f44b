//! Every call in every state: the documented result or a typed error (specification, test 1).

use rankscope_record::Scope;
use rankscope_record::kineto::{
    ActiveProfilerType, Activities, KinetoError, PrepareOptions, ProfilerConfig, ProfilerState, active_profiler_type,
    add_metadata_json, disable_profiler, disable_profiler_in_child_thread, enable_profiler, enable_profiler_in_child_thread,
    enable_profiler_with_event_post_process, export_memory_profile, is_profiler_enabled_in_main_thread, prepare_profiler,
    preset_metadata_json, profiler_step, report_backend_event_to_active_profiler, start_memory_profile, stop_memory_profile,
    toggle_collection_dynamic,
};

use crate::{alone, gpu_only, kineto, word};

/// A way to be before a call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Before {
    Idle,
    Prepared,
    Kineto,
    GpuOnly,
    Resolving,
    TraceOnly,
    Fallback,
    OnDemand,
}

const BEFORE: [Before; 8] = [
    Before::Idle,
    Before::Prepared,
    Before::Kineto,
    Before::GpuOnly,
    Before::Resolving,
    Before::TraceOnly,
    Before::Fallback,
    Before::OnDemand,
];

impl Before {
    fn set_up(self) {
        let state = |state| enable_profiler(ProfilerConfig::new(state), Activities::CPU, &[]).map(|_| ());
        match self {
            Self::Idle => Ok(()),
            Self::Prepared => prepare_profiler(&kineto(), Activities::CPU, &PrepareOptions::default()).map(|_| ()),
            Self::Kineto => state(ProfilerState::Kineto),
            Self::GpuOnly => enable_profiler(kineto(), gpu_only(), &[]).map(|_| ()),
            Self::Resolving => {
                enable_profiler_with_event_post_process(kineto(), Activities::CPU, |_, _, _| (), &[]).map(|_| ())
            }
            Self::TraceOnly => {
                let mut config = kineto();
                config.experimental.trace_only = true;
                enable_profiler(config, Activities::CPU, &[]).map(|_| ())
            }
            Self::Fallback => state(ProfilerState::KinetoGpuFallback),
            Self::OnDemand => state(ProfilerState::KinetoOnDemand),
        }
        .unwrap();
    }

    fn is_enabled(self) -> bool {
        !matches!(self, Self::Idle | Self::Prepared)
    }

    fn records(self) -> bool {
        self.is_enabled() && self != Self::OnDemand
    }
}

type Call = (&'static str, fn() -> Result<String, KinetoError>, fn(Before) -> &'static str);

fn enable(state: ProfilerState) -> Result<String, KinetoError> {
    enable_profiler(ProfilerConfig::new(state), Activities::CPU, &[]).map(|_| "ok".into())
}

fn prepare(state: ProfilerState) -> Result<String, KinetoError> {
    prepare_profiler(&ProfilerConfig::new(state), Activities::CPU, &PrepareOptions::default()).map(|_| "ok".into())
}

fn if_idle(before: Before, word: &'static str) -> &'static str {
    if before.is_enabled() { "AlreadyEnabled" } else { word }
}

fn if_records(before: Before, word: &'static str) -> &'static str {
    if before.records() { word } else { "NotEnabled" }
}

#[rustfmt::skip]
const CALLS: &[Call] = &[
    ("prepare as kineto", || prepare(ProfilerState::Kineto), |_| "ok"),
    ("prepare as gpu fallback", || prepare(ProfilerState::KinetoGpuFallback), |_| "ok"),
    ("prepare as plugin fallback", || prepare(ProfilerState::KinetoPrivateUse1Fallback), |_| "ok"),
    ("prepare as nvtx", || prepare(ProfilerState::Nvtx), |_| "ok"),
    ("prepare as itt", || prepare(ProfilerState::Itt), |_| "ok"),
    ("prepare as nothing", || prepare(ProfilerState::Disabled), |_| "WrongState"),
    ("prepare as legacy", || prepare(ProfilerState::Cpu), |_| "WrongState"),
    ("prepare as on-demand", || prepare(ProfilerState::KinetoOnDemand), |_| "WrongState"),
    ("enable as nothing", || enable(ProfilerState::Disabled), |before| if_idle(before, "WrongState")),
    ("enable as legacy CPU", || enable(ProfilerState::Cpu), |before| if_idle(before, "Legacy")),
    ("enable as legacy CUDA", || enable(ProfilerState::Cuda), |before| if_idle(before, "Legacy")),
    ("enable as plugin's ranges", || enable(ProfilerState::PrivateUse1), |before| if_idle(before, "NoPlugin")),
    ("enable as kineto", || enable(ProfilerState::Kineto), |before| if_idle(before, "ok")),
    ("enable as gpu fallback", || enable(ProfilerState::KinetoGpuFallback), |before| if_idle(before, "ok")),
    ("enable as plugin fallback", || enable(ProfilerState::KinetoPrivateUse1Fallback), |before| if_idle(before, "ok")),
    ("enable as plugin", || enable(ProfilerState::KinetoPrivateUse1), |before| if_idle(before, "ok")),
    ("enable as on-demand", || enable(ProfilerState::KinetoOnDemand), |before| if_idle(before, "ok")),
    ("enable resolving", || enable_profiler_with_event_post_process(kineto(), Activities::CPU, |_, _, _| (), &[]).map(|_| "ok".into()),
        |before| if_idle(before, "ok")),
    ("disable", || disable_profiler().map(|result| result.why_empty().map_or("events", |_| "empty").into()),
        |before| if before.is_enabled() { "empty" } else { "NotEnabled" }),
    ("is enabled", || Ok(is_profiler_enabled_in_main_thread().to_string()),
        |before| if before.records() { "true" } else { "false" }),
    ("join on the enabling thread", || enable_profiler_in_child_thread().map(|()| "ok".into()),
        |before| if before.records() { "AlreadyJoined" } else { "MainNotEnabled" }),
    ("join on another thread", || elsewhere(|| enable_profiler_in_child_thread().map(|()| "ok".into())),
        |before| if before.records() { "ok" } else { "MainNotEnabled" }),
    ("leave", || disable_profiler_in_child_thread().map(|()| "ok".into()), |_| "NotJoined"),
    ("report", || report_backend_event_to_active_profiler(1, 2, 3, Scope::Function, "a", "b").map(|taken| taken.to_string()),
        |before| match before { Before::OnDemand => "GlobalProfiler", _ if before.records() => "true", _ => "false" }),
    ("toggle off", || toggle_collection_dynamic(false, Activities::CPU).map(|_| "ok".into()), |before| if_records(before, "ok")),
    ("toggle on", || toggle_collection_dynamic(true, Activities::CPU).map(|_| "ok".into()), |before| if_records(before, "ok")),
    ("toggle nothing", || toggle_collection_dynamic(true, Activities::NONE).map(|_| "ok".into()), |before| if_records(before, "NoActivities")),
    ("add metadata", || add_metadata_json("key", "[1]").map(|()| "ok".into()), |before| if_records(before, "ok")),
    ("add no JSON", || add_metadata_json("key", "[1").map(|()| "ok".into()), |_| "InvalidJson"),
    ("preset metadata", || preset_metadata_json("key", "1").map(|()| "ok".into()), |_| "ok"),
    ("stop the memory profile", || stop_memory_profile().map(|()| "ok".into()), |_| "NoMemoryProfile"),
    ("start and stop it", || start_memory_profile().and_then(|()| stop_memory_profile()).map(|()| "ok".into()), |_| "ok"),
    ("start it twice", || { start_memory_profile()?; let again = start_memory_profile(); stop_memory_profile()?; again.map(|()| "ok".into()) },
        |_| "MemoryProfileRunning"),
    ("step", || Ok((profiler_step() < profiler_step()).to_string()), |_| "true"),
];

fn elsewhere(call: fn() -> Result<String, KinetoError>) -> Result<String, KinetoError> {
    std::thread::spawn(call).join().unwrap()
}

#[test]
fn every_call_in_every_state_says_what_is_documented() {
    let _alone = alone();
    for (name, call, expected) in CALLS {
        for before in BEFORE {
            before.set_up();
            let said = call().unwrap_or_else(|error| word(&error));
            assert_eq!(said, expected(before), "{name}, {before:?}");
            let is_on = active_profiler_type() != ActiveProfilerType::None;
            let stays = before.is_enabled() && *name != "disable" || name.starts_with("enable") && said == "ok";
            assert_eq!(is_on, stays, "{name}, {before:?}: enabled afterwards");
            _ = disable_profiler();
        }
    }
}

#[test]
fn a_vendor_that_is_absent_says_what_was_looked_for() {
    let _alone = alone();
    for (state, file) in [(ProfilerState::Nvtx, "libnvToolsExt.so.1"), (ProfilerState::Itt, "libittnotify.so")] {
        match enable_profiler(ProfilerConfig::new(state), Activities::NONE, &[]) {
            Ok(_) => assert!(disable_profiler().unwrap().why_empty().is_some()),
            Err(error) => assert!(error.to_string().contains(file), "{error}"),
        }
    }
}

#[test]
fn a_memory_profile_can_be_exported_only_once_there_is_one() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing").join("memory.json");
    start_memory_profile().unwrap();
    stop_memory_profile().unwrap();
    assert_eq!(word(&export_memory_profile(&path).unwrap_err()), "Write");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
