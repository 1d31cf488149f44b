//! Which runs a path means where several are compared: a folder may hold one run, or one run in each of its folders.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::directory::{RunDirectory, State};
use crate::parts::is_parts_folder;
use crate::{Error, InputFile, Source, discover, is_file, is_folder, open_source};

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

/// Folders that reports are written into.
const OUTPUTS: [&str; 2] = ["report", "rankscope-report"];

/// Bytes at the beginning of a file in which a report has said what it is.
const HEAD_BYTES: u64 = 256;
/// The same at its end, where its keys are in order of their names: windows follow.
const TAIL_BYTES: u64 = 1 << 16;

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
    if is_file(path)? {
        let source = if is_report(path) { RunSource::Report } else { RunSource::Traces };
        return Ok(SideRuns::one(source(path.to_owned())));
    }
    if let Some(one) = one_run(path) {
        return Ok(SideRuns::one(one));
    }
    let found = discover(&[path.to_owned()]);
    // Reports of what lies beside them are no runs.
    let is_output = |folder: &PathBuf| folder.file_name().is_some_and(|name| OUTPUTS.iter().any(|output| name == *output));
    let folders: Vec<PathBuf> = folders(path).into_iter().filter(|folder| found.is_err() || !is_output(folder)).collect();
    let lies_here = |file: &InputFile| file.path.parent() == Some(path);
    let is_one = found.as_ref().is_ok_and(|files| files.iter().any(lies_here));
    if is_one || folders.iter().all(|folder| one_run(folder).is_none()) {
        // Traces in a folder, or a pattern of them; or the reason why there are none.
        found?;
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
        (is_report(&saved) && is_folder(path).unwrap_or(false) && discover(&[path.to_owned()]).is_err())
            .then_some(RunSource::Report(saved))
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
    let stands_in = is_report(&saved) && discover(&[folder.to_owned()]).is_err();
    Some(if stands_in { RunSource::Report(saved) } else { RunSource::Traces(folder.to_owned()) })
}

/// Whether the file at `path` is a report that this program wrote. Programs that order keys by name put what it says of itself at the end.
pub(crate) fn is_report(path: &Path) -> bool {
    is_file(path).unwrap_or(false) && open_source(path).is_ok_and(|file| names_itself(file).unwrap_or(false))
}

fn names_itself(mut file: Source) -> io::Result<bool> {
    let says = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.contains("\"schema\"") && text.contains("\"rankscope_version\"")
    };
    let mut bytes = Vec::new();
    (&mut file).take(HEAD_BYTES).read_to_end(&mut bytes)?;
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Ok(false);
    }
    if says(&bytes) {
        return Ok(true);
    }
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    bytes.clear();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(says(&bytes))
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_beside_the_traces_it_is_of_is_no_run() {
        const TRACE: &str = r#"{"traceEvents": []}"#;
        const REPORT: &str = r#"{"schema": 1, "rankscope_version": "0.1.0"}"#;
        let folder = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        write("flat/rank0.json", TRACE);
        write("flat/report/report.json", REPORT);
        write("nested/torch_profiler/rank0/trace.json", TRACE);
        write("nested/rankscope-report/report.json", REPORT);
        write("saved/report/report.json", REPORT);
        let runs = |path: &str| runs_of(&folder.path().join(path)).expect("runs").runs;
        let traces = |path: &str| vec![RunSource::Traces(folder.path().join(path))];
        assert_eq!(runs("flat"), traces("flat"));
        assert_eq!(runs("nested"), traces("nested"));
        assert_eq!(runs("saved"), [RunSource::Report(folder.path().join("saved/report/report.json"))]);
    }

    #[test]
    fn a_report_is_known_by_what_it_says_of_itself_at_either_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let is = |text: &str| {
            let path = folder.path().join("a.json");
            fs::write(&path, text).expect("a file");
            is_report(&path)
        };
        let ranks = "x".repeat(100_000);
        assert!(is(r#"{"schema": 1, "rankscope_version": "0.1.0", "ranks": []}"#));
        assert!(is(&format!(r#"{{"ranks": "{ranks}", "rankscope_version": "0.1.0", "schema": 1, "windows": []}}"#)));
        assert!(!is(&format!(r#"{{"schemaVersion": 1, "traceEvents": "{ranks}"}}"#)));
        assert!(!is(r#"["schema", "rankscope_version"]"#));
        assert!(!is(""));
    }
}
