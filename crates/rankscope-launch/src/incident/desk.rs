//! The files by which whoever sees a run directory, and no more, has the last moments of all nodes kept: `rankscope trigger --last`, and processes
//! of `rankscope run` that share the directory with the one that keeps.
//!
//! ```text
//! .rankscope-ring/desk.json          somebody looks here
//!                 ask-<id>.json      what is to be kept
//!                 taken-<id>.json    the same, once it is being seen to
//!                 answer-<id>.json   what came of it
//! ```
//!
//! Each appears whole. A request is seen to or taken back by whoever gives its file another name first: nothing is kept twice, and nobody waits
//! for a process that is gone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use rankscope_run::{RunDirectory, now_unix_ns};
use serde::{Deserialize, Serialize};

use super::Whose;
use super::ask::{Answering, Asked, Wanted};
use super::post::Answer;
use crate::together::{read_json, write_json};

/// In a run directory. What begins so is no trace and goes with the run.
const FOLDER: &str = ".rankscope-ring";

/// Somebody looks here.
const DESK: &str = "desk.json";

/// Between looks at whether somebody asks: the folder may be another host's.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Between looks of who asks.
const LOOK_FOR_ANSWER_EVERY: Duration = Duration::from_millis(50);

/// How long a request may lie there: some looks, and what a shared disk takes until others see a file.
const TAKEN_WITHIN: Duration = Duration::from_secs(10);

/// How long answers are left for who asked when the job is over.
const READ_WITHIN: Duration = Duration::from_secs(2);

/// Who looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct About {
    schema: u32,
    /// Whether nodes that share no directory are asked as well.
    pub(super) asks_nodes: bool,
}

/// What is to be kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) because: String,
    /// By hand: so much.
    pub(super) last_ms: Option<u64>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    #[error("no `rankscope run` of this run looks for requests")]
    NobodyLooks,
    #[error("the process of `rankscope run` did not take the request in {} s", TAKEN_WITHIN.as_secs())]
    NotTaken,
    #[error("the process of `rankscope run` did not say what it kept in {} s", .0.as_secs())]
    TooLate(Duration),
    #[error("the job ended")]
    Over,
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Who looks at `run`; none where nobody does.
pub(super) fn who_looks(run: &Path) -> Option<About> {
    read_json(&run.join(FOLDER).join(DESK))
}

/// Asks whoever looks at `run`, and waits for what came of it.
pub(super) fn ask(run: &Path, request: &Request, within: Duration) -> Result<Answer, NoAnswer> {
    who_looks(run).ok_or(NoAnswer::NobodyLooks)?;
    let folder = run.join(FOLDER);
    let id = format!("{}-{}", now_unix_ns().unwrap_or(0), std::process::id());
    let file = |what: &str| folder.join(format!("{what}-{id}.json"));
    write_json(&file("ask"), request)?;
    let begun = Instant::now();
    loop {
        if let Some(answer) = read_json(&file("answer")) {
            let _gone = fs::remove_file(file("answer"));
            return Ok(answer);
        }
        if begun.elapsed() > TAKEN_WITHIN && fs::rename(file("ask"), file("back")).is_ok() {
            let _gone = fs::remove_file(file("back"));
            return Err(NoAnswer::NotTaken);
        }
        if begun.elapsed() > within {
            return Err(NoAnswer::TooLate(within));
        }
        if !folder.is_dir() {
            return Err(NoAnswer::Over);
        }
        sleep(LOOK_FOR_ANSWER_EVERY);
    }
}

/// Somebody who looks.
pub(super) struct Desk {
    over: Sender<()>,
    thread: JoinHandle<()>,
}

impl Desk {
    /// Looks at `run` from now on, which is that of `whose`, and passes on what is asked.
    pub(super) fn open(run: &Path, whose: Whose, asks_nodes: bool, asks: Sender<Asked>) -> Option<Self> {
        let (over, told) = channel::<()>();
        let clerk = Clerk { run: run.to_owned(), whose, asks_nodes, asks };
        let work = move || {
            while {
                // A disk that is full or gone costs the look.
                let _next = clerk.look();
                told.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout)
            } {}
            clerk.leave();
        };
        let thread = Builder::new().name("rankscope-ring-desk".to_owned()).spawn(work).ok()?;
        Some(Self { over, thread })
    }

    /// The job is over, and what was asked for is answered.
    pub(super) fn close(self) {
        drop(self.over);
        let _ended = self.thread.join();
    }
}

struct Clerk {
    run: PathBuf,
    whose: Whose,
    asks_nodes: bool,
    asks: Sender<Asked>,
}

impl Clerk {
    /// Whether it is another's to look here: a node that does not lead shares the directory with the one that does.
    fn is_anothers(&self) -> bool {
        self.whose == Whose::Node && RunDirectory::is_run(&self.run)
    }

