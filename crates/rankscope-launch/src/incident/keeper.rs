//! Whoever keeps an incident of a job that runs here: when something happens, with `--ring`, and when somebody asks by hand.
//!
//! Each is kept and reported by a process of its own, `rankscope trigger RUN --last`, which may fail and harms nobody. What happens
//! while the last incident is still within the ring is part of that, and makes no other, whichever node notices it. Nodes that share no directory
//! with the one that leads tell it what they notice, wait for its call, keep their own ends, and send them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Whose;
use super::ask::{Ask, Asked, Wanted};
use super::desk::Desk;
use super::messenger::{Messenger, Route, listen};
use super::nodes::{Nodes, Part};
use super::outpost;
use super::post::Answer;
use crate::directory::Directory;
use crate::error::Error;
use crate::executable::{Executable, last_said};
use crate::notice::{Notice, Observer};
use crate::signals::Signals;

/// Incidents of one run, at most: a job with more of them has one that lasts.
const INCIDENTS_MAX: usize = 8;

/// How long keeping and reporting one may take.
const KEPT_WITHIN: Duration = Duration::from_secs(120);

/// How long a node that does not lead may take after its part of the job, when something has just happened: as long as its end may be sent.
const SENT_WITHIN: Duration = Duration::from_secs(60);

/// Between two looks at whether that is done.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Somebody who keeps, or tells the one that does.
pub(crate) struct Incidents {
    ask: Ask,
    asks: Sender<Asked>,
    thread: JoinHandle<()>,
    /// Whether this node's own end is being kept and sent, because another one leads.
    sending: Arc<AtomicBool>,
    desk: Option<Desk>,
    /// How long the end of it may take; none says that by itself.
    end_within: Option<Duration>,
}

impl Incidents {
    /// Keeps the last `ring` of the run in `directory` whenever somebody asks, if this process is the one that leads its job. If it is another
    /// one, that is told; and if it is one of `nodes`, it has its own end kept whenever the one that leads says so. Without a ring nothing is
    /// kept but what is asked for by hand, which needs nobody here where there are no other nodes to be asked.
    pub(crate) fn start(
        ring: Option<Duration>,
        directory: Option<&Directory>,
        nodes: Option<Nodes>,
        observer: &Arc<dyn Observer>,
    ) -> Option<Self> {
        let directory = directory.filter(|_| ring.is_some() || nodes.is_some())?;
        let (run, leads, of_nodes) = (directory.path(), directory.manifest.is_some(), nodes.is_some());
        let (asks, asked) = channel();
        let whose = if leads { Whose::Run } else { Whose::Node };
        let mut sending = Arc::default();
        let heard_by = Arc::clone(observer);
        let builder = Builder::new().name("rankscope-incidents".to_owned());
        let started = if leads {
            nodes.iter().for_each(|nodes| listen(nodes.clone(), asks.clone()));
            let mut keeper = Keeper { run: run.to_owned(), ring, nodes, observer: heard_by, count: 0, last: None };
            builder.spawn(move || keeper.serve(&asked))
        } else {
            nodes.iter().for_each(|nodes| sending = outpost::wait(nodes.clone(), run, observer));
            let route = nodes.map_or(Route::Directory, Route::Store);
            let messenger = Messenger { route, run: run.to_owned(), ring, observer: heard_by };
            builder.spawn(move || messenger.serve(&asked))
        };
        match started {
            Ok(thread) => Some(Self {
                ask: if ring.is_some() { Ask::new(asks.clone(), of_nodes) } else { Ask::nobody() },
                desk: (leads || of_nodes).then(|| Desk::open(run, whose, of_nodes, asks.clone())).flatten(),
                asks,
                thread,
                sending,
                end_within: (!leads).then_some(SENT_WITHIN),
            }),
            Err(error) => {
                observer.notice(&Notice::NoIncident(Error::NoProcess(error)));
                None
            }
        }
    }

    /// How to ask it.
    pub(crate) fn ask(&self) -> Ask {
        self.ask.clone()
    }

    /// The job is over: what was asked for is kept, and then no more. Whoever asks this process to end meanwhile cuts that short.
    pub(crate) fn end(self, signals: &Signals) {
        drop(self.asks.send(Asked::Over));
        // Signals until now were for the job.
        signals.forget();
        let deadline = self.end_within.map(|within| Instant::now() + within);
        while !self.thread.is_finished() || self.sending.load(Ordering::Acquire) {
            let heard = signals.next(Some(Instant::now() + LOOK_EVERY));
            if heard.ends() || deadline.is_some_and(|deadline| deadline < Instant::now()) {
                break;
            }
        }
        self.desk.into_iter().for_each(Desk::close);
    }
}

