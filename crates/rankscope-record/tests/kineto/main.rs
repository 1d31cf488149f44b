//! The face of Kineto as a program uses it. The profiler is the process's, so every test here takes one lock.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod callbacks;
mod events;
mod refused;
mod saved;
mod states;
mod traps;
mod vendors;

use std::sync::{Mutex, MutexGuard, PoisonError};

use rankscope_record::kineto::{
    Activities, ActivityType, KinetoError, KinetoEvent, ProfilerConfig, ProfilerResult, ProfilerState, disable_profiler,
    enable_profiler,
};

static ALONE: Mutex<()> = Mutex::new(());

/// The profiler to oneself, with nothing enabled.
fn alone() -> MutexGuard<'static, ()> {
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // A test that failed may have left it enabled.
    _ = disable_profiler();
    guard
}

fn kineto() -> ProfilerConfig {
    ProfilerConfig::new(ProfilerState::Kineto)
}

fn gpu_only() -> Activities {
    ActivityType::Cuda.into()
}

/// Enables, runs, disables.
fn profiled(config: ProfilerConfig, program: impl FnOnce()) -> ProfilerResult {
    enable_profiler(config, Activities::CPU, &[]).unwrap();
    program();
    disable_profiler().unwrap()
}

fn event<'a>(result: &'a ProfilerResult, name: &str) -> &'a KinetoEvent {
    let found: Vec<_> = result.events().unwrap().iter().filter(|event| event.name() == name).collect();
    assert_eq!(found.len(), 1, "events called {name}");
    found[0]
}

fn names(result: &ProfilerResult) -> Vec<&str> {
    result.events().unwrap().iter().map(KinetoEvent::name).collect()
}

/// The variant of an error, for tables.
fn word(error: &KinetoError) -> String {
    let debug = format!("{error:?}");
    debug.split([' ', '(', '{']).next().unwrap_or_default().to_owned()
}
