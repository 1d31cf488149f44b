//! How a job ended, as an exit code.

use std::io;
use std::process::ExitCode;

use rankscope_run::Exit;

use crate::output;

/// How a job ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    pub(super) exit: Exit,
}

impl Outcome {
    /// As a shell tells it: of a process that was killed, 128 and the signal.
    pub(super) fn code(self) -> i32 {
        match self.exit {
            Exit::Code(code) => code,
            Exit::Signal(signal) => 128 + signal,
        }
    }

    pub(super) fn exit_code(self) -> ExitCode {
        ExitCode::from(u8::try_from(self.code()).unwrap_or(1))
    }
}

/// What a shell says of a command that it cannot start: 127 if there is none, 126 if there is.
pub(super) fn not_started(program: &str, error: &io::Error) -> Outcome {
    output::remark(&format!("rankscope: {program}: {error}"));
    Outcome { exit: Exit::Code(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }) }
}
