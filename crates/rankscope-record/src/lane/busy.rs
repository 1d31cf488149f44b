//! [`Busy`]: while one is there, events of its thread are dropped and counted, because the recorder itself is at work.
//!
//! It knows a lane's memory and nothing of what a lane is for, so that the store, which lanes write into, may use it for its locks.

use std::sync::atomic::Ordering;

use super::memory;

/// The lane is busy until the last of these is dropped; they may be dropped in any order.
pub(crate) struct Busy(());

impl Busy {
    /// Marks this thread's lane.
    pub(crate) fn mark() -> Self {
        memory::with(|lane| {
            let depth = lane.busy.load(Ordering::Relaxed);
            lane.busy.store(depth + 1, Ordering::Relaxed);
            if depth == 0 {
                lane.resting.set(lane.epoch.swap(0, Ordering::Relaxed));
            }
        });
        Self(())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        memory::with(|lane| {
            let depth = lane.busy.load(Ordering::Relaxed).saturating_sub(1);
            lane.busy.store(depth, Ordering::Relaxed);
            // Handed back as it was found: not at all if that was in the middle of a record, nor if the lane has left since.
            let epoch = lane.resting.get();
            if depth == 0 && epoch != 0 && lane.attached.get() == epoch {
                lane.epoch.store(epoch, Ordering::Relaxed);
            }
        });
    }
}
