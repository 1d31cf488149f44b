//! A process that ends with the one that started it, also when that is killed.
//!
//! The kernel keeps the promise across `exec`, so any launcher of agents can be tied, without knowing.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

/// Becomes `command`, which gets SIGTERM when the process `parent` is gone.
pub(super) fn become_command(parent: u32, command: &[OsString]) -> Result<ExitCode> {
    set_pdeathsig(Signal::SIGTERM).context("failed to tie an agent to its run")?;
    if getppid().as_raw().cast_unsigned() != parent {
        // It went before the promise was made.
        return Ok(ExitCode::SUCCESS);
    }
    let error = Command::new(&command[0]).args(&command[1..]).exec();
    Err(error).with_context(|| command[0].to_string_lossy().into_owned())
}
