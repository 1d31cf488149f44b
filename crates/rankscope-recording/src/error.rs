//! Why a recording gave nothing at all.

use std::io;

use super::chunk::{CHUNK_BYTES, LIVE_VERSION};

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
        /// What they are instead.
        found: NotLive,
    },
    /// Chunks are there, but nothing in them could be read.
    #[error("no event could be read; first problem at byte {offset}: no chunk of the recording has a header that can be read")]
    NoEvents {
        /// Where the first chunk lies.
        offset: u64,
    },
    /// Reading the underlying file failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What lies where a live recording of this build was to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotLive {
    /// Something else.
    #[error("it does not start as a live recording does")]
    OtherStart,
    /// A live recording of another version.
    #[error("a live recording of version {version}; this build reads version {LIVE_VERSION}")]
    Version {
        /// Its version.
        version: u32,
    },
    /// A live recording of chunks of another size.
    #[error("a live recording of {bytes}-byte chunks; they have {CHUNK_BYTES} bytes")]
    ChunkSize {
        /// Their size.
        bytes: u32,
    },
}
