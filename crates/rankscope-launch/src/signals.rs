//! Signals as a queue: those to pass on, and the end of a process.
//!
//! A terminal sends a signal to every process in its foreground, the job's among them; such a signal is not passed on again to a
//! job that shares our group. What somebody sends to this process alone is.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use signal_hook::consts::signal::{
    SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH, SIGXFSZ,
};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::siginfo::Cause;

use crate::error::Error;

/// What was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// A process may have ended.
    Child,
    /// A signal, and whether the terminal sent it to the whole foreground.
    Signal { number: i32, to_all: bool },
    /// A thread of ours is done.
    Done,
    /// Nothing until the deadline.
    Nothing,
}

pub(crate) struct Signals {
    queue: Receiver<Heard>,
    sender: Sender<Heard>,
    /// The first signal that asked this process to end, since it listens.
    asked_to_end: Cell<Option<i32>>,
}

const PASSED_ON: [i32; 7] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH];

impl Signals {
    /// Listens from now on. `apart` says that the job is in groups of its own, which a terminal neither stops nor continues.
    pub(crate) fn listen(apart: bool) -> Result<Self, Error> {
        let ignored = ignored();
        // What was ignored when we came, as under nohup, has to be ignored by the job, too; whoever listens changes that.
        let heeded = PASSED_ON.into_iter().filter(|signal| !ignored.contains(signal));
        let stops = [SIGTSTP, SIGCONT].into_iter().filter(|_| apart);
        let mut info: SignalsInfo<WithOrigin> =
            SignalsInfo::new(heeded.chain(stops).chain([SIGCHLD])).map_err(Error::Signals)?;
        let (sender, queue) = channel();
        let heard_by = sender.clone();
        std::thread::Builder::new()
            .name("rankscope-signals".to_owned())
            .spawn(move || {
                for origin in &mut info {
                    let heard = match origin.signal {
                        SIGCHLD => Heard::Child,
                        number => Heard::Signal { number, to_all: matches!(origin.cause, Cause::Kernel) },
                    };
                    if heard_by.send(heard).is_err() {
                        break;
                    }
                }
            })
            .map_err(Error::Signals)?;
        Ok(Self { queue, sender, asked_to_end: Cell::new(None) })
    }

    /// What is heard next, or nothing until `deadline`.
    pub(crate) fn next(&self, deadline: Option<Instant>) -> Heard {
        let patience = deadline.map_or(FOREVER, |deadline| deadline.saturating_duration_since(Instant::now()));
        self.noted(self.queue.recv_timeout(patience).unwrap_or(Heard::Nothing))
    }

    /// Where a thread of ours says that it is done.
    pub(crate) fn sender(&self) -> Sender<Heard> {
        self.sender.clone()
    }

    /// Forgets what was heard until now.
    pub(crate) fn forget(&self) {
        for heard in self.queue.try_iter() {
            self.noted(heard);
        }
    }

    /// The first signal that asked this process to end, since it listens, whoever heard it. What else was heard until now is forgotten.
    pub(crate) fn asked_to_end(&self) -> Option<i32> {
        self.forget();
        self.asked_to_end.get()
    }

    fn noted(&self, heard: Heard) -> Heard {
        if let Heard::Signal { number, .. } = heard
            && heard.ends()
            && self.asked_to_end.get().is_none()
        {
            self.asked_to_end.set(Some(number));
        }
        heard
    }
}

/// From now on a file that grows over its limit (`ulimit -f`) is an error of the call that writes, and not the end of this
/// process. Processes that it starts are ended by it as ever: a handler does not outlive `exec`.
pub fn outlive_file_limit() {
    if !ignored().contains(&SIGXFSZ) {
        // Without it all goes as it would have without us.
        let _unheard = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    }
}

/// A switch that SIGINT and SIGTERM turn on from now on.
pub(crate) fn stop_switch() -> Result<Arc<AtomicBool>, Error> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stop.clone()).map_err(Error::Signals)?;
    }
    Ok(stop)
}

impl Heard {
    /// Whether somebody asks this process to end.
    pub(crate) fn ends(self) -> bool {
        matches!(self, Self::Signal { number: SIGINT | SIGTERM | SIGHUP | SIGQUIT, .. })
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
