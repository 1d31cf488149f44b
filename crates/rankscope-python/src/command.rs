//! The command `rankscope`, which the wheel carries inside its extension module: one file for both, so that they cannot differ.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Does what a command line asks for and returns the exit code. The first word is the name of the program.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| rankscope::command_line(words)).number()
}
