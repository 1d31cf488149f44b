//! Why a recording gave nothing at all.

use std::io;

/// Nothing usable came out of a recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input holds no bytes.
    #[error("the file is empty: the profiler did not finish writing it, or a copy of it failed. Record or copy it again")]
    Empty,
    /// The bytes are no recording that this build reads.
    #[error("not a trace that this build can read: {found}")]
    NotARecording {
        /// What the bytes look like instead, and what to do.
        found: String,
    },
    /// Chunks are there, but nothing in them could be read.
    #[error("no event could be read; first problem at byte {offset}: {reason}")]
    NoEvents {
        /// Where the first problem lies.
        offset: u64,
        /// What the first problem is.
        reason: String,
    },
    /// Reading the underlying file failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}
