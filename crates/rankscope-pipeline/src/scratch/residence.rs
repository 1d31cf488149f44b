//! What maps of files have in memory, and a thread that lets go of it where it is much.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::extent::Extent;

/// The files of which what is in memory is watched.
#[derive(Debug)]
pub(super) struct Residence {
    /// Of all files, the program's own among them.
    limit_bytes: u64,
    extents: Mutex<Vec<Weak<Extent>>>,
}

/// What one processor brings to memory meanwhile is a hundred megabytes.
const EVERY: Duration = Duration::from_millis(4);

const LIMIT_MIN_BYTES: u64 = 64 << 20;

impl Residence {
    /// Lets go of what is in memory once it is more than `limit_bytes`, for as long as this lives; little is not worth it, as what is wanted
    /// comes back page by page. Where no thread can be had, or the system
    /// does not tell what is in memory, nothing is let go of: it is the system's to take all the same.
    pub(super) fn watched(limit_bytes: u64) -> Arc<Self> {
        let limit_bytes = mapped_bytes().unwrap_or(0) + limit_bytes.max(LIMIT_MIN_BYTES);
        let residence = Arc::new(Self { limit_bytes, extents: Mutex::default() });
        let watched = Arc::downgrade(&residence);
        let watch = move || {
            while let Some(residence) = watched.upgrade() {
                residence.look();
                drop(residence);
                std::thread::sleep(EVERY);
            }
        };
        let _ = std::thread::Builder::new().name("scratch".to_owned()).spawn(watch);
        residence
    }

    /// Watches `extent`, too.
    pub(super) fn add(&self, extent: &Arc<Extent>) {
        let mut extents = self.extents.lock().unwrap_or_else(PoisonError::into_inner);
        extents.retain(|extent| extent.strong_count() > 0);
        extents.push(Arc::downgrade(extent));
    }

    /// Lets go of what is in memory, if it is more than it should be.
    pub(super) fn look(&self) {
        if mapped_bytes().is_some_and(|bytes| bytes > self.limit_bytes) {
            self.let_go();
        }
    }

    /// Lets go of what is in memory.
    pub(super) fn let_go(&self) {
        let extents = self.extents.lock().unwrap_or_else(PoisonError::into_inner).clone();
        extents.iter().filter_map(Weak::upgrade).for_each(|extent| extent.let_go());
    }
}

/// How much of files this process has in its memory.
#[cfg(target_os = "linux")]
fn mapped_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(2)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

#[cfg(not(target_os = "linux"))]
fn mapped_bytes() -> Option<u64> {
    None
}
