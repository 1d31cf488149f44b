//! Why a job was not profiled from outside.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rankscope_run::State;

/// Why nothing came of a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TriggerError {
    /// There is no such run.
    #[error(transparent)]
    Run(#[from] rankscope_run::Error),
    /// It is over.
    #[error("{run}: this run is {state}; only a job that runs can be profiled", run = .run.display(), state = .state.name())]
    NotRunning {
        /// The run directory.
        run: PathBuf,
        /// How far it is.
        state: State,
    },
    /// Its processes have no hooks.
    #[error("{run}: its processes were started without hooks (--no-hooks), so that nobody hears", run = .run.display())]
    NoHooks {
        /// The run directory.
        run: PathBuf,
    },
    /// It ended meanwhile.
    #[error("{run}: the job ended before the steps were profiled; what there is of them is in the run", run = .run.display())]
    Over {
        /// The run directory.
        run: PathBuf,
    },
    /// No rank has answered.
    #[error(
        "no rank has answered within {after:?}: none has taken a step that is counted. Calls of a torch optimizer's step() are, and \
         JAX's StepTraceAnnotation, in Python processes that the run started; steps that take longer need a longer --answer-within"
    )]
    NoAnswer {
        /// How long was waited.
        after: Duration,
    },
    /// A rank was always further than the others knew.
    #[error(
        "rank {rank} had passed the steps each time that it heard of them; its files are seen late, so name a step: run --profile steps=N@FIRST"
    )]
    AlwaysLate {
        /// The rank.
        rank: u32,
    },
    /// The ranks hear of the newest request alone.
    #[error("somebody else has asked for steps of this job meanwhile, and the ranks heed that; ask again")]
    Overtaken,
    /// Whoever waited was stopped.
    #[error("stopped; ranks that had agreed profile all the same")]
    Stopped,
    /// The file system refuses.
    #[error("{path}: {reason}", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it says.
        #[source]
        reason: io::Error,
    },
}
