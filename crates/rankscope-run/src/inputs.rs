//! From what a user typed to the files meant by it.
//!
//! A path may be a file, a directory or a pattern, or the URL of one ([`stored_inputs`]). In a directory the files named like traces are taken, four folders deep
//! (`torch_profiler/rank3/trace.json` needs two). What stands there twice, as one trace in two formats or compressed and not,
//! is taken once.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use rankscope_formats::{Format, inspector};

use crate::directory::{Aside, newest_attempt, set_aside};
use crate::parts::is_parts_folder;
use crate::stored_inputs;
use crate::stores::ObjectIdentity;
use crate::{Error, Location, open_source};

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InputFile {
    /// Where it is.
    pub path: PathBuf,
    /// Whether the user named it, rather than a directory or pattern that holds it. A file found in a directory may turn out
    /// to be something else.
    pub named: bool,
    /// Whether it lies in the folder of a run for what a rank's newest trace followed.
    pub earlier: bool,
}

/// The files to read, and where they are from if that is not where one looks for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// In order of their names, each once.
    pub files: Vec<InputFile>,
    /// Folders of runs' newest attempts that left traces, where the attempt after it left none.
    pub attempts: Vec<PathBuf>,
    /// What a store that was listed told of the files in it, so that nobody need ask for one after the other.
    pub identities: BTreeMap<PathBuf, ObjectIdentity>,
}

/// Which traces of a run directory are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The newest of each rank.
    Newest,
    /// All of its newest attempt.
    All,
}

/// Folders below a given directory that are looked into.
pub(crate) const DEPTH_MAX: usize = 4;

/// Names this program gives to what it writes.
pub(crate) const OWN_OUTPUTS: [&str; 4] = ["timeline.pftrace", "report.json", "run.json", "rankscope-report"];

/// The files that `paths` mean, in order of their names, each once.
///
/// # Errors
/// [`Error::Missing`], [`Error::NoTraces`], [`Error::BadPattern`], [`Error::Parts`], [`Error::Url`], [`Error::Store`], and what the
/// file system refuses.
pub fn discover(paths: &[PathBuf]) -> Result<Vec<InputFile>, Error> {
    Ok(find(paths, Wanted::Newest)?.files)
}

/// The same with every trace that the newest attempt of a run left, not only the newest of each rank. Where that attempt left
/// none, those of the last one that did.
///
/// # Errors
/// Those of [`discover`].
pub fn discover_all(paths: &[PathBuf]) -> Result<Found, Error> {
    find(paths, Wanted::All)
}

/// The inputs that a list names, one a line; lines that are empty or begin with `#` are none.
pub fn listed(text: &str) -> Vec<PathBuf> {
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.trim_start().starts_with('#'));
    lines.map(PathBuf::from).collect()
}

fn find(paths: &[PathBuf], wanted: Wanted) -> Result<Found, Error> {
    let mut found = Found::default();
    for path in paths {
        match Location::of(path)? {
            Location::Local(local) => in_file_system(&local, wanted, &mut found)?,
            Location::Object(url) => stored_inputs::find(path, &url, wanted, &mut found)?,
        }
    }
    // A file that is both named and found counts as named: it sorts after its twin.
    found.files.sort();
    found.files.reverse();
    found.files.dedup_by(|a, b| a.path == b.path);
    found.files.reverse();
    Ok(found)
}

fn in_file_system(path: &Path, wanted: Wanted, found: &mut Found) -> Result<(), Error> {
    if is_parts_folder(path) {
        Err(Error::Parts { path: path.to_owned() })
    } else if path.is_dir() {
        in_directory(path, wanted, found)
    } else if path.exists() {
        found.files.push(InputFile { path: path.to_owned(), named: true, earlier: false });
        Ok(())
    } else {
        matching(path, wanted, found)
    }
}