    fn look(&self) -> io::Result<()> {
        if self.is_anothers() {
            return Ok(());
        }
        let folder = self.run.join(FOLDER);
        if !folder.join(DESK).is_file() {
            // A run that somebody took away is not begun again.
            fs::create_dir(&folder).or_else(|error| if folder.is_dir() { Ok(()) } else { Err(error) })?;
            write_json(&folder.join(DESK), &About { schema: 1, asks_nodes: self.asks_nodes })?;
        }
        for entry in fs::read_dir(&folder)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(id) = name.strip_prefix("ask-").filter(|id| id.ends_with(".json")) else { continue };
            let taken = folder.join(format!("taken-{id}"));
            // Who asked may have taken it back.
            if fs::rename(entry.path(), &taken).is_ok() {
                self.pass_on(&taken, folder.join(format!("answer-{id}")))?;
                fs::remove_file(&taken)?;
            }
        }
        Ok(())
    }

    fn pass_on(&self, taken: &Path, answer: PathBuf) -> io::Result<()> {
        let Some(Request { because, last_ms }) = read_json(taken) else {
            return write_json(&answer, &Answer::none("the request is of another version of rankscope"));
        };
        let wanted = Wanted { because, last: last_ms.map(Duration::from_millis), answer: Answering::File(answer) };
        self.asks.send(Asked::Keep(wanted)).map_err(io::Error::other)
    }

    fn leave(&self) {
        let folder = self.run.join(FOLDER);
        if self.is_anothers() || !folder.is_dir() {
            return;
        }
        // First, so that nobody asks any more.
        let _gone = fs::remove_file(folder.join(DESK));
        let begun = Instant::now();
        let is_unread = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with("answer-");
        while begun.elapsed() < READ_WITHIN && fs::read_dir(&folder).is_ok_and(|entries| entries.flatten().any(is_unread)) {
            sleep(LOOK_FOR_ANSWER_EVERY);
        }
        let _gone = fs::remove_dir_all(&folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn request(last_ms: Option<u64>) -> Request {
        Request { because: "asked for".to_owned(), last_ms }
    }

    #[test]
    fn what_is_asked_for_is_answered_and_nothing_is_left() {
        let run = tempfile::tempdir().unwrap();
        let (asks, asked) = channel();
        let desk = Desk::open(run.path(), Whose::Run, true, asks).unwrap();
        while who_looks(run.path()).is_none() {
            sleep(Duration::from_millis(1));
        }
        let path = run.path().to_owned();
        let asking = std::thread::spawn(move || ask(&path, &request(Some(1_500)), PATIENCE).unwrap());
        let Ok(Asked::Keep(wanted)) = asked.recv() else { panic!("the desk is open") };
        assert_eq!((wanted.because.as_str(), wanted.last), ("asked for", Some(Duration::from_millis(1_500))));
        let answer = Answer::kept("incidents/1".as_ref(), vec!["node 2".to_owned()]);
        wanted.answer.tell(None, &answer).unwrap();
        assert_eq!(asking.join().unwrap(), answer);
        desk.close();
        assert_eq!(fs::read_dir(run.path()).unwrap().count(), 0);
        assert!(matches!(ask(run.path(), &request(None), PATIENCE), Err(NoAnswer::NobodyLooks)));
    }

    #[test]
    fn nobody_waits_longer_than_told() {
        let run = tempfile::tempdir().unwrap();
        fs::create_dir(run.path().join(FOLDER)).unwrap();
        write_json(&run.path().join(FOLDER).join(DESK), &About { schema: 1, asks_nodes: true }).unwrap();
        assert!(matches!(ask(run.path(), &request(None), Duration::ZERO), Err(NoAnswer::TooLate(_))));
    }

    #[test]
    fn in_a_directory_that_is_shared_the_one_that_leads_looks() {
        let run = tempfile::tempdir().unwrap();
        fs::write(run.path().join("run.json"), "{}").unwrap();
        let clerk = Clerk { run: run.path().to_owned(), whose: Whose::Node, asks_nodes: true, asks: channel().0 };
        clerk.look().unwrap();
        assert_eq!(who_looks(run.path()), None);
        let leads = Clerk { whose: Whose::Run, asks_nodes: false, ..clerk };
        leads.look().unwrap();
        assert_eq!(who_looks(run.path()).map(|about| about.asks_nodes), Some(false));
        Clerk { whose: Whose::Node, ..leads }.leave();
        assert!(who_looks(run.path()).is_some(), "nor does another take it away");
    }

    #[test]
    fn a_request_that_is_not_understood_is_answered() {
        let run = tempfile::tempdir().unwrap();
        let clerk = Clerk { run: run.path().to_owned(), whose: Whose::Run, asks_nodes: true, asks: channel().0 };
        clerk.look().unwrap();
        let folder = run.path().join(FOLDER);
        fs::write(folder.join("ask-1.json"), "[]").unwrap();
        clerk.look().unwrap();
        let answer: Answer = read_json(&folder.join("answer-1.json")).unwrap();
        assert!(answer.problem.is_some_and(|problem| problem.contains("another version")));
        assert!(!folder.join("ask-1.json").exists() && !folder.join("taken-1.json").exists());
    }
}
