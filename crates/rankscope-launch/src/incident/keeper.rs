//! `--ring`: whoever keeps an incident when something happens in a job that runs here.
//!
//! Each is kept and reported by a process of its own, `rankscope trigger RUN --last`, which may fail and harms nobody. What happens
//! while the last incident is still within the ring is part of that, and makes no other. Nodes that share no directory with the one that leads
//! wait for its call, keep their own ends, and send them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::nodes::{Nodes, Part};
use super::outpost;
use crate::directory::Directory;
use crate::error::Error;
use crate::executable::{Executable, last_said};
use crate::notice::{Notice, Observer};

/// Incidents of one run, at most: a job with more of them has one that lasts.
const INCIDENTS_MAX: usize = 8;

/// How long keeping and reporting one may take.
const KEPT_WITHIN: Duration = Duration::from_secs(120);

/// Somebody who keeps.
pub(crate) struct Incidents {
    asks: Sender<String>,
    thread: JoinHandle<()>,
}

/// By which others ask, each with the reason.
#[derive(Clone)]
pub(crate) struct Ask(Option<Sender<String>>);

impl Ask {
    /// Nobody listens.
    pub(crate) fn nobody() -> Self {
        Self(None)
    }

    /// Whether somebody listens.
    pub(crate) fn is_heard(&self) -> bool {
        self.0.is_some()
    }

    /// Has what was recorded until now kept.
    pub(crate) fn keep(&self, because: &str) {
        // Whoever is gone has no run to keep anything of.
        self.0.iter().for_each(|asks| drop(asks.send(because.to_owned())));
    }
}

impl Incidents {
    /// Keeps the last `ring` of the run in `directory` whenever somebody asks, if this process is the one that leads its job; if it is another
    /// one of `nodes`, has its end kept whenever that one says so.
    pub(crate) fn start(
        ring: Option<Duration>,
        directory: Option<&Directory>,
        nodes: Option<Nodes>,
        observer: &Arc<dyn Observer>,
    ) -> Option<Self> {
        let (ring, directory) = (ring?, directory?);
        if directory.manifest.is_none() {
            nodes.into_iter().for_each(|nodes| outpost::wait(nodes, directory.path(), observer));
            return None;
        }
        let (run, heard_by, (asks, asked)) = (directory.path().to_owned(), Arc::clone(observer), channel());
        let keep = move || Keeper { run, ring, nodes, observer: heard_by }.serve(&asked);
        match Builder::new().name("rankscope-incidents".to_owned()).spawn(keep) {
            Ok(thread) => Some(Self { asks, thread }),
            Err(error) => {
                observer.notice(&Notice::NoIncident(Error::NoProcess(error)));
                None
            }
        }
    }

    /// How to ask it.
    pub(crate) fn ask(&self) -> Ask {
        Ask(Some(self.asks.clone()))
    }

    /// The job is over: what was asked for is kept, and then no more. Others who can ask have to be gone.
    pub(crate) fn end(self) {
        drop(self.asks);
        // It says by itself what went wrong.
        let _ended = self.thread.join();
    }
}

struct Keeper {
    run: PathBuf,
    ring: Duration,
    nodes: Option<Nodes>,
    observer: Arc<dyn Observer>,
}

impl Keeper {
    fn serve(&self, asked: &Receiver<String>) {
        let (mut count, mut last): (usize, Option<Instant>) = (0, None);
        for because in asked {
            let is_part_of_last = last.is_some_and(|last| last.elapsed() < self.ring);
            if is_part_of_last || count == INCIDENTS_MAX {
                continue;
            }
            last = Some(Instant::now());
            count += 1;
            self.observer.notice(&match self.keep(&because) {
                Ok((folder, summary)) => Notice::Incident { because, folder, summary },
                Err(error) => Notice::NoIncident(error),
            });
        }
    }

    /// Where it lies, and the first thing that its report says.
    fn keep(&self, because: &str) -> Result<(PathBuf, String), Error> {
        let own = Executable::own()?;
        let Some(nodes) = &self.nodes else {
            return kept_by_process(&own, own.keep_last(&self.run, self.ring, because));
        };
        // The others first: they keep theirs while this node keeps its own.
        let call = nodes.call(&self.run, because, self.ring);
        let (folder, _) = kept_by_process(&own, own.keep_only(&self.run, self.ring, because))?;
        match call.and_then(|number| nodes.collect(number, &folder)) {
            Ok(parts) => parts.into_iter().filter(|part| part.lacks.is_some()).for_each(|part| {
                let Part { node, host, folder, lacks, .. } = part;
                self.observer.notice(&Notice::PartLacks { node, host, folder, why: lacks.unwrap_or_default() });
            }),
            Err(error) => self.observer.notice(&Notice::NoParts(error.to_string())),
        }
        kept_by_process(&own, own.report_incident(&folder))
    }
}

/// What a process of `own`, which is started by `words` and keeps or reports on an incident, says of it: where it lies, and its report's first
/// sentence.
pub(super) fn kept_by_process(own: &Executable, words: Vec<OsString>) -> Result<(PathBuf, String), Error> {
    let mut command = own.tied();
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(Error::NoProcess)?;
    let output = ended(child)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match document["incident"].as_str() {
        Some(folder) => Ok((folder.into(), document["summary"].as_str().unwrap_or_default().to_owned())),
        None => Err(Error::Report(last_said(&said).unwrap_or("its process failed").to_owned())),
    }
}

fn ended(child: Child) -> Result<std::process::Output, Error> {
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    let (done, waited) = channel::<()>();
    let watch = std::thread::spawn(move || {
        if waited.recv_timeout(KEPT_WITHIN) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let _gone = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
        }
    });
    let output = child.wait_with_output().map_err(Error::NoProcess);
    drop(done);
    let _ended = watch.join();
    output
}
