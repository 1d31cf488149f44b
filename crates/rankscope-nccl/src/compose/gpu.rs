//! When the GPU worked on an operation, by its own clock, and what of the host's clock that lies between.
//!
//! Whether the times can be true is not judged here: that takes the other operations. The launch is the first of the call's group, which is
//! none after the operation's own; where launches are not told, the call. When an operation is enqueued says nothing: that may be after
//! its launch. Nor does the call of a graph, which is launched anew each time it runs.

use std::ops::RangeInclusive;

/// The first start and the last stop of its channels, as they were told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GpuTimes {
    /// No later than the kernel's launch; none where nothing tells.
    pub(crate) launched_tick: Option<u64>,
    /// When the first channel started; zero where that was not told.
    pub(crate) start_ns: u64,
    /// When the last channel stopped; zero where that was not told.
    pub(crate) stop_ns: u64,
    /// When it was told that the last channel had stopped.
    pub(crate) seen_tick: u64,
}

impl GpuTimes {
    /// From when to when, where both were told and in that order: of others one is another operation's.
    pub(crate) fn in_order(self) -> Option<RangeInclusive<u64>> {
        (self.start_ns != 0 && self.start_ns <= self.stop_ns).then_some(self.start_ns..=self.stop_ns)
    }
}

/// What is known so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gpu {
    launched_tick: Option<u64>,
    start_ns: u64,
    /// The last stop, and when it was told.
    stop: Option<(u64, u64)>,
}

impl Gpu {
    /// Its kernel was launched at this tick or later.
    pub(super) fn launched(&mut self, tick: u64) {
        self.launched_tick = Some(tick);
    }

    /// A channel started; zero is no time.
    pub(super) fn started(&mut self, ns: u64) {
        if ns != 0 && (self.start_ns == 0 || ns < self.start_ns) {
            self.start_ns = ns;
        }
    }

    /// A channel stopped, which was told at `tick`; zero is no time.
    pub(super) fn stopped(&mut self, ns: u64, tick: u64) {
        if self.stop.is_none_or(|(last_ns, _)| ns > last_ns) {
            self.stop = Some((ns, tick));
        }
    }

    /// All of it, where channels were told to have stopped.
    pub(super) fn times(self) -> Option<GpuTimes> {
        let (stop_ns, seen_tick) = self.stop?;
        Some(GpuTimes { launched_tick: self.launched_tick, start_ns: self.start_ns, stop_ns, seen_tick })
    }
}
