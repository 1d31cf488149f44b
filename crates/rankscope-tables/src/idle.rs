//! Why devices and their streams had nothing to do.
//!
//! A gap ends with the work that starts next. Where that was launched only after the gap had begun, the host was late; where it was
//! launched before, the device took so long between two kernels if the gap is short, and it waited for something else (an event,
//! another stream, another rank) if it is long. The rules are those of HTA's idle breakdown, which has them by stream.

use rankscope_trace::{Trace, TrackId};
use serde::{Deserialize, Serialize};

use crate::Attribution;
use crate::kernels::stream;
use crate::rows::join_rows;

/// Gaps up to this long lie between two kernels that were both launched already, in nanoseconds: HTA's limit.
const BETWEEN_KERNELS_NS_MAX: i64 = 30_000;

/// Why there was nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum IdleCause {
    /// The work that came next was launched after the device had run dry.
    HostWait,
    /// It had been launched, and started within 30 us.
    KernelWait,
    /// It had been launched and started later than that, or its launch is not recorded.
    Other,
}

impl IdleCause {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::HostWait => "host_wait",
            Self::KernelWait => "kernel_wait",
            Self::Other => "other",
        }
    }
}

/// Idle time by its cause, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleTime {
    /// The work that came next was launched after the device had run dry.
    pub host_wait_ns: i64,
    /// It had been launched, and started within 30 us.
    pub kernel_wait_ns: i64,
    /// It had been launched and started later than that, or its launch is not recorded.
    pub other_ns: i64,
}

/// Idle time of the rank's devices, and of each stream by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idle {
    /// Between the first and the last work of all devices, while none of them worked.
    pub whole: IdleTime,
    /// By stream, between its own first and last work, those that idled longest first.
    pub streams: Vec<(String, IdleTime)>,
}

impl IdleTime {
    /// All of it.
    pub fn sum_ns(&self) -> i64 {
        self.host_wait_ns.saturating_add(self.kernel_wait_ns).saturating_add(self.other_ns)
    }

    /// Adds that of another stretch of time.
    pub fn join(&mut self, later: Self) {
        self.host_wait_ns = self.host_wait_ns.saturating_add(later.host_wait_ns);
        self.kernel_wait_ns = self.kernel_wait_ns.saturating_add(later.kernel_wait_ns);
        self.other_ns = self.other_ns.saturating_add(later.other_ns);
    }

    fn add(&mut self, gap: &Gap) {
        let sum = match gap.cause {
            IdleCause::HostWait => &mut self.host_wait_ns,
            IdleCause::KernelWait => &mut self.kernel_wait_ns,
            IdleCause::Other => &mut self.other_ns,
        };
        *sum = sum.saturating_add(gap.length_ns());
    }
}

/// The idle time of `trace`.
pub fn idle(trace: &Trace, attribution: &Attribution) -> Idle {
    let mut work = pieces(trace, attribution);
    let whole = sums(&work);
    work.sort_unstable_by_key(|piece| (piece.track, *piece));
    let of_stream = |own: &[Piece]| (stream(trace, own[0].track), sums(own));
    let mut streams: Vec<_> = work.chunk_by(|a, b| a.track == b.track).map(of_stream).collect();
    sort(&mut streams);
    Idle { whole, streams }
}

impl Idle {
    /// Adds that of a later export of the same rank; what lies between the two is not recorded.
    pub(crate) fn join(&mut self, later: Self) {
        self.whole.join(later.whole);
        join_rows(&mut self.streams, later.streams, |row| row.0.clone(), |row, more| row.1.join(more.1));
        sort(&mut self.streams);
    }
}

fn sort(streams: &mut [(String, IdleTime)]) {
    streams.sort_by(|a, b| (b.1.sum_ns(), &a.0).cmp(&(a.1.sum_ns(), &b.0)));
}

/// A piece of work. Pieces are in order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Piece {
    start_ns: i64,
    end_ns: i64,
    launched_ns: Option<i64>,
    track: TrackId,
    /// Its place in the attribution.
    pub(crate) at: usize,
}

/// All work of the rank's devices, in order of time.
pub(crate) fn pieces(trace: &Trace, attribution: &Attribution) -> Vec<Piece> {
    let piece = |(at, one): (usize, &crate::Attributed)| Piece {
        track: trace.spans.row(one.work).track,
        start_ns: trace.spans.start_ns(one.work),
        end_ns: trace.spans.end_ns(one.work),
        launched_ns: one.launch.map(|launch| trace.spans.start_ns(launch)),
        at,
    };
    let mut work: Vec<Piece> = attribution.work.iter().enumerate().map(piece).collect();
    work.sort_unstable();
    work
}

/// Time in which nothing ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) cause: IdleCause,
    /// The work that ended last before it, and the work that ends it.
    pub(crate) before: Piece,
    pub(crate) after: Piece,
}

impl Gap {
    pub(crate) fn length_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// The gaps of `work`, in order.
pub(crate) fn gaps(work: &[Piece]) -> impl Iterator<Item = Gap> {
    let mut last = work.first().copied();
    work.iter().filter_map(move |piece| {
        let before = last?;
        if piece.end_ns > before.end_ns {
            last = Some(*piece);
        }
        let (start_ns, end_ns) = (before.end_ns, piece.start_ns);
        let cause = match piece.launched_ns.map(|launched_ns| launched_ns <= start_ns) {
            Some(false) => IdleCause::HostWait,
            Some(true) if end_ns.saturating_sub(start_ns) <= BETWEEN_KERNELS_NS_MAX => IdleCause::KernelWait,
            _ => IdleCause::Other,
        };
        (end_ns > start_ns).then_some(Gap { start_ns, end_ns, cause, before, after: *piece })
    })
}

fn sums(work: &[Piece]) -> IdleTime {
    let mut idle = IdleTime::default();
    gaps(work).for_each(|gap| idle.add(&gap));
    idle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_of_the_work_that_ends_it() {
        let piece = |start_ns, end_ns, launched_ns| Piece { start_ns, end_ns, launched_ns, track: TrackId(0), at: 0 };
        let work = [
            piece(0, 10_000, Some(-5)),
            // Launched while the device worked, and soon there.
            piece(12_000, 20_000, Some(9_000)),
            // Within the one before: no gap.
            piece(13_000, 15_000, None),
            // Launched after the device had run dry.
            piece(50_000, 60_000, Some(45_000)),
            // Launched long before, and late.
            piece(160_000, 170_000, Some(40_000)),
            // Nothing is recorded of its launch.
            piece(171_000, 172_000, None),
        ];
        assert_eq!(sums(&work), IdleTime { host_wait_ns: 30_000, kernel_wait_ns: 2_000, other_ns: 101_000 });
        assert_eq!(sums(&[]), IdleTime::default());
    }
}
