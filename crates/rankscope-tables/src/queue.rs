//! How much work waited for each stream: launched, and not yet started.
//!
//! A piece of work is in the queue from the start of the call that launched it to its own start. What began before its call, as the
//! two clocks of a profiler may have it, never waited; where no call is recorded, nobody knows. The course over time is in
//! [`crate::queue_levels`].

use rankscope_trace::{Trace, TrackId};
use serde::{Deserialize, Serialize};

use crate::Attribution;
use crate::kernels::stream;
use crate::rows::join_rows;

/// From this length on a queue of CUDA is full: the next call to launch waits.
pub const FULL_QUEUE: u64 = 1_024;

/// The queue of one stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueRow {
    /// The stream, as the file writes it.
    pub stream: String,
    /// How much work went through it.
    pub count: u64,
    /// The most that it held at once.
    pub most: u64,
    /// Sum of the times that each piece of work waited in it, in nanoseconds.
    pub waited_ns: i64,
    /// From the first launch to the last start, in nanoseconds.
    pub window_ns: i64,
    /// How long it held [`FULL_QUEUE`] or more, in nanoseconds.
    pub blocked_ns: i64,
}

impl QueueRow {
    /// How much it held in the mean over its window; 0 of an empty window.
    pub fn mean(&self) -> f64 {
        if self.window_ns == 0 { 0.0 } else { self.waited_ns as f64 / self.window_ns as f64 }
    }
}

/// The queues of `trace`, those that held most first; ties by stream.
pub fn queues(trace: &Trace, attribution: &Attribution) -> Vec<QueueRow> {
    let waited = |one: &crate::Attributed| {
        let (launched_ns, started_ns) = (trace.spans.start_ns(one.launch?), trace.spans.start_ns(one.work));
        Some((trace.spans.row(one.work).track, launched_ns, started_ns.max(launched_ns)))
    };
    let mut waits: Vec<(TrackId, i64, i64)> = attribution.work.iter().filter_map(waited).collect();
    waits.sort_unstable();
    let row = |own: &[(TrackId, i64, i64)]| {
        let waits: Vec<(i64, i64)> = own.iter().map(|(_, launched_ns, started_ns)| (*launched_ns, *started_ns)).collect();
        queue(stream(trace, own[0].0), &waits)
    };
    let mut rows: Vec<QueueRow> = waits.chunk_by(|a, b| a.0 == b.0).map(row).collect();
    sort(&mut rows);
    rows
}

/// The queue that held work from the first to the second of each of `waits`, which come by the first.
fn queue(stream: String, waits: &[(i64, i64)]) -> QueueRow {
    let mut starts: Vec<i64> = waits.iter().map(|(_, started_ns)| *started_ns).collect();
    starts.sort_unstable();
    let (mut most, mut blocked_ns, mut started) = (0, 0_i64, 0);
    let mut full_from_ns = None;
    for (launched, (launched_ns, _)) in waits.iter().enumerate() {
        // What starts at this instant has left.
        while started < launched && starts[started] <= *launched_ns {
            end_of_full(&mut full_from_ns, &mut blocked_ns, launched - started, starts[started]);
            started += 1;
        }
        let held = (launched + 1 - started) as u64;
        most = held.max(most);
        if held >= FULL_QUEUE {
            full_from_ns.get_or_insert(*launched_ns);
        }
    }
    for (place, start_ns) in starts.iter().enumerate().skip(started) {
        end_of_full(&mut full_from_ns, &mut blocked_ns, waits.len() - place, *start_ns);
    }
    let waited_ns = waits.iter().fold(0, |sum: i64, (from, to)| sum.saturating_add(to.saturating_sub(*from)));
    let window_ns = starts.last().zip(waits.first()).map_or(0, |(last, (first, _))| last.saturating_sub(*first));
    QueueRow { stream, count: waits.len() as u64, most, waited_ns, window_ns, blocked_ns }
}

/// One of `held` leaves at `now_ns`: what was full no longer is if it was the last too many.
fn end_of_full(full_from_ns: &mut Option<i64>, blocked_ns: &mut i64, held: usize, now_ns: i64) {
    if held as u64 == FULL_QUEUE
        && let Some(from_ns) = full_from_ns.take()
    {
        *blocked_ns = blocked_ns.saturating_add(now_ns.saturating_sub(from_ns));
    }
}

/// Adds the rows of a later export of the same rank.
pub(crate) fn join(rows: &mut Vec<QueueRow>, later: Vec<QueueRow>) {
    join_rows(
        rows,
        later,
        |row| row.stream.clone(),
        |row, more| {
            row.count += more.count;
            row.most = row.most.max(more.most);
            row.waited_ns = row.waited_ns.saturating_add(more.waited_ns);
            row.window_ns = row.window_ns.saturating_add(more.window_ns);
            row.blocked_ns = row.blocked_ns.saturating_add(more.blocked_ns);
        },
    );
    sort(rows);
}

fn sort(rows: &mut [QueueRow]) {
    rows.sort_by(|a, b| (b.most, b.waited_ns, &a.stream).cmp(&(a.most, a.waited_ns, &b.stream)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::made::Made;

    #[test]
    fn work_waits_from_its_launch_to_its_start() {
        let mut made = Made::default();
        for (correlation, start_us) in [(1, 0), (2, 10), (3, 20)] {
            made.launch("cudaLaunchKernel", start_us, 5, correlation);
        }
        made.kernel("a", 7, 10, 30, 1);
        made.kernel("b", 7, 40, 30, 2);
        made.kernel("c", 7, 70, 30, 3);
        made.kernel("nobody's", 8, 70, 30, 9);
        let rows = queues(&made.trace, &Attribution::of(&made.trace));
        let waited_ns = 10_000 + 30_000 + 50_000;
        let row = QueueRow { stream: "7".to_owned(), count: 3, most: 2, waited_ns, window_ns: 70_000, blocked_ns: 0 };
        assert_eq!(rows, [row]);
    }

    #[test]
    fn a_full_queue_blocks_until_work_starts() {
        // 1,026 launches, one each nanosecond, that all start from 5,000 ns on, one each ten.
        let waits: Vec<(i64, i64)> = (0..1_026).map(|at| (at, 5_000 + 10 * at)).collect();
        let row = queue("7".to_owned(), &waits);
        assert_eq!(row.most, 1_026);
        // Full with the 1,024th launch; no longer with the third start.
        assert_eq!(row.blocked_ns, 5_020 - 1_023);
    }

    proptest! {
        #[test]
        fn a_queue_holds_what_was_launched_and_has_not_started(waits in prop::collection::vec((0i64..60, 1i64..20), 1..40)) {
            let mut waits: Vec<(i64, i64)> = waits.into_iter().map(|(from, long)| (from, from + long)).collect();
            waits.sort_unstable();
            let row = queue("7".to_owned(), &waits);
            // Launches minus starts at each instant.
            let held = |at: i64| {
                waits.iter().filter(|(from, _)| *from <= at).count() as i64 - waits.iter().filter(|(_, to)| *to <= at).count() as i64
            };
            prop_assert_eq!((0..80).map(held).sum::<i64>(), row.waited_ns);
            prop_assert_eq!((0..80).map(held).max(), Some(row.most as i64));
            prop_assert!((0..80).all(|at| held(at) >= 0));
        }
    }
}
