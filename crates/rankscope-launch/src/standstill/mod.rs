//! `--on-hang`: a job that makes no progress is looked into while its processes are still there.
//!
//! What is looked at is in `signs`; when it has been the same for too long is decided in `patience`. The evidence is gathered by a process
//! of its own, `rankscope hang`, which may fail or hang and harms nobody. The job is left as it is: whoever ends it does so after.

mod patience;
mod signs;

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use rankscope_run::{SideFile, read_side_text};
use rankscope_witness::tree;

use crate::error::Error;
use crate::executable::Executable;
use crate::incident::Ask;
use crate::name;
use crate::notice::{Notice, Observer};
use crate::ras_service::Service;
use patience::Patience;
use signs::Signs;

/// What is watched.
pub(crate) struct Watched {
    /// How long nothing may happen.
    pub(crate) after: Duration,
    /// The run directory.
    pub(crate) run: PathBuf,
    /// Processes of ranks, or the command that starts them.
    pub(crate) processes: Vec<(Option<u32>, u32)>,
    /// Bytes that ranks have printed; none where they print past this process.
    pub(crate) printed: Option<Arc<AtomicU64>>,
    /// Who keeps what came before.
    pub(crate) ask: Ask,
}

/// Somebody who watches.
pub(crate) struct Watch {
    over: Sender<()>,
    thread: JoinHandle<()>,
}

/// Verdicts of one run, at most: a job that stops and goes on all the time is slow and does not hang.
const VERDICTS_MAX: usize = 8;

/// How long gathering and judging may take.
const JUDGED_WITHIN: Duration = Duration::from_secs(120);

impl Watch {
    /// Watches from now on.
    pub(crate) fn start(watched: Watched, observer: &Arc<dyn Observer>) -> Option<Self> {
        let (over, told) = channel();
        let heard = Arc::clone(observer);
        let watch = move || watch(&watched, &told, &*heard);
        match Builder::new().name("rankscope-watch".to_owned()).spawn(watch) {
            Ok(thread) => Some(Self { over, thread }),
            Err(error) => {
                observer.notice(&Notice::NotWatched(error.to_string()));
                None
            }
        }
    }

    /// The job is over.
    pub(crate) fn end(self) {
        drop(self.over);
        // It says by itself what went wrong.
        let _ended = self.thread.join();
    }
}

fn watch(watched: &Watched, over: &Receiver<()>, observer: &dyn Observer) {
    let mut patience = Patience::new(watched.after, Instant::now());
    let mut verdicts = 0;
    while over.recv_timeout(patience.look_every()) == Err(RecvTimeoutError::Timeout) {
        let signs = Signs::now(&watched.run.join("raw"), watched.printed.as_deref());
        if !patience.is_over(signs, Instant::now()) {
            continue;
        }
        watched.ask.keep("the job stands still");
        observer.notice(&match judged(watched, over) {
            Ok(Some((folder, summary))) => Notice::StandsStill { after: watched.after, summary, folder },
            Ok(None) => return,
            Err(error) => Notice::NotJudged { after: watched.after, reason: error },
        });
        verdicts += 1;
        if verdicts == VERDICTS_MAX {
            break;
        }
    }
}

/// Gathers and judges; returns where the evidence is and what it says. Nothing, where the job ends meanwhile.
fn judged(watched: &Watched, over: &Receiver<()>) -> Result<Option<(PathBuf, String)>, Error> {
    let folder = watched.run.join("hang").join(name::stamp_now());
    fs::create_dir_all(&folder).map_err(Error::of(folder.clone()))?;
    let log = folder.join("hang.log");
    let said = File::create(&log).map_err(Error::of(log.clone()))?;
    let own = Executable::own()?;
    let mut asked = own.tied();
    asked.args(own.hang(&words(watched, &folder))).stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
    let mut child = asked.spawn().map_err(Error::NoProcess)?;
    let deadline = Instant::now() + JUDGED_WITHIN;
    while matches!(child.try_wait(), Ok(None)) {
        let is_over = over.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected);
        if is_over || Instant::now() > deadline {
            let _gone = child.kill();
            let _reaped = child.wait();
            break;
        }
        sleep(LOOK_EVERY);
    }
    let Ok(verdict) = read_side_text(&folder.join("verdict.json"), SideFile::Record) else {
        if over.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected) {
            return Ok(None);
        }
        return Err(Error::NoVerdict { log });
    };
    let document: serde_json::Value = serde_json::from_str(&verdict).unwrap_or_default();
    let summary = document["verdict"]["summary"].as_str().unwrap_or("no verdict").to_owned();
    Ok(Some((folder, summary)))
}

/// Between looks at whether the judge is done.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The words of a process that gathers and judges.
fn words(watched: &Watched, folder: &Path) -> Vec<OsString> {
    // Paths first: what follows numbers of processes is taken for one more.
    let mut words: Vec<OsString> = dumps().into_iter().map(Into::into).collect();
    // Ranks tell of themselves there, unless their programs do not know how to.
    if watched.run.join("live").is_dir() {
        words.push(watched.run.clone().into());
    }
    words.extend(["--keep".into(), folder.into()]);
    for (rank, pid) in ranks(&watched.processes) {
        words.push("--pids".into());
        words.push(rank.map_or_else(|| pid.to_string(), |rank| format!("{rank}={pid}")).into());
    }
    if let Some(service) = Service::of_environment().filter(Service::answers) {
        words.push(format!("--ras={}", service.address()).into());
    }
    words
}

/// The processes that do the work of ranks.
fn ranks(processes: &[(Option<u32>, u32)]) -> Vec<(Option<u32>, u32)> {
    let of = |(rank, pid): &(Option<u32>, u32)| match rank {
        Some(rank) => vec![(Some(*rank), tree::program_of(*pid))],
        None => {
            let below: Vec<_> = tree::ranks_below(*pid).into_iter().map(|(rank, pid)| (Some(rank), pid)).collect();
            if below.is_empty() { vec![(None, tree::program_of(*pid))] } else { below }
        }
    };
    processes.iter().flat_map(of).collect()
}

/// What torch's flight recorders have dumped by themselves, if somebody said where.
fn dumps() -> Vec<PathBuf> {
    let prefix = ["TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"].into_iter().find_map(std::env::var_os);
    let Some(prefix) = prefix.map(PathBuf::from) else { return Vec::new() };
    let (Some(folder), Some(stem)) = (prefix.parent(), prefix.file_name()) else { return Vec::new() };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_dump = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let rest = name.strip_prefix(&*stem.to_string_lossy()).map(str::to_owned);
        path.is_file() && rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut dumps: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_dump).collect();
    dumps.sort();
    dumps
}