fn matching(pattern: &Path, wanted: Wanted, found: &mut Found) -> Result<(), Error> {
    let missing = || Error::Missing { path: pattern.to_owned() };
    let text = pattern.to_str().filter(|text| text.contains(['*', '?', '['])).ok_or_else(missing)?;
    let paths = glob::glob(text).map_err(|bad| Error::BadPattern { pattern: text.to_owned(), reason: bad.msg.to_owned() })?;
    let before = found.files.len();
    for path in paths {
        let path = path.map_err(|bad| Error::io(bad.path().to_owned(), std::io::Error::other(bad.to_string())))?;
        if path.is_dir() {
            in_directory(&path, wanted, found)?;
        } else {
            found.files.push(InputFile { path, named: false, earlier: false });
        }
    }
    if found.files.len() == before { Err(missing()) } else { Ok(()) }
}

fn in_directory(directory: &Path, wanted: Wanted, found: &mut Found) -> Result<(), Error> {
    // A run directory keeps the ranks' own traces in one place and what was made of them beside it.
    let raw = directory.join("raw");
    let is_run = directory.join("run.json").is_file() && raw.is_dir();
    let root = if is_run { raw } else { directory.to_owned() };
    let mut paths = Vec::new();
    walk(&root, DEPTH_MAX, &mut paths)?;
    Folder { path: directory, is_run, root, traces: paths }.choose(wanted, found)
}

/// A folder, and what in it is named like a trace.
pub(crate) struct Folder<'a> {
    pub(crate) path: &'a Path,
    pub(crate) is_run: bool,
    /// Where its traces lie.
    pub(crate) root: PathBuf,
    pub(crate) traces: Vec<PathBuf>,
}

impl Folder<'_> {
    /// Adds to `found` those that are wanted, each trace once.
    pub(crate) fn choose(self, wanted: Wanted, found: &mut Found) -> Result<(), Error> {
        let Self { path: directory, is_run, mut root, traces: mut paths } = self;
        if is_run {
            let attempt = newest_attempt(&root, &paths).filter(|_| wanted == Wanted::All);
            if let Some(attempt) = attempt {
                paths.retain(|path| path.starts_with(&attempt));
                found.attempts.push(attempt.clone());
                root = attempt;
            }
            paths.retain(|path| match set_aside(&root, path) {
                None => true,
                Some(Aside::Followed) => wanted == Wanted::All,
                Some(Aside::EarlierAttempt) => false,
            });
        }
        if paths.is_empty() {
            return Err(Error::NoTraces { path: directory.to_owned() });
        }
        let mut best: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
        for path in paths {
            let kept = best.entry(stem(&path)).or_insert_with(|| path.clone());
            if preference(&path) < preference(kept) {
                *kept = path;
            }
        }
        found.files.extend(best.into_values().map(|path| {
            let earlier = is_run && set_aside(&root, &path).is_some();
            InputFile { path, named: false, earlier }
        }));
        Ok(())
    }
}

fn walk(directory: &Path, depth: usize, paths: &mut Vec<PathBuf>) -> Result<(), Error> {
    let entries = fs::read_dir(directory).map_err(|error| Error::io(directory, error))?;
    for entry in entries {
        let path = entry.map_err(|error| Error::io(directory, error))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if OWN_OUTPUTS.contains(&name.as_str()) || name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            if depth > 0 && !is_parts_folder(&path) && !is_workers_folder(&path) {
                walk(&path, depth - 1, paths)?;
            }
        } else if suffix(&name).is_some() || is_text_of_inspector(&path, &name) {
            paths.push(path);
        }
    }
    Ok(())
}

