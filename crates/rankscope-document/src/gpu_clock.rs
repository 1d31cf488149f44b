//! How GPUs' clocks stand to their hosts', as far as the times of kernels bound that: a part of the report's document.

use serde::{Deserialize, Serialize};

use crate::vocabulary::vocabulary;

/// The clock of one rank's GPU against the rank's own, as recorded.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GpuClock {
    /// The rank.
    pub rank: u32,
    /// Operations whose times on the GPU were told.
    pub operations: u64,
    /// Those that nobody told a launch of, which bound from one side only.
    pub unlaunched: u64,
    /// Those that were not used, by why.
    pub unusable: Vec<GpuTimesCount>,
    /// How long the GPU's clock shows the same number, at most. The intervals include it.
    pub step_ns: i64,
    /// Windows of at most ten seconds that have a line.
    pub windows: u64,
    /// Of these, windows whose interval is no proof.
    pub unproven: u64,
    /// Windows without a line, by why.
    pub lineless: Vec<GpuClockCount>,
    /// The window that says most: the narrowest whose interval is a proof, else the narrowest; `null` where there is none.
    pub narrowest: Option<GpuClockWindow>,
    /// What the widest interval of a window leaves open.
    pub width_ns_max: Option<i64>,
    /// Operations whose work on the GPU has a place on the rank's clock, and so on the timeline; `null` where nobody asked.
    #[serde(default)]
    pub placed: Option<u64>,
    /// How far one of these can be from its place, at most; `null` where there is none.
    #[serde(default)]
    pub placed_error_ns_max: Option<i64>,
    /// Operations that have none, by why.
    #[serde(default)]
    pub not_placed: Vec<GpuNotPlacedCount>,
    /// The windows in order of time. In a job of more than 10,000 windows those of its first ranks.
    pub lines: Vec<GpuClockWindow>,
}

/// A GPU's clock over one window. Instants are on the rank's clock, as recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuClockWindow {
    /// First and last stamp.
    pub window_ns: [i64; 2],
    /// The middle, where the offset holds.
    pub at_ns: i64,
    /// `GPU - host`, as estimated.
    pub offset_ns: i64,
    /// Least that it can be.
    pub lo_ns: i64,
    /// Greatest.
    pub hi_ns: i64,
    /// What the GPU's clock gains, in parts per billion.
    pub drift_ppb: i64,
    /// Least that it can gain.
    pub drift_lo_ppb: i64,
    /// Greatest.
    pub drift_hi_ppb: i64,
    /// Bounds from above: kernels with a launch.
    pub above: u32,
    /// Bounds from below: kernels whose end was seen.
    pub below: u32,
    /// Whether the interval is a proof. It is none where some times lie oddly beside the others.
    pub proven: bool,
}

impl GpuClockWindow {
    /// How much the interval leaves open.
    pub fn width_ns(&self) -> i64 {
        self.hi_ns.saturating_sub(self.lo_ns)
    }
}

/// Operations whose times were not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuTimesCount {
    /// Why.
    pub reason: GpuTimesUnusable,
    /// How many.
    pub count: u64,
}

/// Windows that have no line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuClockCount {
    /// Why.
    pub reason: GpuClockUnknown,
    /// How many.
    pub count: u64,
}

/// Operations whose work on the GPU has no place on the rank's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuNotPlacedCount {
    /// Why.
    pub reason: GpuNotPlaced,
    /// How many.
    pub count: u64,
}

vocabulary! {
    /// Why work on the GPU has no place on the rank's clock.
    GpuNotPlaced {
        /// Its times were not used.
        Unusable = "unusable",
        /// No line where it lies.
        NoLine = "no_line",
        /// Something is odd about the times around it, so that the line would hold on a condition only.
        Odd = "odd",
        /// No launch was told, so its times may be another operation's.
        Unlaunched = "unlaunched",
        /// The rank recorded several files.
        SeveralFiles = "several_files",
    }
}

vocabulary! {
    /// Why times of an operation on the GPU were not used.
    GpuTimesUnusable {
        /// One of them is zero.
        Untold = "untold",
        /// They are far from any clock's.
        OutOfRange = "out_of_range",
        /// Something stopped before it started.
        Backwards = "backwards",
        /// The GPU worked for longer than the host waited.
        TooLong = "too_long",
        /// They lie outside of what other operations leave possible.
        Contradicts = "contradicts",
        /// An earlier operation of the communicator contradicted itself or others.
        AfterContradiction = "after_contradiction",
    }
}

vocabulary! {
    /// Why a window has no line.
    GpuClockUnknown {
        /// Fewer than ten operations with both bounds.
        TooFew = "too_few",
        /// No launch was told: nothing bounds the clock from above.
        OneSided = "one_sided",
        /// No line fits, or none that goes on where the one before ended.
        Contradiction = "contradiction",
    }
}
