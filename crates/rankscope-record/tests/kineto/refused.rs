//! Wishes that cannot be (specification, test 2), and that a refusal changes nothing.

use rankscope_record::Scope;
use rankscope_record::kineto::{
    Activities, ActivityType, Fault, KinetoError, PrepareOptions, ProfilerConfig, ProfilerState, Warning, add_metadata_json,
    disable_profiler, enable_profiler, enable_profiler_with_event_post_process, prepare_profiler,
    report_backend_event_to_active_profiler, toggle_collection_dynamic,
};

use crate::{alone, gpu_only, kineto, word};

fn with(state: ProfilerState, change: impl FnOnce(&mut ProfilerConfig)) -> ProfilerConfig {
    let mut config = ProfilerConfig::new(state);
    change(&mut config);
    config
}

#[test]
fn what_cannot_be_is_refused_by_prepare_and_enable_alike() {
    let _alone = alone();
    let counters = |config: &mut ProfilerConfig| config.experimental.performance_events = vec!["cycles".into()];
    let stacks = |config: &mut ProfilerConfig| {
        config.with_stack = true;
        config.experimental.trace_only = true;
    };
    let cases = [
        (kineto(), Activities::NONE, "NoActivities"),
        (with(ProfilerState::Kineto, counters), gpu_only(), "PerformanceEventsWithoutCpu"),
        (with(ProfilerState::Kineto, stacks), Activities::CPU, "StackWithTraceOnly"),
    ];
    for (config, activities, expected) in cases {
        let prepared = prepare_profiler(&config, activities, &PrepareOptions::default()).unwrap_err();
        let enabled = enable_profiler(config.clone(), activities, &[]).unwrap_err();
        assert_eq!((word(&prepared), word(&enabled)), (expected.to_owned(), expected.to_owned()));
        assert_eq!(enabled.fault(), Fault::Caller);
        assert_eq!(word(&disable_profiler().unwrap_err()), "NotEnabled", "nothing was enabled");
    }
    let on_demand = enable_profiler(ProfilerConfig::new(ProfilerState::KinetoOnDemand), gpu_only(), &[]).unwrap_err();
    assert_eq!(word(&on_demand), "OnDemandWithoutCpu");
}

#[test]
fn only_recordings_with_events_can_resolve_them() {
    let _alone = alone();
    let states = [ProfilerState::Nvtx, ProfilerState::Itt, ProfilerState::PrivateUse1, ProfilerState::KinetoOnDemand];
    for state in states {
        let config = ProfilerConfig::new(state);
        let error = enable_profiler_with_event_post_process(config, Activities::CPU, |_, _, _| (), &[]).unwrap_err();
        assert_eq!(word(&error), "WrongState", "{state:?}");
    }
    let only = with(ProfilerState::Kineto, |config| config.experimental.trace_only = true);
    let error = enable_profiler_with_event_post_process(only, Activities::CPU, |_, _, _| (), &[]).unwrap_err();
    assert_eq!(word(&error), "TraceOnly");
}

#[test]
fn what_has_no_effect_is_said() {
    let _alone = alone();
    let metrics = with(ProfilerState::Kineto, |config| config.experimental.profiler_metrics = vec!["x".into()]);
    let said = enable_profiler(metrics, Activities::CPU | gpu_only(), &[]).unwrap();
    let device = Warning::NoDeviceLibrary { activity: ActivityType::Cuda };
    assert_eq!(said, [Warning::NoEffect { field: "profiler_metrics" }, device]);
    let both = Activities::CPU | gpu_only();
    assert_eq!(toggle_collection_dynamic(false, both).unwrap(), []);
    assert_eq!(toggle_collection_dynamic(true, gpu_only()).unwrap(), [Warning::OneSideToggled]);
    let hpu = Activities::from(ActivityType::Hpu);
    let cannot = [Warning::CannotToggle { activity: ActivityType::Hpu }];
    assert_eq!(toggle_collection_dynamic(true, hpu).unwrap(), cannot);
    disable_profiler().unwrap();
}

#[test]
fn bad_input_is_told_from_bad_order() {
    let _alone = alone();
    enable_profiler(kineto(), Activities::CPU, &[]).unwrap();
    let json = add_metadata_json("key", "no json").unwrap_err();
    assert!(json.fault() == Fault::Input && json.to_string().contains("key"), "{json}");
    for (start_us, end_us) in [(2, 1), (0, i64::MAX), (i64::MIN, 0)] {
        let error = report_backend_event_to_active_profiler(start_us, end_us, -1, Scope::Function, "a", "b").unwrap_err();
        assert!(matches!(error, KinetoError::BackendInterval { .. }), "{error}");
    }
    assert!(disable_profiler().unwrap().events().unwrap().is_empty());
}
