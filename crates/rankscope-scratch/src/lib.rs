//! Where a program keeps what a job has as much of as rows.
//!
//! A job of sixteen thousand ranks has hundreds of millions of rows, and whoever judges it goes through them in order a few times. So what
//! there is of each row need not be in memory: it may lie wherever the program has room, as long as it reads as memory does. Crates that
//! know nothing of files hand their bytes to [`Kept`] and [`Slots`]; the program may [`install`] a [`Scratch`], which takes them. Without
//! one, or where it refuses, they stay on the heap, and nothing but that differs.
//!
//! No file is opened here.
//!
//! # Example
//!
//! ```
//! use rankscope_scratch::{Kept, Slots};
//!
//! let mut kept = Kept::default();
//! kept.make_mut().extend([1, 2, 3]);
//! kept.keep();
//! assert_eq!(*kept, [1, 2, 3]);
//!
//! let mut stamps = Slots::<i64>::zeroed(2);
//! stamps[1] = 1_790_000_000_000_000_000;
//! assert_eq!(*stamps, [0, 1_790_000_000_000_000_000]);
//! ```

mod kept;
mod slots;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;

pub use kept::Kept;
pub use slots::Slots;

/// Room outside of the heap.
pub trait Scratch: fmt::Debug + Send + Sync {
    /// Takes `bytes`, which do not change any more.
    fn keep(&self, bytes: Vec<u8>) -> Bytes;

    /// Is called after many [reads](read).
    fn look(&self) {}

    /// Room for so many bytes, all of them 0, which begins at a multiple of eight; `None` where they should be on the heap.
    fn room(&self, bytes: usize) -> Option<Box<dyn Room>>;
}

/// Bytes that may be written.
pub trait Room: AsRef<[u8]> + AsMut<[u8]> + fmt::Debug + Send + Sync {
    /// Writes `bytes` to those from the one numbered `from` on. Many at once may be much quicker than through `as_mut`.
    ///
    /// # Panics
    /// If there are not so many.
    fn put(&mut self, from: usize, bytes: &[u8]) {
        self.as_mut()[from..from + bytes.len()].copy_from_slice(bytes);
    }
}

static INSTALLED: RwLock<Option<Arc<dyn Scratch>>> = RwLock::new(None);

/// From now on what this process keeps goes to `scratch`; to the heap, if to none. What was kept before stays where it is.
pub fn install(scratch: Option<Arc<dyn Scratch>>) {
    *INSTALLED.write().unwrap_or_else(PoisonError::into_inner) = scratch;
}

/// To be called before so many `bytes` of something that is kept are read or written in place: whoever has it in files may want to let go of what came to memory,
/// and a thread that watches is not woken as soon.
#[inline]
pub fn read(bytes: usize) {
    let bytes = bytes.max(AROUND_BYTES);
    let before = READ_BYTES.fetch_add(bytes, Relaxed);
    if before / LOOK_EVERY_BYTES != before.wrapping_add(bytes) / LOOK_EVERY_BYTES
        && let Some(scratch) = installed()
    {
        scratch.look();
    }
}

/// What a byte of a file brings to memory that is read through a map: sixteen pages.
const AROUND_BYTES: usize = 64 << 10;

static READ_BYTES: AtomicUsize = AtomicUsize::new(0);

const LOOK_EVERY_BYTES: usize = 64 << 20;

fn installed() -> Option<Arc<dyn Scratch>> {
    INSTALLED.read().unwrap_or_else(PoisonError::into_inner).clone()
}
