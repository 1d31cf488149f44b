//! Profiling all ranks of all nodes from one instant on, without a word in their programs: torch's processes ask the agent of their node
//! every few seconds, and each agent converts one instant of the reference clock to the wall clock there.
//!
//! Nobody waits for anybody in the job. A process that does not ask in time is not profiled, and named.

mod clocks;
mod files;
mod station;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use rankscope_on_demand::{Daemon, DaemonError, Options};
use rankscope_run::now_unix_ns;
use rankscope_witness::process;

use files::{Asked, NodeWord, REQUEST};
pub(crate) use files::{read as read_json, write as write_json};
use station::Station;

/// Processes ask every five seconds; who is to begin together has asked twice before.
const SHORTEST: Duration = Duration::from_secs(12);

/// Between two looks of an agent, and of who waits for it.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Why nobody is profiled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TogetherError {
    /// No agent can be asked.
    #[error("{run}: no agent of this run can be asked; start one on each node with `rankscope agent --on-demand`", run = .run.display())]
    NoAgent {
        /// The run directory.
        run: PathBuf,
    },
    /// There is not enough time for all processes to ask.
    #[error("processes ask every five seconds: give --in at least {} s", SHORTEST.as_secs())]
    TooSoon,
    /// The file system refuses something.
    #[error("{path}: {reason}", path = .path.display())]
    Io {
        /// Of which file.
        path: PathBuf,
        /// What it says.
        #[source]
        reason: io::Error,
    },
    /// The daemon cannot be had.
    #[error(transparent)]
    Daemon(#[from] DaemonError),
    /// Somebody asks to stop.
    #[error("stopped; what was asked for goes on")]
    Stopped,
}

/// What is to be profiled together.
#[derive(Clone, Debug)]
pub struct TogetherRequest {
    /// The run directory.
    pub run: PathBuf,
    /// How long from now.
    pub after: Duration,
    /// For how long.
    pub duration: Duration,
    /// Iterations instead.
    pub iterations: Option<u32>,
    /// These ranks; none takes all.
    pub ranks: Option<Vec<u32>>,
}

/// What came of it, of all nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfiledTogether {
    /// Ranks whose traces were collected.
    pub collected: Vec<u32>,
    /// Ranks that were asked and left none.
    pub missing: Vec<u32>,
    /// Ranks that have another profile waiting.
    pub busy: Vec<u32>,
    /// By node: what went wrong.
    pub problems: Vec<(u32, String)>,
    /// Nodes whose clocks are not known: they began by their own wall clocks.
    pub not_aligned: Vec<u32>,
}

/// Asks, and waits until all nodes are done or `stop` is set.
///
/// # Errors
/// [`TogetherError`].
pub fn profile_together(request: &TogetherRequest, stop: &AtomicBool) -> Result<ProfiledTogether, TogetherError> {
    if request.after < SHORTEST {
        return Err(TogetherError::TooSoon);
    }
    let folder = request.run.join(files::FOLDER);
    let nodes = files::agents(&folder);
    if nodes.is_empty() {
        return Err(TogetherError::NoAgent { run: request.run.clone() });
    }
    let own = ask(&folder, request)?;
    let deadline = Instant::now() + request.after + request.duration + GIVEN_UP_AFTER;
    loop {
        let words: Vec<NodeWord> = nodes.iter().filter_map(|node| files::read(&own.join(files::word_name(*node)))).collect();
        let all = words.len() == nodes.len() && words.iter().all(|word| word.is_over);
        if all || Instant::now() > deadline {
            return Ok(summed_up(&nodes, words));
        }
        if stop.load(Ordering::Relaxed) {
            return Err(TogetherError::Stopped);
        }
        sleep(LOOK_EVERY);
    }
}

/// Longer than a node waits for its processes.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(90);

/// A duration, as requests and answers have it.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Writes the request into a folder of its own.
fn ask(folder: &Path, request: &TogetherRequest) -> Result<PathBuf, TogetherError> {
    let asked = Asked {
        schema: 1,
        in_ms: milliseconds(request.after),
        duration_ms: milliseconds(request.duration),
        iterations: request.iterations,
        ranks: request.ranks.clone(),
    };
    let mut number = files::requests(folder).last().map_or(0, |(last, _)| last + 1);
    let own = loop {
        let own = folder.join(number.to_string());
        match fs::create_dir(&own) {
            Ok(()) => break own,
            // Somebody else asks, too.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(reason) => return Err(TogetherError::Io { path: own, reason }),
        }
    };
    let path = own.join(REQUEST);
    files::write(&path, &asked).map_err(|reason| TogetherError::Io { path, reason })?;
    Ok(own)
}

fn summed_up(nodes: &[u32], words: Vec<NodeWord>) -> ProfiledTogether {
    let mut sum = ProfiledTogether::default();
    for node in nodes.iter().filter(|node| words.iter().all(|word| word.node != **node)) {
        sum.problems.push((*node, "says nothing".to_owned()));
    }
    for word in words {
        sum.missing.extend(word.asked.iter().filter(|rank| !word.collected.contains(rank)));
        sum.collected.extend(word.collected);
        sum.busy.extend(word.busy);
        sum.problems.extend(word.problem.map(|problem| (word.node, problem)));
        sum.not_aligned.extend((!word.is_aligned).then_some(word.node));
    }
    for ranks in [&mut sum.collected, &mut sum.missing, &mut sum.busy, &mut sum.not_aligned] {
        ranks.sort_unstable();
    }
    sum
}

/// An agent's thread that can be asked, until it is dropped.
pub(crate) struct OnCall {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl OnCall {
    /// The processes of this host may ask from now on; `node` leads if it is the first.
    pub(crate) fn start(run: &Path, node: u32) -> Result<Self, TogetherError> {
        let run = std::path::absolute(run).map_err(|reason| TogetherError::Io { path: run.to_owned(), reason })?;
        let daemon = Daemon::start(Options::usual(run.clone()))?;
        let station = Station::open(daemon, &run, node, node == 0, rank_of);
        let mut station = station.map_err(|reason| TogetherError::Io { path: run, reason })?;
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let work = move || {
            while !told.load(Ordering::Relaxed) {
                now_unix_ns().into_iter().for_each(|now_ns| station.look(now_ns));
                sleep(LOOK_EVERY);
            }
            station.close();
        };
        let thread = Builder::new().name("rankscope-on-call".to_owned()).spawn(work);
        Ok(Self { over, thread: Some(thread.map_err(DaemonError::Thread)?) })
    }
}

impl Drop for OnCall {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // A thread that failed has nothing left to say.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

fn rank_of(pid: i32) -> Option<u32> {
    process::rank_of(u32::try_from(pid).ok()?)
}
