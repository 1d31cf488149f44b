//! The program as a process: started without what this test was told about a job, watched, and never left behind.
//!
//! One list of variables that are taken away, and one time after which a test gives up. How long something takes is no concern
//! of any test: only that it ends.

#[cfg(all(target_os = "linux", feature = "clock"))]
mod fleet;
#[cfg(all(target_os = "linux", feature = "clock"))]
mod kernel;
#[cfg(all(target_os = "linux", feature = "clock"))]
mod ports;
#[cfg(all(target_os = "linux", feature = "clock"))]
mod room;
#[cfg(all(target_os = "linux", feature = "clock"))]
mod watch;

use std::process::{Command, Stdio};

#[cfg(all(target_os = "linux", feature = "clock"))]
pub(crate) use {
    fleet::Fleet,
    kernel::{family, is_alive, reachable},
    ports::{addresses, free_block, free_ports, free_tcp_ports},
    room::Room,
    watch::{Running, ended, signal, text, wait_for},
};

/// Where the program is.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_rankscope");

/// How the variables begin that launchers, frameworks and people set for us or for a job of ours.
const FOR_A_JOB: [&str; 10] =
    ["RANKSCOPE_", "XLA_", "RANK", "WORLD_", "LOCAL_", "MASTER_", "SLURM_", "OMPI_", "PMI", "TORCHELASTIC_"];

/// The program with these arguments and no input, and without what this test was told about a job.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    for (name, _) in std::env::vars_os() {
        if FOR_A_JOB.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.args(arguments).stdin(Stdio::null());
    command
}

/// As [`command`], with `input` to read.
pub(crate) fn fed(arguments: &[&str], input: impl Into<Vec<u8>>) -> assert_cmd::Command {
    let mut command = assert_cmd::Command::from_std(command(arguments));
    command.write_stdin(input);
    command
}
