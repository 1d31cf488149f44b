//! An incident: the last moments of a run that goes on, kept as a run directory of its own in `incidents/` of the run.
//!
//! Nobody in the job is asked for anything: recordings are files that are read while ranks write them, whether these keep all or only
//! the end (`--ring`). What is kept has the run's clocks, so it is aligned and reported as any run. Traces of other profilers are left
//! out: they are written when their profilers say so, and not while something happens.

mod ask;
mod by_hand;
mod desk;
mod hearing;
mod keeper;
mod messenger;
mod nodes;
mod outpost;
mod pieces;
mod post;

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rankscope_run::{KeptLast, RunDirectory, keep_last};
use serde::Serialize;

use crate::below::files_below;
use crate::name;
pub(crate) use ask::Ask;
pub use by_hand::{AllKept, keep_all};
pub(crate) use keeper::Incidents;
pub(crate) use nodes::Nodes;

/// What is to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncidentRequest {
    /// The run directory.
    pub run: PathBuf,
    /// How much of it.
    pub last: Duration,
    /// Why, in a few words.
    pub because: String,
    /// Whose.
    pub whose: Whose,
}

/// Whose last moments are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those of a run.
    Run,
    /// Those of a node whose directory is not that of the run, and has no manifest.
    Node,
}

/// What was kept.
#[derive(Debug)]
#[non_exhaustive]
pub struct Incident {
    /// The run directory that it is.
    pub folder: PathBuf,
    /// Each recording, by its path in the run, and what there is of it.
    pub kept: Vec<(String, KeptLast)>,
    /// Recordings of which nothing could be kept.
    pub problems: Vec<rankscope_run::Error>,
}

/// Why nothing was kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IncidentError {
    /// There is no such run.
    #[error(transparent)]
    Run(#[from] rankscope_run::Error),
    /// The file system refuses something.
    #[error("{path}: {reason}", path = .path.display())]
    Io {
        /// Of which file.
        path: PathBuf,
        /// What it says.
        #[source]
        reason: io::Error,
    },
    /// No rank records itself.
    #[error(
        "{run}: no rank of this run records itself now. Programs do that with rankscope's recorder (`join_run`), and any job that uses \
         NCCL with `rankscope run --nccl`",
        run = .run.display()
    )]
    NothingRecorded {
        /// The run directory.
        run: PathBuf,
    },
    /// `rankscope run`, which was asked to keep what all nodes have, could not.
    #[error("{run}: {problem}", run = .run.display())]
    NotKept {
        /// The run directory.
        run: PathBuf,
        /// Why not.
        problem: String,
    },
    /// Nothing of what ranks recorded can be read.
    #[error("{run}: nothing of {count} recordings could be kept: {first}", run = .run.display())]
    NothingKept {
        /// The run directory.
        run: PathBuf,
        /// How many there are.
        count: usize,
        /// Why not, of one of them.
        #[source]
        first: rankscope_run::Error,
    },
}

impl IncidentError {
    fn of(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |reason| Self::Io { path, reason }
    }
}

/// `incident.json`: why and how much, for whoever comes to the folder later.
#[derive(Serialize)]
struct About<'a> {
    schema: u32,
    because: &'a str,
    asked_unix_ns: Option<i64>,
    asked_for_s: f64,
    recordings: Vec<AboutRecording<'a>>,
}

#[derive(Serialize)]
struct AboutRecording<'a> {
    file: &'a str,
    /// None where all of it was kept, because its process was over.
    events: Option<u64>,
    seconds: Option<f64>,
}

