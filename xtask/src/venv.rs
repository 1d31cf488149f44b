//! Environments of Python below the target folder, filled from the Python package index.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Makes an environment in the folder `venv`.
pub(crate) fn create(venv: &Path) -> Result<()> {
    finish(Command::new("python3").args(["-m", "venv"]).arg(venv), "python3")
}

/// The command that installs what is added to it, for `python`.
pub(crate) fn pip(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    command
}

/// Runs `command`, of which an error tells what it complained about.
pub(crate) fn finish(command: &mut Command, name: &str) -> Result<()> {
    let output = command.output().with_context(|| format!("failed to start {name}"))?;
    if !output.status.success() {
        bail!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
