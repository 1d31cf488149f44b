//! Where a recording lies and how large it may get.

use std::path::PathBuf;
use std::time::Duration;

use rankscope_formats::recording::CHUNK_BYTES;

/// Where a recording lies while it is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// In memory of the process; gone with it.
    #[default]
    Memory,
    /// In a live file, which `rankscope recover` reads whatever happens to the process.
    File(PathBuf),
}

/// What happens when a recording has reached its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Later events are dropped and counted.
    Stop {
        /// The size.
        max_bytes: u64,
    },
    /// The oldest events make room: a flight recorder.
    Ring {
        /// The size.
        max_bytes: u64,
        /// Events older than this make room before the size is reached.
        keep: Duration,
    },
}

impl Default for Overflow {
    fn default() -> Self {
        Self::Stop { max_bytes: 1 << 30 }
    }
}

impl Overflow {
    /// How many chunks of events that is: at least one.
    pub(super) fn chunks(self) -> u32 {
        let (Self::Stop { max_bytes } | Self::Ring { max_bytes, .. }) = self;
        (max_bytes / CHUNK_BYTES as u64).clamp(1, u64::from(CHUNKS_MAX)) as u32
    }
}

/// A quarter of a terabyte.
const CHUNKS_MAX: u32 = 1 << 20;
