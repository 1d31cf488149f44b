//! Runs a child and says what it cost, as the kernel counted.

use std::io;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde::Serialize;

/// What a program took.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Cost {
    /// Wall clock.
    pub(crate) seconds: f64,
    /// User and system time of all its threads.
    pub(crate) cpu_seconds: f64,
    /// Peak resident memory in decimal megabytes. Never below this process's own peak, which the kernel hands to a child.
    pub(crate) peak_mb: f64,
}

/// Runs `command` to its end; returns its cost and its exit code, or minus the signal that ended it.
pub(crate) fn run(command: &mut Command) -> Result<(Cost, i32)> {
    let begun = Instant::now();
    let child = command.spawn().context("failed to start the program")?;
    // Not Child::wait: it would reap the child and lose what it used.
    let (status, usage) = wait(child.id()).context("failed to wait for the program")?;
    let seconds = begun.elapsed().as_secs_f64();
    let cpu_seconds = of(usage.ru_utime) + of(usage.ru_stime);
    // Linux counts ru_maxrss in units of 1024 bytes.
    let peak_mb = usage.ru_maxrss as f64 * 1_024.0 / 1e6;
    let code = if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -libc::WTERMSIG(status) };
    Ok((Cost { seconds, cpu_seconds, peak_mb }, code))
}

/// Runs `command`, which has to succeed.
pub(crate) fn succeed(command: &mut Command) -> Result<Cost> {
    match run(command)? {
        (cost, 0) => Ok(cost),
        (_, code) => bail!("{} ended with {code}", command.get_program().display()),
    }
}

/// The fastest of three runs of `command`.
pub(crate) fn fastest(command: &mut Command) -> Result<Cost> {
    fastest_of(|| succeed(command))
}

/// The fastest of three times that something is `run`.
pub(crate) fn fastest_of(mut run: impl FnMut() -> Result<Cost>) -> Result<Cost> {
    let mut costs = [run()?, run()?, run()?];
    costs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Ok(costs[0])
}

#[expect(unsafe_code, reason = "std waits for a child without saying what it used; wait4 says it")]
fn wait(pid: u32) -> io::Result<(i32, libc::rusage)> {
    // SAFETY: rusage is a struct of integers, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let mut status = 0;
    loop {
        // SAFETY: both pointers are to live values of the right type for the length of the call.
        let waited = unsafe { libc::wait4(pid as libc::pid_t, &raw mut status, 0, &raw mut usage) };
        if waited >= 0 {
            return Ok((status, usage));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn of(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_signals_and_memory_come_back() {
        let (cost, code) = run(Command::new("sh").args(["-c", "exit 3"])).unwrap();
        assert_eq!(code, 3);
        assert!(cost.peak_mb > 0.1 && cost.seconds > 0.0);
        assert_eq!(run(Command::new("sh").args(["-c", "kill -9 $$"])).unwrap().1, -9);
        assert!(run(&mut Command::new("/no/such/program")).is_err());
    }
}
