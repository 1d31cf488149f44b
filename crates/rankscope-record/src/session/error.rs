//! Why a session did not start, or cannot be stopped.

use std::io;
use std::path::PathBuf;

use crate::store::InTheWay;

/// Why no session was started. The program goes on as without one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Nothing would be recorded.
    #[error("the session names no category, so it would record nothing: name at least one")]
    NoCategories,
    /// A recording runs and lies elsewhere.
    #[error(
        "a recording is running {} and cannot also be written to {}: stop it first, or start this session with `Storage::Memory` to share it",
        running.as_ref().map_or("in memory".to_owned(), |path| format!("into {}", path.display())), wanted.display()
    )]
    StorageInUse {
        /// Where the running one lies.
        running: Option<PathBuf>,
        /// Where this one was to lie.
        wanted: PathBuf,
    },
    /// Another process, or another recording of this one, is being written there. It goes on undisturbed.
    #[error(
        "{}: {} is recording there and continues. Give each process its own file, for example with `%p` (process id) or `%r` (rank) in the path",
        path.display(), process.map_or("another process".to_owned(), |process| format!("process {process}"))
    )]
    InUse {
        /// The file.
        path: PathBuf,
        /// Who writes it, as far as it says; in a container, by the number it has there.
        process: Option<u64>,
    },
    /// Something else lies where the recording, or an earlier one, was to go. It was not touched.
    #[error("{} is {what}, so no recording is put there: choose another path, or move it away", path.display())]
    NotARecording {
        /// What lies there.
        path: PathBuf,
        /// What it is.
        what: InTheWay,
    },
    /// The path has a `%` that stands for nothing.
    #[error(
        "{}: `{placeholder}` stands for nothing: there are `%p` (the process), `%r` (its rank), and `%%` for a percent sign",
        path.display()
    )]
    Placeholder {
        /// The path, as it was given.
        path: PathBuf,
        /// What cannot be filled in.
        placeholder: String,
    },
    /// The memory or the file was refused.
    #[error("cannot record {}: {source}. Choose another place, or `Storage::Memory`", path.as_ref().map_or("in memory".to_owned(), |path| format!("at {}", path.display())))]
    Storage {
        /// The file, if it was to be one.
        path: Option<PathBuf>,
        /// What the system said.
        source: io::Error,
    },
}

/// Why a session could not be stopped, changed or looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StopError {
    /// It has been stopped already.
    #[error("session {id} has been stopped already: what it recorded was returned then")]
    AlreadyStopped {
        /// The session.
        id: u64,
    },
    /// It was started in the process this one was forked from.
    #[error("session {id} belongs to the process that this one was forked from: stop it there, or start one here")]
    OtherProcess {
        /// The session.
        id: u64,
    },
}
