//! A stage that runs beside others, because it waits more than it computes and would leave a processor idle for as long as it takes.
//!
//! It is a process of its own, so that what it prints stays together: that is shown when its turn comes, and what it took then is how long
//! it had to be waited for.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::Outcome;
use crate::cargo;

/// One that has begun.
pub(super) struct Aside {
    name: &'static str,
    child: Child,
    said: PathBuf,
}

impl Aside {
    pub(super) fn start(name: &'static str) -> Result<Self> {
        let mut command = Command::new(cargo::myself()?);
        command.args(["ci", "--aside", name]).current_dir(cargo::root());
        Self::of(name, command)
    }

    fn of(name: &'static str, mut command: Command) -> Result<Self> {
        let said = cargo::root().join("target").join(format!("ci-{name}.log"));
        let log = File::create(&said).with_context(|| format!("failed to make {}", said.display()))?;
        let child = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn();
        Ok(Self { name, child: child.with_context(|| format!("failed to start stage {name}"))?, said })
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.name == name
    }

    /// Waits until it has ended, and shows what it printed.
    pub(super) fn ended(mut self) -> Result<Outcome> {
        let status = self.child.wait().with_context(|| format!("failed to wait for stage {}", self.name))?;
        print!("{}", String::from_utf8_lossy(&fs::read(&self.said).unwrap_or_default()));
        if !status.success() {
            bail!("it failed beside others ({status}); `cargo xtask ci {}` runs it alone", self.name);
        }
        Ok(Outcome::Passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(name: &'static str, script: &str) -> (Result<Outcome>, String) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let aside = Aside::of(name, command).unwrap();
        let said = aside.said.clone();
        let outcome = aside.ended();
        let text = fs::read_to_string(&said).unwrap();
        fs::remove_file(said).unwrap();
        (outcome, text)
    }

    #[test]
    fn what_it_says_is_kept_and_its_failure_is_one() {
        let (outcome, said) = ended("aside-passes", "echo one; echo two >&2");
        assert!(matches!(outcome, Ok(Outcome::Passed)));
        assert_eq!(said, "one\ntwo\n");
        let error = ended("aside-fails", "exit 3").0.err().unwrap().to_string();
        assert!(error.contains("exit status: 3") && error.contains("`cargo xtask ci aside-fails`"), "{error}");
    }
}
