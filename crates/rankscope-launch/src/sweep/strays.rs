//! Processes of a sweep's runs that are still there when their run is not: a job outlives a sweep that is killed, and some leave
//! processes behind. Beside the next run they would be measured with it.
//!
//! They are known by the run directory in the environment they began with, which the kernel keeps. A process that has overwritten its
//! environment, or runs on another host, is not found.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::signals::Signals;

/// Processes of runs in `folder`, or of the run that `folder` is.
pub(super) fn of(folder: &Path) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<u32> = numbers.filter(|pid| *pid != std::process::id() && is_of(*pid, folder)).collect();
    found.sort_unstable();
    found
}

fn is_of(pid: u32, folder: &Path) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let runs = environment.split(|byte| *byte == 0).filter_map(|pair| pair.strip_prefix(b"RANKSCOPE_RUN_DIR="));
    runs.into_iter().any(|run| Path::new(std::ffi::OsStr::from_bytes(run)).starts_with(folder))
}

/// Between looks at whether they are gone.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Ends the processes of runs in `folder`: asks them, and kills those that are there after `grace`. Returns which there were.
pub(super) fn end(folder: &Path, grace: Duration, signals: &Signals) -> Vec<u32> {
    let found = of(folder);
    send(&found, Signal::SIGTERM);
    let deadline = Instant::now() + grace;
    while !of(folder).is_empty() && signals.asked_to_end().is_none() {
        if Instant::now() >= deadline {
            send(&of(folder), Signal::SIGKILL);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    found
}

fn send(pids: &[u32], signal: Signal) {
    for pid in pids {
        let _gone = kill(Pid::from_raw(pid.cast_signed()), signal);
    }
}
