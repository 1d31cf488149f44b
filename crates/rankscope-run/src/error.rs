//! What can be wrong with the files of a run. Each message names the path and says what to do.

use std::io;
use std::path::PathBuf;

use crate::stores::StoreFault;

/// Something is wrong with the inputs or the outputs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A path names nothing.
    #[error("{path}: there is no such file or directory. Check the path; quote it if it holds a wildcard", path = path.display())]
    Missing {
        /// The path as given.
        path: PathBuf,
    },
    /// A folder of parts is given where traces are wanted.
    #[error(
        "{path}: this folder holds the parts that `rankscope map` made of traces, and parts hold no events. Give the traces; `report`, \
         `align`, `validate` and `merge` also take one folder of parts",
        path = path.display()
    )]
    Parts {
        /// The folder.
        path: PathBuf,
    },
    /// A URL is given, and this program speaks to no store.
    #[error(
        "{path}: this build has no object stores. Build one that has (`cargo install --path crates/rankscope --features store`), or copy \
         the files here and give their path",
        path = path.display()
    )]
    Url {
        /// The URL.
        path: PathBuf,
    },
    /// A URL is given where only a file will do.
    #[error("{path}: this must be a file or a folder of a file system, not a URL. Copy it here and give the path", path = path.display())]
    NotLocal {
        /// The URL.
        path: PathBuf,
    },
    /// A store says no, or nothing.
    #[error("{path}: {fault}", path = path.display())]
    Store {
        /// The URL.
        path: PathBuf,
        /// What is wrong.
        fault: StoreFault,
    },
    /// A path names something that is no regular file.
    #[error("{path}: {what}; only regular files are read, because anything else might never end. Give a file", path = path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What lies there.
        what: &'static str,
    },
    /// A file that is read whole is longer than anything of its kind.
    #[error("{path}: longer than {mib} MiB, the limit for {noun}. Check that this is one", path = path.display())]
    TooLong {
        /// The path, or what stands for one.
        path: PathBuf,
        /// What it was read as.
        noun: &'static str,
        /// The bound, in mebibytes.
        mib: u64,
    },
    /// An output is one of the inputs.
    #[error("{path}: input and output are the same file, and rankscope never changes its inputs", path = path.display())]
    SameFile {
        /// The input.
        path: PathBuf,
    },
    /// A file that needs no recovery.
    #[error(
        "{path}: a packed recording needs no recovery: `rankscope report` and `convert` read it directly, even if it was cut short",
        path = path.display()
    )]
    Packed {
        /// The recording.
        path: PathBuf,
    },
    /// A live file that holds nothing that can be read.
    #[error("{path}: {reason}", path = path.display())]
    Live {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        reason: rankscope_formats::Error,
    },
    /// The time of day cannot be right.
    #[error(
        "the clock of this host is wrong: it shows a time before 1970 or after 2262, so the age of a run cannot be told. Set the \
         clock and repeat"
    )]
    WrongClock,
    /// A directory holds no file named like a trace.
    #[error(
        "{path}: this directory holds no trace (no .json, .xplane.pb, .pftrace, .zip or .tar, plain or compressed, up to four folders deep). \
         Give the directory the profiler wrote into",
        path = path.display()
    )]
    NoTraces {
        /// The directory.
        path: PathBuf,
    },
    /// A directory holds nothing of clock synchronisation.
    #[error(
        "{path}: this directory holds no windows-node<k>.jsonl (nor probe_windows_node<k>.jsonl) and no offsets.jsonl. Give the \
         directory the clock agents wrote into",
        path = path.display()
    )]
    NoClocks {
        /// The directory.
        path: PathBuf,
    },
    /// A pattern that cannot be understood.
    #[error("{pattern}: not a path pattern: {reason}")]
    BadPattern {
        /// The pattern as given.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A directory that is no run, where a run was wanted.
    #[error("{path}: not a run directory: there is no run.json here", path = path.display())]
    NotARun {
        /// The directory.
        path: PathBuf,
    },
    /// A new run was to lie where something else does.
    #[error(
        "{path}: this directory contains {entry} but no run.json, so it cannot hold a new run. Give a new or empty directory",
        path = path.display()
    )]
    Occupied {
        /// The directory.
        path: PathBuf,
        /// The first thing found that is no part of a run.
        entry: String,
    },
    /// A new run was to lie where another one does.
    #[error(
        "{path}: holds run {there}, but this is run {wanted}. Give each run its own directory; only a restart with the same run id may use the same one",
        path = path.display()
    )]
    OtherRun {
        /// The directory.
        path: PathBuf,
        /// The run that lies there.
        there: String,
        /// The run that was to begin.
        wanted: String,
    },
    /// A run that is over was to go on.
    #[error(
        "{path}: run {run_id} has ended ({state}) and is not overwritten. Give another directory{again}",
        path = path.display(),
        again = if *failed { ", or say that this is a restart of it" } else { "" },
        state = if *failed { "failed" } else { "finished" }
    )]
    RunOver {
        /// The directory.
        path: PathBuf,
        /// The run.
        run_id: String,
        /// Whether it failed.
        failed: bool,
    },
    /// Another process writes this run.
    #[error("{path}: {holder} is writing this run. Wait for it to end, or give another directory", path = path.display())]
    RunInUse {
        /// The directory.
        path: PathBuf,
        /// Who, and how to go on if it is known to be gone.
        holder: String,
    },
    /// Another process carries out this sweep.
    #[error("{path}: {holder} is running this sweep. Wait for it to end, or give another directory", path = .path.display())]
    SweepInUse {
        /// The directory.
        path: PathBuf,
        /// Who, and how to go on if it is known to be gone.
        holder: String,
    },
    /// A new sweep was to lie where something else does.
    #[error(
        "{path}: this directory contains {entry} but no sweep.json, so it cannot hold a new sweep. Give a new or empty directory",
        path = path.display()
    )]
    NoPlaceForSweep {
        /// The directory.
        path: PathBuf,
        /// The first thing found.
        entry: String,
    },
    /// A change to a run that was opened to be read.
    #[error("{path}: this run was opened read-only; only its writer can change it", path = path.display())]
    NotTheWriter {
        /// The directory.
        path: PathBuf,
    },
    /// A manifest that cannot be read.
    #[error(
        "{path}: damaged at byte {offset} of {bytes}: {reason}. The traces in raw/ are not affected: give that folder instead, or \
         restore this file from a copy",
        path = path.display()
    )]
    DamagedManifest {
        /// The file.
        path: PathBuf,
        /// Where reading it failed.
        offset: usize,
        /// How long it is.
        bytes: usize,
        /// What is wrong there.
        reason: String,
    },
    /// A manifest of a later version.
    #[error("{path}: written by a later version (schema {schema}, this program knows up to 1). Update rankscope", path = path.display())]
    LaterSchema {
        /// The file.
        path: PathBuf,
        /// What it says.
        schema: u32,
    },
    /// The operating system refused.
    #[error("{path}: {reason}", path = path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What it said.
        #[source]
        reason: io::Error,
    },
}

impl Error {
    /// `reason`, at `path`.
    pub(crate) fn io(path: impl Into<PathBuf>, reason: io::Error) -> Self {
        Self::Io { path: path.into(), reason }
    }
}
