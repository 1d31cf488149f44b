//! What the library itself has to say, whatever is recorded.

use std::sync::atomic::{AtomicU64, Ordering};

use rankscope_record::{Session, state_word};

use crate::guard::{PANICS, REFUSED, answered};
use crate::sessions;
use crate::status::Status;
use crate::structures::fill;

/// What the library did and refused since the process began. Set `struct_size` first; it then says how much was filled in.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Stats {
    /// `sizeof(rankscope_stats)`.
    pub struct_size: u32,
    /// Categories that are recorded at the moment, a bit each; zero when off.
    pub categories: u32,
    /// Sessions that run in this process, whoever started them.
    pub sessions_running: u64,
    /// Handles that are not closed.
    pub handles_open: u64,
    /// Calls and arguments that were refused, also by functions that cannot say so.
    pub calls_refused: u64,
    /// Texts that were not UTF-8.
    pub texts_not_utf8: u64,
    /// Panics of the library that were contained: bugs.
    pub panics_contained: u64,
}

const LEAST: u32 = 48;

static NOT_UTF8: AtomicU64 = AtomicU64::new(0);

/// Counts a text that is not UTF-8.
pub(crate) fn not_utf8() {
    NOT_UTF8.fetch_add(1, Ordering::Relaxed);
}

/// How many there were.
pub(crate) fn texts_not_utf8() -> u64 {
    NOT_UTF8.load(Ordering::Relaxed)
}

/// Where the switch lies that the header looks at: categories that are recorded, a bit each, in the lower half.
#[unsafe(no_mangle)]
pub static rankscope_state: &AtomicU64 = state_word();

/// What the library did and refused since the process began.
///
/// # Safety
/// `stats` is null, or has as many bytes as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_get_stats(stats: *mut Stats) -> Status {
    answered(|| {
        let now = Stats {
            struct_size: size_of::<Stats>() as u32,
            categories: state_word().load(Ordering::Relaxed) as u32,
            sessions_running: Session::all().len() as u64,
            handles_open: sessions::open() as u64,
            calls_refused: REFUSED.load(Ordering::Relaxed),
            texts_not_utf8: texts_not_utf8(),
            panics_contained: PANICS.load(Ordering::Relaxed),
        };
        // SAFETY: the caller says so, and it is what is filled in.
        unsafe { fill(stats, &now, "rankscope_stats", LEAST) }
    })
}