/// Whether a text called `name`, as any text may be, is one that NCCL's Inspector wrote: by what it begins with.
fn is_text_of_inspector(path: &Path, name: &str) -> bool {
    if ![".log", ".jsonl"].iter().any(|suffix| name.ends_with(suffix)) {
        return false;
    }
    let mut head = Vec::new();
    let read = open_source(path).map(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    matches!(read, Ok(Ok(_))) && inspector::is_head(&head)
}

/// Holds the beginning of a line.
const HEAD_BYTES: u64 = 4_096;

/// Whether `folder` is for recordings of processes that a recorded process started: they are read with its own. Those of an earlier
/// recording there have a number behind.
pub fn is_workers_folder(folder: &Path) -> bool {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    is_workers_name(&name) && folder.is_dir()
}

pub(crate) fn is_workers_name(name: &str) -> bool {
    let bare = name.rsplit_once('.').filter(|(_, number)| number.parse::<u32>().is_ok()).map_or(name, |(bare, _)| bare);
    bare.ends_with(".workers")
}

/// What follows the stem in the name of a trace or of an archive of traces; the order is that of preference.
const SUFFIXES: [&str; 18] = [
    ".rkr",
    ".xplane.pb",
    ".xspace.pb",
    ".pt.trace.json",
    ".trace.json",
    ".json",
    ".xplane.pb.gz",
    ".pt.trace.json.gz",
    ".trace.json.gz",
    ".json.gz",
    ".json.zst",
    ".pftrace",
    ".pftrace.gz",
    ".perfetto-trace",
    ".db",
    ".sqlite",
    ".zip",
    ".tar",
];

pub(crate) fn suffix(name: &str) -> Option<usize> {
    let archive = [".tar.gz", ".tgz", ".tar.zst"].iter().any(|suffix| name.ends_with(suffix));
    let known = SUFFIXES.iter().position(|suffix| name.ends_with(suffix));
    let other = archive || Format::of_name(name).is_some() || inspector::is_name(name);
    known.or_else(|| other.then_some(SUFFIXES.len()))
}

fn preference(path: &Path) -> usize {
    path.file_name().and_then(|name| suffix(&name.to_string_lossy())).unwrap_or(usize::MAX)
}

/// The path without what names its format.
fn stem(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let known =
        SUFFIXES.iter().filter(|suffix| !matches!(**suffix, ".zip" | ".tar")).find_map(|suffix| name.strip_suffix(suffix));
    path.with_file_name(known.unwrap_or(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        root
    }

    fn found(root: &Path, paths: &[&str]) -> Vec<String> {
        let paths: Vec<_> = paths.iter().map(|path| root.join(path)).collect();
        let files = discover(&paths).unwrap();
        files.iter().map(|file| file.path.strip_prefix(root).unwrap().display().to_string()).collect()
    }

    #[test]
    fn a_directory_gives_each_trace_once() {
        let root = tree(&[
            "rank0.json.gz",
            "rank1.json",
            "rank1.json.gz",
            "sub/rank2/trace.json",
            "process3.xplane.pb",
            "process3.trace.json.gz",
            "908_results.db",
            "908_results.json",
            "report1.sqlite",
            "notes.txt",
            "timeline.pftrace",
            ".hidden.json",
        ]);
        let expected =
            ["908_results.json", "process3.xplane.pb", "rank0.json.gz", "rank1.json", "report1.sqlite", "sub/rank2/trace.json"];
        assert_eq!(found(root.path(), &[""]), expected);
    }

    #[test]
    fn texts_are_taken_where_inspector_wrote_them() {
        let root = tree(&["a-pid7.log", "a-pid8.jsonl.gz", "train.log", "rank0.jsonl", "metrics.jsonl"]);
        fs::write(root.path().join("rank0.jsonl"), "{\"header\": {\"id\": \"0xa\"}, \"coll_perf\": {\"coll_sn\": 1}}\n")
            .unwrap();
        assert_eq!(found(root.path(), &[""]), ["a-pid7.log", "a-pid8.jsonl.gz", "rank0.jsonl"]);
    }

    #[test]
    fn recordings_of_workers_are_not_ranks_of_their_own() {
        let root = tree(&["rank-0.rkr", "rank-0.workers/17.rkr", "rank-0.workers.1/12.rkr", "workers/rank-1.rkr"]);
        assert_eq!(found(root.path(), &[""]), ["rank-0.rkr", "workers/rank-1.rkr"]);
    }

    #[test]
    fn patterns_and_files_mix() {
        let root = tree(&["a/rank0.json", "a/rank1.json", "b.bin"]);
        assert_eq!(found(root.path(), &["a/*.json", "b.bin", "a/rank0.json"]), ["a/rank0.json", "a/rank1.json", "b.bin"]);
    }

    #[test]
    fn a_run_directory_is_read_from_its_raw_folder() {
        let root =
            tree(&["run.json", "raw/rank-0.json.gz", "raw/more/rank-0.0.json", "report/report.json", "clock/offsets.json"]);
        assert_eq!(found(root.path(), &[""]), ["raw/rank-0.json.gz"]);
    }

    fn found_all(root: &Path) -> (Vec<(String, bool)>, Vec<PathBuf>) {
        let found = discover_all(&[root.to_owned()]).unwrap();
        let name = |file: InputFile| (file.path.strip_prefix(root).unwrap().display().to_string(), file.earlier);
        (found.files.into_iter().map(name).collect(), found.attempts)
    }

    #[test]
    fn all_of_a_run_is_what_its_newest_attempt_left() {
        let root = tree(&["run.json", "raw/rank-0.json", "raw/more/rank-0.0.json", "raw/attempt-0/rank-0.json"]);
        let expected = [("raw/more/rank-0.0.json".to_owned(), true), ("raw/rank-0.json".to_owned(), false)];
        assert_eq!(found_all(root.path()), (expected.to_vec(), vec![]));
    }

    #[test]
    fn an_attempt_that_left_nothing_is_passed_over_for_the_last_that_did() {
        let root = tree(&[
            "run.json",
            "raw/attempt-2/rank-0.json",
            "raw/attempt-10/rank-0.json",
            "raw/attempt-10/more/rank-0.0.json",
            "raw/attempt-11/notes.txt",
        ]);
        let expected =
            [("raw/attempt-10/more/rank-0.0.json".to_owned(), true), ("raw/attempt-10/rank-0.json".to_owned(), false)];
        assert_eq!(found_all(root.path()), (expected.to_vec(), vec![root.path().join("raw/attempt-10")]));
    }

    #[test]
    fn a_list_has_an_input_a_line() {
        let named = listed("# of monday\n\na/rank 0.json\r\n  # and more\nb/*.json\n   \n");
        assert_eq!(named, [PathBuf::from("a/rank 0.json"), PathBuf::from("b/*.json")]);
        assert_eq!(listed(""), Vec::<PathBuf>::new());
    }

    #[test]
    fn parts_are_no_traces() {
        let root = tree(&["rank0.json", "parts/plan.json", "parts/part-r000000-a-0000.rkpart", "parts/input-000000-a.json"]);
        fs::write(root.path().join("parts/plan.json"), "{\"rules\": {\"accounting\": 1}}").unwrap();
        assert_eq!(found(root.path(), &[""]), ["rank0.json"], "a folder of parts beside the traces is passed over");
        let refused = discover(&[root.path().join("parts")]).unwrap_err();
        assert!(matches!(&refused, Error::Parts { path } if path.ends_with("parts")), "{refused}");
        let plan = tree(&["plan.json", "rank0.json"]);
        assert_eq!(found(plan.path(), &[""]), ["plan.json", "rank0.json"], "any other plan is not taken for one of parts");
    }

    #[test]
    fn a_url_is_refused_as_one() {
        for url in ["s3://bucket/run", "https://host/rank*.json.gz", "gs://a"] {
            let refused = discover(&[PathBuf::from(url)]).unwrap_err();
            assert!(matches!(&refused, Error::Url { .. }) && refused.to_string().starts_with(url), "{refused}");
        }
        for path in ["://x", "a/b://c", "rank 0://"] {
            assert!(matches!(discover(&[PathBuf::from(path)]).unwrap_err(), Error::Missing { .. }), "{path}");
        }
        let root = tree(&["s3:/rank0.json"]);
        assert_eq!(found(root.path(), &["s3://rank0.json"]), ["s3://rank0.json"], "what is there is a path");
    }

    #[test]
    fn nothing_is_an_error_that_names_the_path() {
        let root = tree(&["notes.txt"]);
        let error = |path: &str| discover(&[root.path().join(path)]).unwrap_err();
        assert!(matches!(error(""), Error::NoTraces { .. }));
        assert!(matches!(error("rank9.json"), Error::Missing { .. }));
        assert!(matches!(error("*.json"), Error::Missing { .. }));
    }
}
