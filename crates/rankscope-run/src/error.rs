//! What can be wrong with the files of a run. Each message names the path and says what to do.

use std::io;
use std::path::PathBuf;

use rankscope_time::Rank;

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
    #[error("{pattern}: not a pattern of paths: {reason}")]
    BadPattern {
        /// The pattern as given.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Two files say they are the same rank.
    #[error(
        "{first} and {second} are both rank {rank}. Give the files of one run only, and each rank once; to compare two runs, \
         report on each by itself"
    )]
    RankConflict {
        /// The rank.
        rank: Rank,
        /// One file.
        first: String,
        /// The other.
        second: String,
    },
    /// The operating system refused.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

impl Error {
    /// `source`, at `path`.
    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}
