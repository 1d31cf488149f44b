//! What became of the run that was at work when a sweep was killed, by its own manifest.

use std::path::Path;

use rankscope_run::{Exit, RunDirectory, State};
use rankscope_sweep::{Run, RunState};

use crate::left::Left;

/// Notes in `run`, whose directory is at `path`, what became of it. A job that had ended with 0 counts; any other was interrupted.
pub(super) fn settle(path: &Path, run: &mut Run) {
    run.state = RunState::Interrupted;
    let Ok(directory) = RunDirectory::open(path) else { return };
    let Some(attempt) = directory.attempts().last() else { return };
    run.ended_unix_ns = attempt.ended_unix_ns;
    run.exit_code = attempt.exit.map(|exit| match exit {
        Exit::Code(code) => code,
        Exit::Signal(signal) => 128 + signal,
    });
    let manifest = directory.manifest();
    let own = manifest.sweep.as_ref().is_some_and(|entry| entry.configuration == run.configuration && entry.round == run.round);
    run.state = match manifest.state {
        State::Finished if own && attempt.asked_by_signal.is_none() => RunState::Succeeded,
        State::Failed if own && attempt.asked_by_signal.is_none() => RunState::Failed,
        _ => RunState::Interrupted,
    };
    run.traces = Some(Left::of(path, manifest.world_size).files as u64);
}

/// When the job ended whose run directory is at `path`, by that; completing the directory takes longer.
pub(super) fn ended_unix_ns(path: &Path) -> Option<i64> {
    RunDirectory::open(path).ok()?.attempts().last()?.ended_unix_ns
}
