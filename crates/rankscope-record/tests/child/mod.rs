//! Parts of tests that have to run in a process of their own: the test binary starts itself again, with a part to play.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rankscope_formats::recording::{LiveFile, Recording};

const PART: &str = "RANKSCOPE_TEST_PART";
const FILE: &str = "RANKSCOPE_TEST_FILE";

/// This test binary, to play `part` with `file`. It must have an ignored test called `child`.
pub(crate) fn playing(part: &str, file: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["child", "--exact", "--ignored", "--nocapture", "--test-threads", "1"]);
    command.env(PART, part).env(FILE, file).stdin(Stdio::null());
    command
}

/// In the child: its part and its file. None where somebody runs all ignored tests.
pub(crate) fn part() -> Option<(String, PathBuf)> {
    Some((std::env::var(PART).ok()?, std::env::var_os(FILE)?.into()))
}

/// The live file that a child left, or is still writing.
pub(crate) fn left(path: &Path) -> Recording<LiveFile<File>> {
    Recording::open(LiveFile::open(File::open(path).unwrap()).unwrap()).unwrap()
}
