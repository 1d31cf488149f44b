//! What a process that does not lead its job notices, on its way to the one that does.
//!
//! Through the store of the agents, where they may speak there; else through the run directory, if that is shared. Each thing is told once and
//! its answer is waited for, by a thread that the job knows nothing of. Where the one that leads is out of reach, this node keeps its own end.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::thread::Builder;
use std::time::Duration;

use rankscope_run::now_unix_ns;

use super::ask::{Answering, Asked, Wanted};
use super::desk::{self, Request};
use super::hearing::{hear, is_heard};
use super::keeper::kept_by_process;
use super::nodes::Nodes;
use super::post::{Answer, PostError, Raised, is_stale, keys, say, understood};
use crate::directory;
use crate::executable::Executable;
use crate::notice::{Notice, Observer};
use crate::together::milliseconds;

/// Where the one that leads is reached.
pub(super) enum Route {
    Store(Nodes),
    Directory,
}

/// Whoever tells it.
pub(super) struct Messenger {
    pub(super) route: Route,
    /// The run directory, and how much of it is kept of what is noticed.
    pub(super) run: PathBuf,
    pub(super) ring: Option<Duration>,
    pub(super) observer: Arc<dyn Observer>,
}

/// What one process notices, at most: the one that leads keeps no more than eight.
const RAISED_MAX: usize = 16;

/// How long the one that leads may take to keep all ends, one incident after another.
const ANSWERED_WITHIN: Duration = Duration::from_secs(300);

impl Messenger {
    pub(super) fn serve(&self, asked: &Receiver<Asked>) {
        let mut raised = 0;
        for asked in asked {
            let Asked::Keep(wanted) = asked else { return };
            if wanted.last.is_none() {
                raised += 1;
                if raised > RAISED_MAX {
                    continue;
                }
            }
            let answer = self.raise(&wanted).unwrap_or_else(Answer::none);
            if wanted.last.is_none() {
                self.observer.notice(&told_of(&wanted.because, &answer));
                if let (None, Some(ring)) = (&answer.folder, self.ring) {
                    self.keep_own(&wanted.because, ring);
                }
            }
            // Who asked here does not see the folder.
            let _gone = wanted.answer.tell(None, &Answer { is_elsewhere: true, ..answer });
        }
    }

    /// The end of this node is better than nothing.
    fn keep_own(&self, because: &str, ring: Duration) {
        let kept = Executable::own().and_then(|own| kept_by_process(&own, own.keep_of_node(&self.run, ring, because)));
        self.observer.notice(&match kept {
            Ok((folder, _)) => Notice::KeptHere { because: because.to_owned(), folder },
            Err(error) => Notice::NoIncident(error),
        });
    }

    fn raise(&self, wanted: &Wanted) -> Result<Answer, String> {
        let last_ms = wanted.last.map(milliseconds);
        match &self.route {
            Route::Store(nodes) => match raise(nodes, wanted.because.clone(), last_ms) {
                Ok(answer) => answer.ok_or_else(|| UNHEARD.to_owned()),
                Err(PostError::Store(error)) => Err(format!("the first node cannot be told: {error}")),
                Err(error) => Err(error.to_string()),
            },
            Route::Directory => {
                let request = Request { because: wanted.because.clone(), last_ms };
                desk::ask(&self.run, &request, ANSWERED_WITHIN).map_err(|error| match error {
                    desk::NoAnswer::NobodyLooks => WITHOUT_A_KEY.to_owned(),
                    error => error.to_string(),
                })
            }
        }
    }
}

const UNHEARD: &str =
    "nobody listens on the first node; its `rankscope run` has to be of the same version, and to measure clocks";
const WITHOUT_A_KEY: &str = "the first node cannot be told. Nodes that share no directory need the same RANKSCOPE_KEY, clocks that are measured, \
     and --ring on each";

/// Raises it through the store, and waits for what comes of it; nothing where nobody listens.
fn raise(nodes: &Nodes, because: String, last_ms: Option<u64>) -> Result<Option<Answer>, PostError> {
    let mut store = nodes.store()?;
    if !is_heard(&mut *store, keys::RAISED)? {
        return Ok(None);
    }
    let (node, host, raised_unix_ns) = (nodes.node, directory::host(), now_unix_ns().unwrap_or(0));
    let number = store.add(keys::RAISED, 1)?;
    say(&mut *store, &keys::raised(number), &Raised { because, node, host, last_ms, raised_unix_ns })?;
    let key = keys::answer(number);
    let text = store.wait(&key, ANSWERED_WITHIN)?;
    // It is read once.
    store.set(&key, "")?;
    understood(&text).map(Some)
}

fn told_of(because: &str, answer: &Answer) -> Notice {
    let because = because.to_owned();
    match (&answer.folder, &answer.problem) {
        (Some(folder), None) => Notice::KeptThere { because, host: answer.host.clone(), folder: folder.clone() },
        (_, why) => Notice::NotKeptThere { because, why: why.clone().unwrap_or_default() },
    }
}

/// Passes on to `asks` what other `nodes` raise, from now on, until this process ends or nobody listens.
pub(super) fn listen(nodes: Nodes, asks: Sender<Asked>) {
    let work = move || {
        hear(&nodes, keys::RAISED, keys::raised, |store, number, text| {
            let Ok(raised) = understood::<Raised>(text) else { return ControlFlow::Continue(()) };
            if is_stale(raised.raised_unix_ns) {
                let late = Answer::none("it was raised before this node could hear of it");
                let _gone = say(store, &keys::answer(number), &late);
                return ControlFlow::Continue(());
            }
            let because = format!("{}, on node {} ({})", raised.because, raised.node, raised.host);
            let last = raised.last_ms.map(Duration::from_millis);
            match asks.send(Asked::Keep(Wanted { because, last, answer: Answering::Store(number) })) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
    };
    // Without a thread other nodes wait in vain, and say so.
    let _started = Builder::new().name("rankscope-raised".to_owned()).spawn(work);
}
