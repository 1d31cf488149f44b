//! How finely the two clocks tell time.
//!
//! A GPU's clock shows the same number for 32 ns to a microsecond, depending on the card and on who else watches it. It goes on by equal
//! steps, so two numbers that differ do so by a step at least: the least distance between any two stamps is no less than a step. Where
//! stamps are too few to come close, what cards are known to do is the limit; where even that is too little, because distances are
//! multiples of something longer, that is the step. The host's ticks become nanoseconds through readings, each good to its width.

use rankscope_trace::{HostClock, Trace};

/// The longest step that cards are known to have: 1.024 us.
const KNOWN_STEP_NS: i64 = 1_024;

/// What the GPU's clock in `trace` goes on by at once, at most.
pub(super) fn step_ns(trace: &Trace) -> i64 {
    let stamps = trace.gpu_times.iter().flat_map(|(_, times)| [times.start_ns, times.stop_ns]);
    let mut stamps: Vec<i64> = stamps.filter(|ns| *ns != 0).filter_map(|ns| i64::try_from(ns).ok()).collect();
    stamps.sort_unstable();
    stamps.dedup();
    let distances = |of: &[i64]| of.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<i64>>();
    let least = distances(&stamps).into_iter().min().unwrap_or(KNOWN_STEP_NS);
    let divisor = |of: &[i64]| distances(of).into_iter().fold(0, common_divisor);
    let divisors = stamps.chunks_exact(TOGETHER).map(divisor).max();
    least.min(KNOWN_STEP_NS).max(divisors.unwrap_or_else(|| divisor(&stamps))).min(OFF_MAX_NS)
}

/// Stamps that are looked at together for what divides their distances. A stamp that is none spoils that for those beside it alone.
const TOGETHER: usize = 64;

fn common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Where the host's clock was read.
pub(super) struct Readings {
    /// When, on the trace's clock, ascending, and how wide.
    widths: Vec<(i64, i64)>,
}

impl Readings {
    /// Those that the trace's clock goes through: the raw clock's, less the few that were left out when it was made.
    pub(super) fn of(trace: &Trace) -> Self {
        let raw = || trace.provenance.clock_readings.iter().filter(|reading| reading.clock == HostClock::MonotonicRaw);
        let mut constants: Vec<i64> = raw().map(|reading| reading.trace_ns.saturating_sub(reading.ns)).collect();
        constants.sort_unstable();
        let usual = constants.get(constants.len() / 2).copied().unwrap_or(0);
        let is_used = |ns: i64| ns.saturating_sub(usual).saturating_abs() <= ROUNDED_NS;
        let used = raw().filter(|reading| is_used(reading.trace_ns.saturating_sub(reading.ns)));
        let mut widths: Vec<(i64, i64)> =
            used.map(|reading| (reading.trace_ns, i64::try_from(reading.width_ns).unwrap_or(i64::MAX))).collect();
        widths.sort_unstable();
        Self { widths }
    }

    /// What two stamps between `from_ns` and `until_ns` are off against each other, at most: each lies between two readings, both off
    /// by no more than their widths, or beyond the last two, on the line through them, as far away as they are from each other.
    pub(super) fn off_ns(&self, from_ns: i64, until_ns: i64) -> i64 {
        let first = self.widths.partition_point(|(at, _)| *at <= from_ns);
        let last = self.widths.partition_point(|(at, _)| *at < until_ns);
        let is_between = first > 0 && last < self.widths.len();
        // Two before and two behind, through which lines may go on.
        let around = first.saturating_sub(2)..(last + 2).min(self.widths.len());
        let widest = self.widths[around].iter().map(|(_, width)| *width).max().unwrap_or(0);
        widest.saturating_mul(if is_between { 2 } else { 6 }).min(OFF_MAX_NS)
    }
}

/// Nanoseconds by which a reading may be off the line through it: both are whole.
const ROUNDED_NS: i64 = 2;
/// More is no step and no reading. Bounds that are loosened by this still fit where they must.
const OFF_MAX_NS: i64 = 1 << 40;
