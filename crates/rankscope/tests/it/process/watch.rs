//! Processes and conditions that are waited for, as long as a test waits for anything.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything takes that ends, on the slowest host; after it a test fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// A process; it is killed where a test gives it up.
pub(crate) struct Running(Option<Child>);

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        Self::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    pub(crate) fn of(child: Child) -> Self {
        Self(Some(child))
    }

    /// What it said, as soon as it has ended.
    ///
    /// # Panics
    /// If it does not end.
    pub(crate) fn ended(mut self) -> Output {
        ended(self.0.take().unwrap())
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        signal("TERM", self.0.as_ref().unwrap().id());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _gone = child.kill().and_then(|()| child.wait());
        }
    }
}

/// What a process said, as soon as it has ended.
///
/// # Panics
/// If it does not end.
pub(crate) fn ended(child: Child) -> Output {
    let pid = child.id();
    let (sender, receiver) = mpsc::channel();
    // What it says is read meanwhile: a process whose pipe is full does not end.
    thread::spawn(move || sender.send(child.wait_with_output()));
    receiver.recv_timeout(PATIENCE).map(Result::unwrap).unwrap_or_else(|_| {
        signal("KILL", pid);
        panic!("still running after {PATIENCE:?}");
    })
}

/// Returns as soon as `seen` is true.
///
/// # Panics
/// If it never is.
pub(crate) fn wait_for(what: &str, mut seen: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !seen() {
        assert!(begun.elapsed() < PATIENCE, "waited for {what} in vain");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal by its name.
pub(crate) fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap().success());
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
