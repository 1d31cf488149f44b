//! A process that ends with the one that started it, also when that is killed.
//!
//! The kernel keeps the promise across `exec`, so any launcher of agents can be tied, without knowing.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

use crate::error::Error;

/// Becomes `command`, which gets SIGTERM when the process `parent` is gone. Returns only where it is gone already.
///
/// # Errors
/// [`Error::Tie`] and [`Error::Execute`]: there is no such promise, or no such command.
pub fn become_command(parent: u32, command: &[OsString]) -> Result<(), Error> {
    set_pdeathsig(Signal::SIGTERM).map_err(Error::Tie)?;
    if getppid().as_raw().cast_unsigned() != parent {
        // It went before the promise was made.
        return Ok(());
    }
    let reason = Command::new(&command[0]).args(&command[1..]).exec();
    Err(Error::Execute { program: command[0].to_string_lossy().into_owned(), reason })
}