/// What another node notices is nothing that is kept here.
const WITHOUT_A_RING: &str = "the first node keeps what is asked for by hand alone; start its `rankscope run` with --ring, too";

struct Keeper {
    run: PathBuf,
    ring: Option<Duration>,
    nodes: Option<Nodes>,
    observer: Arc<dyn Observer>,
    /// Incidents that nobody asked for by hand.
    count: usize,
    /// When the last of them was, and what came of it.
    last: Option<(Instant, Answer)>,
}

impl Keeper {
    fn serve(&mut self, asked: &Receiver<Asked>) {
        for asked in asked {
            let Asked::Keep(wanted) = asked else { return };
            match wanted.last {
                Some(last) => self.by_hand(last, &wanted),
                None => match self.ring {
                    Some(ring) => self.noticed(ring, &wanted),
                    None => self.tell(&wanted, &Answer::none(WITHOUT_A_RING)),
                },
            }
        }
    }

    /// Something happened, which may be part of what happened before.
    fn noticed(&mut self, ring: Duration, wanted: &Wanted) {
        if let Some((when, answer)) = &self.last {
            if when.elapsed() < ring {
                return self.tell(wanted, answer);
            }
            if self.count == INCIDENTS_MAX {
                return self
                    .tell(wanted, &Answer::none(format_args!("{INCIDENTS_MAX} incidents of this run were kept already")));
            }
        }
        let when = Instant::now();
        self.count += 1;
        let kept = self.keep(&wanted.because, ring);
        let answer = answer_of(&kept);
        // Who raised it has sent its part, and need not wait for the report.
        self.tell(wanted, &answer);
        self.last = Some((when, answer));
        self.report(&wanted.because, kept.map(|(folder, _)| folder));
    }

    /// Somebody wants the last `last`. Whoever sees the folder reports on it.
    fn by_hand(&self, last: Duration, wanted: &Wanted) {
        let kept = self.keep(&wanted.because, last);
        let mut answer = answer_of(&kept);
        if !wanted.answer.is_file() {
            answer.summary = self.report(&wanted.because, kept.map(|(folder, _)| folder));
        }
        self.tell(wanted, &answer);
    }

    /// Where the end of all nodes lies, and what is not in it.
    fn keep(&self, because: &str, last: Duration) -> Result<(PathBuf, Vec<String>), Error> {
        let own = Executable::own()?;
        // The others first: they keep theirs while this node keeps its own.
        let call = self.nodes.as_ref().map(|nodes| (nodes, nodes.call(&self.run, because, last)));
        let (folder, _) = kept_by_process(&own, own.keep_only(&self.run, last, because))?;
        let mut lacks = Vec::new();
        if let Some((nodes, call)) = call {
            let notices = match call.and_then(|number| nodes.collect(number, &folder)) {
                Ok(parts) => parts.into_iter().filter_map(lacking).collect(),
                Err(error) => vec![Notice::NoParts(error.to_string())],
            };
            notices.iter().for_each(|notice| self.observer.notice(notice));
            lacks = notices.iter().map(ToString::to_string).collect();
        }
        Ok((folder, lacks))
    }

    /// Reports on what was kept and tells of it; returns the first thing that the report says.
    fn report(&self, because: &str, kept: Result<PathBuf, Error>) -> Option<String> {
        let reported = kept.and_then(|folder| {
            let own = Executable::own()?;
            kept_by_process(&own, own.report_incident(&folder))
        });
        let (notice, said) = match reported {
            Ok((folder, summary)) => {
                let said = summary.clone();
                (Notice::Incident { because: because.to_owned(), folder, summary }, Some(said))
            }
            Err(error) => (Notice::NoIncident(error), None),
        };
        self.observer.notice(&notice);
        said
    }

    fn tell(&self, wanted: &Wanted, answer: &Answer) {
        // Who asked and is gone wants to know nothing.
        let _gone = wanted.answer.tell(self.nodes.as_ref(), answer);
    }
}

fn answer_of(kept: &Result<(PathBuf, Vec<String>), Error>) -> Answer {
    match kept {
        Ok((folder, lacks)) => Answer::kept(folder, lacks.clone()),
        Err(error) => Answer::none(error),
    }
}

fn lacking(part: Part) -> Option<Notice> {
    let Part { node, host, folder, lacks, .. } = part;
    Some(Notice::PartLacks { node, host, folder, why: lacks? })
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
