//! When the GPU worked on an operation, by its own clock, and whether that can be.

/// The first start and the last stop of its channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GpuTimes {
    /// When the first channel started.
    pub(crate) start_ns: u64,
    /// When the last channel stopped.
    pub(crate) stop_ns: u64,
}

/// What channels have said so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gpu {
    start_ns: u64,
    stop_ns: u64,
}

impl Gpu {
    /// A channel started; zero is no time.
    pub(super) fn started(&mut self, ns: u64) {
        if ns != 0 && (self.start_ns == 0 || ns < self.start_ns) {
            self.start_ns = ns;
        }
    }

    /// A channel stopped; zero is no time.
    pub(super) fn stopped(&mut self, ns: u64) {
        self.stop_ns = self.stop_ns.max(ns);
    }

    /// Both, where both were said and the one is not before the other: times of another operation have been seen there.
    pub(super) fn times(self) -> Option<GpuTimes> {
        let Self { start_ns, stop_ns } = self;
        (start_ns != 0 && start_ns <= stop_ns).then_some(GpuTimes { start_ns, stop_ns })
    }
}
