//! The command `rankscope`, which the wheel carries inside its extension module: one file for both, so that they cannot differ.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Does what a command line asks for and returns the exit code. The first word is the name of the program; `started_by` are the words
/// that start another process of it, which agents, ranks and reports are.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, words: Vec<OsString>, started_by: Vec<OsString>) -> u8 {
    rankscope::Executable::is_started_by(started_by);
    py.detach(|| rankscope::command_line(words)).number()
}
