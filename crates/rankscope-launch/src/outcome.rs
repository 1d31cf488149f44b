//! How a job ended: as an exit code, and rank by rank where the ranks are ours.

use std::io;

use rankscope_run::{Exit, RankEnd};

/// How a job ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// Of the command, or of the rank that failed first.
    pub exit: Exit,
    /// Whether it ever began.
    pub started: bool,
    /// The ends of ranks that were started here.
    pub ends: Vec<RankEnd>,
    /// When the first of them was told to end, since 1970, as far as this host's clock says it.
    pub asked_unix_ns: Option<i64>,
    /// The signal that told the job to end before anything failed.
    pub asked_by_signal: Option<i32>,
}

impl Outcome {
    /// As a shell tells it: of a process that was killed, 128 and the signal.
    pub fn code(&self) -> i32 {
        match self.exit {
            Exit::Code(code) => code,
            Exit::Signal(signal) => 128 + signal,
        }
    }
}

/// What a shell says of a command that it cannot start: 127 if there is none, 126 if there is.
pub(crate) fn not_started(error: &io::Error) -> Outcome {
    let exit = Exit::Code(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 });
    Outcome { exit, started: false, ends: Vec::new(), asked_unix_ns: None, asked_by_signal: None }
}
