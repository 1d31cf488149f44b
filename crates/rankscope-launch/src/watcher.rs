//! `run --watch`: `rankscope watch` beside the job, of which each alarm becomes a notice.
//!
//! It is a process of its own, as agents are: it reads the live pages of ranks and writes alarms.jsonl, the job knows nothing of it, and it ends
//! with the job, or with us however we end. One node watches for all, because pages lie in the run directory.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::signal::kill;
use nix::unistd::Pid;
use rankscope_run::last_lines;

use crate::asked::ask_to_end;
use crate::directory::Directory;
use crate::error::Error;
use crate::executable::Executable;
use crate::incident::Ask;
use crate::notice::{Notice, Observer};

/// How a job is watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watching {
    /// What the shell runs for each alarm.
    pub exec: Option<String>,
    /// Where figures of it are pushed to: a collector of OpenTelemetry.
    pub metrics_otlp: Option<String>,
}

/// Somebody who watches.
pub(crate) struct Watcher {
    child: Child,
    lines: JoinHandle<()>,
}

/// How long the watcher may take to end once it was asked to.
const STOP_WITHIN: Duration = Duration::from_secs(3);

impl Watcher {
    /// Watches the job in `directory` from now on, if this node is the one that does; if that cannot be, says so in one line.
    /// Each alarm that begins has what came before kept by `ask`.
    pub(crate) fn start(watching: &Watching, directory: &Directory, observer: &Arc<dyn Observer>, ask: Ask) -> Option<Self> {
        if !directory.leads() {
            return None;
        }
        let heard = Arc::clone(observer);
        match try_start(watching, directory, heard, ask) {
            Ok(watcher) => Some(watcher),
            Err(error) => {
                observer.notice(&Notice::NotWatched(error.to_string()));
                None
            }
        }
    }

    /// Ends it: the job is over.
    pub(crate) fn end(mut self) {
        let process = Pid::from_raw(self.child.id().cast_signed());
        // What it runs for an alarm is not cut short.
        ask_to_end(&mut self.child, STOP_WITHIN, |signal| {
            let _gone = kill(process, signal);
        });
        // It ends with the pipe of the process.
        let _ended = self.lines.join();
    }
}

fn try_start(watching: &Watching, directory: &Directory, observer: Arc<dyn Observer>, ask: Ask) -> Result<Watcher, Error> {
    let own = Executable::own()?;
    let mut command = own.tied();
    // A group of its own, which no signal of the terminal reaches: it shall see the job's end.
    command.args(own.watch(directory.path(), watching)).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().map_err(Error::NoProcess)?;
    let said = child.stdout.take();
    let log = directory.path().join("alarms.jsonl");
    let hear = move || {
        let lines = said.into_iter().flat_map(|said| BufReader::new(said).lines().map_while(Result::ok));
        lines.for_each(|line| {
            if ask.is_heard() && has_begun(&log) {
                ask.keep(&line);
            }
            observer.notice(&Notice::Alarm(line));
        });
    };
    match thread::Builder::new().name("rankscope-alarms".to_owned()).spawn(hear) {
        Ok(lines) => Ok(Watcher { child, lines }),
        Err(error) => {
            let _killed = child.kill();
            let _reaped = child.wait();
            Err(Error::NoProcess(error))
        }
    }
}

/// More than an alarm takes in its log.
const ALARM_BYTES_MAX: u64 = 1 << 16;

/// Whether the last alarm that was written down begins, rather than ends. It is written before it is said.
fn has_begun(log: &Path) -> bool {
    let lines = last_lines(log, ALARM_BYTES_MAX).unwrap_or_default();
    let last = lines.trim_ascii_end().rsplit(|byte| *byte == b'\n').next();
    let last: Option<serde_json::Value> = last.and_then(|line| serde_json::from_slice(line).ok());
    last.is_some_and(|alarm| alarm["cleared_ns"].is_null())
}