/// Keeps what `request` says. One recording that cannot be read is a problem of the [`Incident`] and costs no other.
///
/// # Errors
/// [`IncidentError`]: no such run, nothing that could be kept of it, and what the file system refuses.
pub fn keep_incident(request: &IncidentRequest) -> Result<Incident, IncidentError> {
    let run = match request.whose {
        Whose::Run => RunDirectory::open(&request.run)?.path().to_owned(),
        Whose::Node => request.run.clone(),
    };
    let recordings = recordings(&run);
    if !recordings.iter().any(|name| name.starts_with(RAW)) {
        return Err(IncidentError::NothingRecorded { run: request.run.clone() });
    }
    let asked_unix_ns = rankscope_run::now_unix_ns().ok();
    let folder = new_folder(&run.join(FOLDER))?;
    let (mut kept, mut problems) = (Vec::new(), Vec::new());
    let count = recordings.len();
    for name in recordings {
        let into = folder.join(&name);
        into.parent().map_or(Ok(()), fs::create_dir_all).map_err(IncidentError::of(&into))?;
        match keep_last(&run.join(&name), request.last, &into) {
            Ok(last) => kept.push((name, last)),
            Err(problem) => problems.push(problem),
        }
    }
    if !kept.iter().any(|(name, _)| name.starts_with(RAW)) {
        // It holds nothing that could be reported on.
        let _stays = fs::remove_dir_all(&folder);
        return Err(match problems.into_iter().next() {
            Some(first) => IncidentError::NothingKept { run: request.run.clone(), count, first },
            None => IncidentError::NothingRecorded { run: request.run.clone() },
        });
    }
    // Clocks after the recordings: what was measured until then bounds more of them.
    beside(&run, request.whose, &folder)?;
    write_about(request, asked_unix_ns, &kept, &folder.join("incident.json"))?;
    Ok(Incident { folder, kept, problems })
}

/// In a run directory.
const FOLDER: &str = "incidents";
/// Where ranks record there.
const RAW: &str = "raw";
/// And who samples what nodes do.
const COUNTERS: &str = "counters";

/// Recordings of the run at `run`, by their paths in it, sorted. Those of earlier processes (`.rkr.1`) and of earlier attempts are no news.
fn recordings(run: &Path) -> Vec<String> {
    let found = [RAW, COUNTERS].into_iter().flat_map(|place| files_below(&run.join(place), usize::MAX));
    let name = |(path, _): (PathBuf, Metadata)| path.strip_prefix(run).ok()?.to_str().map(str::to_owned);
    let mut names: Vec<String> = found.filter_map(name).collect();
    names.retain(|name| name.ends_with(".rkr") && !name.contains("/attempt-"));
    names.sort();
    names
}

/// A folder of its own below `incidents`, named by the time.
fn new_folder(incidents: &Path) -> Result<PathBuf, IncidentError> {
    fs::create_dir_all(incidents).map_err(IncidentError::of(incidents))?;
    let stamp = name::stamp_now();
    let names = std::iter::once(stamp.clone()).chain((2..).map(|number| format!("{stamp}-{number}")));
    for folder in names.map(|name| incidents.join(name)) {
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder.clone()).map_err(IncidentError::of(&folder)),
        }
    }
    unreachable!("numbers do not end")
}

/// What makes the folder a run whose clocks are known: the manifest, what nodes said of themselves, and measured clocks. Secrets of the
/// agents stay where they are.
fn beside(run: &Path, whose: Whose, folder: &Path) -> Result<(), IncidentError> {
    let copy = |from: PathBuf, to: PathBuf| fs::copy(&from, &to).map(drop).map_err(IncidentError::of(&from));
    if whose == Whose::Run {
        copy(run.join("run.json"), folder.join("run.json"))?;
    }
    for (place, suffixes) in [("clock", &["jsonl", "csv"][..]), ("nodes", &["json"])] {
        let (from, to) = (run.join(place), folder.join(place));
        fs::create_dir_all(&to).map_err(IncidentError::of(&to))?;
        for entry in fs::read_dir(&from).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_wanted = path.extension().is_some_and(|suffix| suffixes.iter().any(|wanted| suffix == *wanted));
            if is_wanted && entry.file_type().is_ok_and(|kind| kind.is_file()) {
                copy(path, to.join(entry.file_name()))?;
            }
        }
    }
    Ok(())
}

fn write_about(
    request: &IncidentRequest,
    asked_unix_ns: Option<i64>,
    kept: &[(String, KeptLast)],
    path: &Path,
) -> Result<(), IncidentError> {
    let recordings = kept.iter().map(|(file, last)| match last {
        KeptLast::Last { events, span } => AboutRecording { file, events: Some(*events), seconds: Some(span.as_secs_f64()) },
        KeptLast::Whole => AboutRecording { file, events: None, seconds: None },
    });
    let about = About {
        schema: 1,
        because: &request.because,
        asked_unix_ns,
        asked_for_s: request.last.as_secs_f64(),
        recordings: recordings.collect(),
    };
    let text = serde_json::to_string_pretty(&about).map_err(|error| IncidentError::of(path)(error.into()))?;
    fs::write(path, text + "\n").map_err(IncidentError::of(path))
}
