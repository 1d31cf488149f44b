//! The user's own command for alarms. It gets a bounded time, few of them run at once, and none holds up the watcher.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rankscope_cli::output;
use rankscope_document::LiveAlarm;
use rankscope_report::alarm_line;

/// Commands at once.
const RUNNING_MAX: usize = 4;
/// For one of them.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command with what runs of it.
pub(super) struct Hook {
    command: String,
    running: Vec<(Child, Instant)>,
}

impl Hook {
    pub(super) fn new(command: &str) -> Self {
        Self { command: command.to_owned(), running: Vec::new() }
    }

    /// Runs it for `alarm`; what keeps it from running is said. Whether it runs.
    pub(super) fn call(&mut self, alarm: &LiveAlarm) -> bool {
        self.running.retain_mut(|(child, since)| is_left(child, *since));
        if self.running.len() >= RUNNING_MAX {
            output::remark(&format!("rankscope: --exec is left out, as {RUNNING_MAX} of them still run"));
            return false;
        }
        match self.spawned(alarm) {
            Ok(child) => self.running.push((child, Instant::now())),
            Err(error) => {
                output::remark(&format!("rankscope: --exec cannot be run: {error}"));
                return false;
            }
        }
        true
    }

    fn spawned(&self, alarm: &LiveAlarm) -> std::io::Result<Child> {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(&self.command).env("RANKSCOPE_ALARM", alarm_line(alarm));
        // What it prints is none of the alarms on standard output.
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A line fits into any pipe; a command that does not read it has ended.
            let _unread = writeln!(stdin, "{}", serde_json::to_string(alarm)?);
        }
        Ok(child)
    }
}

impl Drop for Hook {
    /// Whoever was called last may finish.
    fn drop(&mut self) {
        while !self.running.is_empty() {
            self.running.retain_mut(|(child, since)| is_left(child, *since));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Whether a command still runs; one that has run too long is ended.
fn is_left(child: &mut Child, since: Instant) -> bool {
    if !matches!(child.try_wait(), Ok(None)) {
        return false;
    }
    if since.elapsed() < PATIENCE {
        return true;
    }
    let _gone = child.kill();
    let _reaped = child.wait();
    output::remark(&format!("rankscope: --exec was ended, as it ran longer than {} s", PATIENCE.as_secs()));
    false
}
