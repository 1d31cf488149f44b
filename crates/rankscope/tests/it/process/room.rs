//! `rankscope run` in a folder of its own.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::{command, ended};

/// A folder to run in.
pub(crate) struct Room(TempDir);

impl Room {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, with its folders.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes a file that can be run.
    pub(crate) fn program(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.file(name, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// `rankscope run` into the folder `run`, with `arguments` after that.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(&["run", "--out", "run"]);
        command.args(arguments).current_dir(self.path());
        command
    }

    /// What it says and how it ends.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        ended(self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// What it says when it is started without clocks and reports, which are beside the point.
    pub(crate) fn plain(&self, arguments: &[&str]) -> Output {
        self.run(&[&["--no-clock", "--no-report"], arguments].concat())
    }

    pub(crate) fn manifest(&self) -> Value {
        serde_json::from_slice(&fs::read(self.path().join("run/run.json")).unwrap()).unwrap()
    }

    /// Names in a folder of the run, sorted.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path().join("run").join(folder)) else { return Vec::new() };
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}
