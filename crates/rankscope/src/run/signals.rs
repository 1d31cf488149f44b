//! Signals as a queue: those to pass on, and the end of a process.
//!
//! A terminal sends a signal to every process in its foreground, the job's among them; such a signal is not passed on again to a
//! job that shares our group. What somebody sends to this process alone is.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use signal_hook::consts::signal::{SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::siginfo::Cause;

/// What was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// A process may have ended.
    Child,
    /// A signal, and whether the terminal sent it to the whole foreground.
    Signal { number: i32, to_all: bool },
    /// Nothing until the deadline.
    Nothing,
}

pub(super) struct Signals {
    queue: Receiver<Heard>,
}

const PASSED_ON: [i32; 7] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH];

impl Signals {
    /// Listens from now on. `apart` says that the job is in groups of its own, which a terminal neither stops nor continues.
    pub(super) fn listen(apart: bool) -> Result<Self> {
        let ignored = ignored();
        // What was ignored when we came, as under nohup, has to be ignored by the job, too; whoever listens changes that.
        let heeded = PASSED_ON.into_iter().filter(|signal| !ignored.contains(signal));
        let stops = [SIGTSTP, SIGCONT].into_iter().filter(|_| apart);
        let mut info: SignalsInfo<WithOrigin> =
            SignalsInfo::new(heeded.chain(stops).chain([SIGCHLD])).context("failed to listen for signals")?;
        let (sender, queue) = channel();
        std::thread::Builder::new()
            .name("rankscope-signals".to_owned())
            .spawn(move || {
                for origin in &mut info {
                    let heard = match origin.signal {
                        SIGCHLD => Heard::Child,
                        number => Heard::Signal { number, to_all: matches!(origin.cause, Cause::Kernel) },
                    };
                    if sender.send(heard).is_err() {
                        break;
                    }
                }
            })
            .context("failed to listen for signals")?;
        Ok(Self { queue })
    }

    /// What is heard next, or nothing until `deadline`.
    pub(super) fn next(&self, deadline: Option<Instant>) -> Heard {
        let patience = deadline.map_or(FOREVER, |deadline| deadline.saturating_duration_since(Instant::now()));
        match self.queue.recv_timeout(patience) {
            Ok(heard) => heard,
            Err(RecvTimeoutError::Timeout) => Heard::Nothing,
            Err(RecvTimeoutError::Disconnected) => {
                // Without its thread there is only looking now and then.
                std::thread::sleep(patience.min(Duration::from_millis(50)));
                Heard::Child
            }
        }
    }

    /// Whether somebody asked this process to end since the queue was looked at.
    pub(super) fn asked_to_end(&self) -> bool {
        let ends = |heard| matches!(heard, Heard::Signal { number: SIGINT | SIGTERM | SIGHUP | SIGQUIT, .. });
        self.queue.try_iter().any(ends)
    }
}

/// As good as no deadline.
const FOREVER: Duration = Duration::from_secs(3_600);

/// Signals that this process ignores, as the kernel tells it.
fn ignored() -> BTreeSet<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok()).unwrap_or(0);
    (1..=64).filter(|signal| mask >> (signal - 1) & 1 == 1).collect()
}
