//! The calls that launch work: how long they take on the host, and how long after them the work starts.
//!
//! The limits from which on a call is called long or a start late are HTA's. Only calls whose work is recorded are here.

use rankscope_trace::{SpanId, StrId, Trace};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::attribution::dur_ns;
use crate::rows::join_rows;
use crate::{Attribution, Lengths};

/// A call that takes longer than this is long, in nanoseconds.
pub const LONG_CALL_NS: i64 = 50_000;

/// Work that starts later than this after its call has ended is late, in nanoseconds.
pub const LATE_START_NS: i64 = 100_000;

/// All calls of one name that launched work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRow {
    /// The call, as `cudaLaunchKernel`.
    pub name: String,
    /// How long the calls took on the host.
    pub call: Lengths,
    /// From the end of each call to the start of the first work that it launched; below zero where that began during the call.
    pub delay: Lengths,
    /// How long each piece of work took that they launched: a call may launch many.
    pub work: Lengths,
    /// How many pieces of work took less than the call that launched them.
    pub shorter_work: u64,
    /// How many calls took longer than [`LONG_CALL_NS`].
    pub long_calls: u64,
    /// How many delays are longer than [`LATE_START_NS`].
    pub late_starts: u64,
}

/// The times of all calls of one name.
#[derive(Default)]
struct Times {
    call: Vec<i64>,
    delay: Vec<i64>,
    work: Vec<i64>,
    shorter_work: usize,
}

/// The launching calls of `trace`, those that took longest in all first; ties by name.
pub fn calls(trace: &Trace, attribution: &Attribution) -> Vec<CallRow> {
    let launched = |one: &crate::Attributed| Some((one.launch?, trace.spans.start_ns(one.work), one.work));
    let mut launched: Vec<(SpanId, i64, SpanId)> = attribution.work.iter().filter_map(launched).collect();
    launched.sort_unstable();
    let mut times: FxHashMap<StrId, Times> = FxHashMap::default();
    for own in launched.chunk_by(|a, b| a.0 == b.0) {
        let (call, first_start_ns, _) = own[0];
        let call_ns = dur_ns(trace, call);
        let of_name = times.entry(trace.spans.name[call.0 as usize]).or_default();
        of_name.call.push(call_ns);
        of_name.delay.push(first_start_ns.saturating_sub(trace.spans.end_ns(call)));
        let work = || own.iter().map(|(.., work)| dur_ns(trace, *work));
        of_name.shorter_work += work().filter(|ns| *ns < call_ns).count();
        of_name.work.extend(work());
    }
    let longer = |times: &[i64], limit_ns: i64| times.iter().filter(|ns| **ns > limit_ns).count() as u64;
    let row = |(name, times): (StrId, Times)| CallRow {
        name: trace.strings.text(name).to_owned(),
        shorter_work: times.shorter_work as u64,
        long_calls: longer(&times.call, LONG_CALL_NS),
        late_starts: longer(&times.delay, LATE_START_NS),
        call: Lengths::of(times.call),
        delay: Lengths::of(times.delay),
        work: Lengths::of(times.work),
    };
    let mut rows: Vec<CallRow> = times.into_iter().map(row).collect();
    sort(&mut rows);
    rows
}

/// Adds the rows of a later export of the same rank.
pub(crate) fn join(rows: &mut Vec<CallRow>, later: Vec<CallRow>) {
    join_rows(
        rows,
        later,
        |row| row.name.clone(),
        |row, more| {
            row.call.join(more.call);
            row.delay.join(more.delay);
            row.work.join(more.work);
            row.shorter_work += more.shorter_work;
            row.long_calls += more.long_calls;
            row.late_starts += more.late_starts;
        },
    );
    sort(rows);
}

fn sort(rows: &mut [CallRow]) {
    rows.sort_by(|a, b| (b.call.spread.sum_ns, &a.name).cmp(&(a.call.spread.sum_ns, &b.name)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::Made;

    fn rows(made: &Made) -> Vec<CallRow> {
        calls(&made.trace, &Attribution::of(&made.trace))
    }

    #[test]
    fn a_call_is_long_and_its_work_short_or_late() {
        let mut made = Made::default();
        made.launch("cudaLaunchKernel", 0, 51, 1);
        made.launch("cudaLaunchKernel", 100, 50, 2);
        made.launch("cudaLaunchKernel", 200, 4, 3);
        made.launch("cudaMemcpyAsync", 300, 4, 9);
        // Within its call.
        made.kernel("a", 7, 50, 3, 1);
        made.kernel("b", 7, 250, 50, 2);
        made.kernel("c", 7, 305, 70, 3);
        let rows = rows(&made);
        assert_eq!(rows.len(), 1, "nothing is recorded of what the copy did");
        let row = &rows[0];
        assert_eq!((row.call.spread.count, row.call.spread.sum_ns, row.call.median_ns), (3, 105_000, Some(50_000)));
        assert_eq!((row.delay.spread.min_ns, row.delay.median_ns, row.delay.spread.max_ns), (-1_000, Some(100_000), 101_000));
        assert_eq!(row.work.spread.sum_ns, 123_000);
        assert_eq!((row.shorter_work, row.long_calls, row.late_starts), (1, 1, 1));
    }

    #[test]
    fn a_call_that_launches_many_counts_once() {
        let mut made = Made::default();
        made.launch("cudaGraphLaunch", 0, 10, 1);
        made.kernel("b", 7, 30, 5, 1);
        made.kernel("a", 7, 20, 5, 1);
        let row = &rows(&made)[0];
        assert_eq!((row.call.spread.count, row.work.spread.count, row.shorter_work), (1, 2, 2));
        assert_eq!((row.delay.spread.count, row.delay.spread.sum_ns), (1, 10_000), "to the first of its work");
    }

    #[test]
    fn medians_of_two_exports_do_not_add() {
        let mut made = Made::default();
        made.launch("cudaLaunchKernel", 0, 10, 1);
        made.kernel("a", 7, 20, 5, 1);
        let mut twice = rows(&made);
        join(&mut twice, rows(&made));
        assert_eq!((twice[0].call.spread.sum_ns, twice[0].call.median_ns), (20_000, None));
    }
}
