//! Why a file gave no trace at all, or could not be written.

mod foreign;

use std::io;

pub use foreign::{Archive, Foreign, Limit, NoEvents, Unread};

/// Nothing usable came out of a file, or nothing could go into one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input holds no bytes.
    #[error("the file is empty: the profiler did not finish writing it, or a copy of it failed. Record or copy it again")]
    Empty,
    /// The bytes are of no format this crate reads.
    #[error("not a trace that this build can read: {found}")]
    NotATrace {
        /// What the bytes are instead, and what to do.
        found: Foreign,
    },
    /// The input is larger in some respect than a reader takes in.
    #[error("too large: {what}")]
    OverLimit {
        /// What there is too much of, how much is read, and what to do.
        what: Limit,
    },
    /// The format is right but not one event could be read.
    #[error("no event could be read; first problem at byte {offset}: {reason}")]
    NoEvents {
        /// Where the first problem lies, in the decompressed file.
        offset: u64,
        /// What the first problem is.
        reason: NoEvents,
    },
    /// Reading or writing the underlying file failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<rankscope_recording::Error> for Error {
    fn from(error: rankscope_recording::Error) -> Self {
        use rankscope_recording::Error as Of;
        match error {
            Of::Empty => Self::Empty,
            Of::NotARecording { found } => Self::NotATrace { found: Foreign::NotLive(found) },
            Of::NoEvents { offset } => Self::NoEvents { offset, reason: NoEvents::NoReadableChunk },
            Of::Io(error) => Self::Io(error),
            other => Self::Io(io::Error::other(other)),
        }
    }
}
