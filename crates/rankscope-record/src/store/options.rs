//! Where a recording lies and how large it may get.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rankscope_recording::CHUNK_BYTES;

use super::pattern;

/// Where a recording lies while it is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// In memory of the process; gone with it.
    #[default]
    Memory,
    /// In a live file, which `rankscope recover` reads whatever happens to the process, also while it records. In the path `%p`
    /// is the number of the process, `%r` its rank as its launcher says (`RANK`, `SLURM_PROCID` and the like; 0 without a
    /// launcher), and `%%` a percent sign.
    ///
    /// An earlier recording in that place is put aside: [`SessionOptions::keep_earlier`](crate::SessionOptions::keep_earlier).
    File(PathBuf),
}

/// What happens when a recording has reached its size.
///
/// The size is that of events, in chunks of 256 KiB: what does not fill a chunk is rounded down, and there is one chunk at
/// least. Every thread that records has a chunk of its own. Names and readings of clocks come on top, with 512 KiB from the
/// start; a recording with many names takes 256 KiB for every 256 KiB of them.
///
/// A flight recorder, which always has the last half minute:
///
/// ```
/// use std::time::Duration;
/// use rankscope_record::{Overflow, Session, SessionOptions, record_function};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let overflow = Overflow::Ring { max_bytes: 64 << 20, keep: Duration::from_secs(30) };
/// let session = Session::start(SessionOptions::default().with_overflow(overflow))?;
/// drop(record_function!("request"));
/// // When something went wrong: what the last half minute was like. The session goes on.
/// let recorded = session.snapshot()?;
/// # assert_eq!(session.stop()?.report.events(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Later events are dropped and counted.
    Stop {
        /// The size, in bytes.
        max_bytes: u64,
    },
    /// The oldest events make room: a flight recorder.
    Ring {
        /// The size, in bytes.
        max_bytes: u64,
        /// Events older than this make room before the size is reached.
        keep: Duration,
    },
}

impl Storage {
    /// A live file at exactly this path: a percent sign in it means itself.
    pub fn file_at(path: &Path) -> Self {
        Self::File(pattern::literal(path))
    }
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
