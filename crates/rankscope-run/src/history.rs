//! The runs of a folder that holds a history: one an entry, whatever each was kept as.
//!
//! A run directory whose report was saved is read from that: a history looks at many runs, and at a few figures of each.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::directory::RunDirectory;
use crate::sides::{RunSource, is_report, one_run};

/// One entry of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// What it is called.
    pub name: String,
    /// The entry itself.
    pub path: PathBuf,
    /// What it is read from; none where it is no run.
    pub source: Option<RunSource>,
    /// When the run began, as its manifest says, in nanoseconds since the Unix epoch.
    pub started_unix_ns: Option<i64>,
}

/// What the folder at `path` holds, in order of names: run directories, saved reports, folders of traces or of parts. Files of other kinds
/// and hidden ones are passed over; a folder or a `.json` that is no run is listed without a source.
///
/// # Errors
/// What the file system refuses.
pub fn history_of(path: &Path) -> Result<Vec<HistoryEntry>, Error> {
    let listed = fs::read_dir(path).map_err(|error| Error::io(path, error))?;
    let mut paths: Vec<PathBuf> = listed.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths.into_iter().filter_map(entry).collect())
}

fn entry(path: PathBuf) -> Option<HistoryEntry> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    if name.starts_with('.') {
        return None;
    }
    let is_folder = path.is_dir();
    if !is_folder && !name.ends_with(".json") {
        return None;
    }
    let source = if is_folder { of_folder(&path) } else { is_report(&path).then(|| RunSource::Report(path.clone())) };
    let started_unix_ns = if is_folder { started(&path) } else { None };
    let name = if is_folder { name } else { name.trim_end_matches(".json").to_owned() };
    Some(HistoryEntry { name, path, source, started_unix_ns })
}

fn of_folder(path: &Path) -> Option<RunSource> {
    let saved = [path.join("report").join("report.json"), path.join("report.json")];
    if let Some(saved) = saved.into_iter().find(|saved| is_report(saved)) {
        return Some(RunSource::Report(saved));
    }
    one_run(path).or_else(|| crate::discover(&[path.to_owned()]).is_ok().then(|| RunSource::Traces(path.to_owned())))
}

fn started(path: &Path) -> Option<i64> {
    if !RunDirectory::is_run(path) {
        return None;
    }
    let run = RunDirectory::open(path).ok()?;
    run.manifest().attempts.first().map(|attempt| attempt.started_unix_ns)
}
