//! The program that has the verbs: agents, reports and ties to this process are processes of its own. The one place that knows how
//! its command line is written.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;

/// The `rankscope` program.
#[derive(Clone, Debug)]
pub struct Executable(PathBuf);

impl Executable {
    /// This process's own.
    ///
    /// # Errors
    /// [`Error::NoExecutable`] where the system does not tell.
    pub fn own() -> Result<Self, Error> {
        std::env::current_exe().map(Self).map_err(Error::NoExecutable)
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A process of it that becomes the command whose words follow, and ends with this process however that ends.
    pub fn tied(&self) -> Command {
        let mut command = Command::new(&self.0);
        command.args(tie_words());
        command
    }

    /// The same of this program itself, which `program` starts elsewhere, as `ip netns exec` does. Its own words follow.
    pub fn tied_by(&self, mut program: Command) -> Command {
        program.args(tie_words()).arg(&self.0);
        program
    }

    /// The words of a process that reports on the run directory `run`, into it.
    pub(crate) fn report(&self, run: &Path) -> [OsString; 4] {
        [self.0.clone().into(), "report".into(), run.into(), "--partial".into()]
    }

    /// The words of a process that is an agent.
    pub(crate) fn agent(&self) -> [OsString; 2] {
        [self.0.clone().into(), "agent".into()]
    }
}

fn tie_words() -> [String; 4] {
    ["run".to_owned(), "--tied".to_owned(), std::process::id().to_string(), "--".to_owned()]
}
