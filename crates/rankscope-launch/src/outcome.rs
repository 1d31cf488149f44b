//! How a job ended: as an exit code, and rank by rank where the ranks are ours.

use std::io;
use std::process::ExitCode;

use rankscope_run::{Exit, RankEnd};

use crate::output;

/// How a job ended.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) exit: Exit,
    /// Whether it ever began.
    pub(super) started: bool,
    /// The ends of ranks that were started here.
    pub(super) ends: Vec<RankEnd>,
    /// When the first of them was told to end, since 1970.
    pub(super) asked_unix_ns: Option<i64>,
    /// The signal that told the job to end before anything failed.
    pub(super) asked_by_signal: Option<i32>,
}

impl Outcome {
    /// As a shell tells it: of a process that was killed, 128 and the signal.
    pub(super) fn code(&self) -> i32 {
        match self.exit {
            Exit::Code(code) => code,
            Exit::Signal(signal) => 128 + signal,
        }
    }

    pub(super) fn exit_code(&self) -> ExitCode {
        ExitCode::from(u8::try_from(self.code()).unwrap_or(1))
    }
}

/// What a shell says of a command that it cannot start: 127 if there is none, 126 if there is.
pub(super) fn not_started(program: &str, error: &io::Error) -> Outcome {
    output::remark(&format!("rankscope: {program}: {error}"));
    let exit = Exit::Code(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 });
    Outcome { exit, started: false, ends: Vec::new(), asked_unix_ns: None, asked_by_signal: None }
}
