//! Which runs a path means where several are compared: a folder may hold one run, or one run in each of its folders.

use std::fs;
use std::path::{Path, PathBuf};

use crate::directory::{RunDirectory, State};
use crate::parts::is_parts_folder;
use crate::{Error, discover};

/// What one run is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunSource {
    /// Its traces, or parts of them.
    Traces(PathBuf),
    /// A report that was saved.
    Report(PathBuf),
}

impl RunSource {
    /// The path.
    pub fn path(&self) -> &Path {
        match self {
            Self::Traces(path) | Self::Report(path) => path,
        }
    }
}

/// Bytes of a file in which a report has said what it is.
const HEAD_BYTES: usize = 256;

/// The runs of a side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SideRuns {
    /// Those that are compared.
    pub runs: Vec<RunSource>,
    /// Run directories beside them whose job failed or was stopped: their steps are not what the configuration takes.
    pub unfinished: Vec<PathBuf>,
}

impl SideRuns {
    fn one(run: RunSource) -> Self {
        Self { runs: vec![run], unfinished: Vec::new() }
    }

    /// `runs` of one folder. Where none of them finished, all are compared.
    fn of(runs: Vec<RunSource>) -> Self {
        let (finished, unfinished): (Vec<_>, Vec<_>) = runs.into_iter().partition(|run| !is_unfinished(run.path()));
        match finished.is_empty() {
            true => Self { runs: unfinished, unfinished: Vec::new() },
            false => Self { runs: finished, unfinished: unfinished.into_iter().map(|run| run.path().to_owned()).collect() },
        }
    }
}

/// Whether `folder` is the run directory of a job that did not end as it should.
fn is_unfinished(folder: &Path) -> bool {
    let is_finished = |run: RunDirectory| run.manifest().state == State::Finished;
    RunDirectory::is_run(folder) && !RunDirectory::open(folder).is_ok_and(is_finished)
}

/// The runs that `path` means, in order of their names: a trace file, a folder of traces or of parts, a run directory, a saved report.json or
/// the folder it lies in is one run; a folder of run directories, such as a sweep leaves for each configuration, is as many as it holds.
///
/// # Errors
/// Those of [`discover`].
pub fn runs_of(path: &Path) -> Result<SideRuns, Error> {
    if path.is_file() {
        let source = if is_report(path) { RunSource::Report } else { RunSource::Traces };
        return Ok(SideRuns::one(source(path.to_owned())));
    }
    if let Some(one) = one_run(path) {
        return Ok(SideRuns::one(one));
    }
    let folders = folders(path);
    if folders.iter().all(|folder| one_run(folder).is_none()) {
        // Traces in a folder, or a pattern of them; or the reason why there are none.
        discover(&[path.to_owned()])?;
        return Ok(SideRuns::one(RunSource::Traces(path.to_owned())));
    }
    // Beside a run, traces in a folder are another: of one run, no folder would say that it is all of it.
    let of_traces =
        |folder: &PathBuf| discover(std::slice::from_ref(folder)).is_ok().then(|| RunSource::Traces(folder.clone()));
    Ok(SideRuns::of(folders.iter().filter_map(|folder| one_run(folder).or_else(|| of_traces(folder))).collect()))
}

/// The run that the folder at `path` is by itself, if it is one.
pub(crate) fn one_run(path: &Path) -> Option<RunSource> {
    own_run(path).or_else(|| {
        let saved = path.join("report.json");
        (path.is_dir() && is_report(&saved) && discover(&[path.to_owned()]).is_err()).then_some(RunSource::Report(saved))
    })
}

/// The run that a folder is which says so itself: a run directory, whose saved report stands in where its traces are gone, or parts.
fn own_run(folder: &Path) -> Option<RunSource> {
    if is_parts_folder(folder) {
        return Some(RunSource::Traces(folder.to_owned()));
    }
    if !RunDirectory::is_run(folder) {
        return None;
    }
    let saved = folder.join("report").join("report.json");
    let has_traces = discover(&[folder.to_owned()]).is_ok();
    Some(if !has_traces && is_report(&saved) { RunSource::Report(saved) } else { RunSource::Traces(folder.to_owned()) })
}

/// Whether the file at `path` begins as a report does that this program wrote.
pub(crate) fn is_report(path: &Path) -> bool {
    use std::io::Read as _;
    if !path.is_file() {
        return false;
    }
    let mut head = Vec::new();
    let Ok(file) = crate::open(path) else { return false };
    let read = file.take(HEAD_BYTES as u64).read_to_end(&mut head);
    let head = String::from_utf8_lossy(&head);
    read.is_ok() && head.trim_start().starts_with('{') && head.contains("\"schema\"") && head.contains("\"rankscope_version\"")
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}
