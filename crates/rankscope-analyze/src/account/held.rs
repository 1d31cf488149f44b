//! How much time a rank's sets hold by class, up to each of the edges of some windows: what a window holds is the difference of two.
//!
//! Windows of a rank's steps and of its job lie over one another. Between two edges next to each other there is neither, so the sets are
//! gone through once for all of them. Sums are of integers and exact, as the intervals of a set are apart.

use super::{Account, Accounting};
use crate::Intervals;

/// How much time sets hold from the first edge of some windows to each of all edges.
pub(super) struct Until {
    edges_ns: Vec<i64>,
    held: Vec<Held>,
}

/// How much time sets hold.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    compute_ns: u64,
    comm_ns: u64,
    /// What both of these hold at the same time.
    both_ns: u64,
    memory_ns: u64,
    /// What memory work alone holds.
    rest_ns: u64,
}

impl Until {
    pub(super) fn of(sets: &Accounting, windows: &[(i64, i64)]) -> Self {
        let mut edges_ns: Vec<i64> =
            windows.iter().filter(|(start, end)| start < end).flat_map(|(start, end)| [*start, *end]).collect();
        edges_ns.sort_unstable();
        edges_ns.dedup();
        let (first, last) = (edges_ns.first().copied().unwrap_or(0), edges_ns.last().copied().unwrap_or(0));
        let Accounting { compute, comm, memory, .. } = sets;
        let [mut compute, mut comm, mut memory] = [compute, comm, memory].map(|set| Rest::of(set.within(first, last)));
        let mut sum = Held::default();
        let between = edges_ns.windows(2).map(|edges| {
            let [compute, comm, memory] = [&mut compute, &mut comm, &mut memory].map(|rest| rest.next(edges[0], edges[1]));
            sum.add(compute, comm, memory, edges[0], edges[1]);
            sum
        });
        let held = std::iter::once(Held::default()).chain(between).collect();
        Self { edges_ns, held }
    }

    pub(super) fn account(&self, start: i64, end: i64) -> Account {
        let held = |ns: i64| self.edges_ns.binary_search(&ns).map_or(Held::default(), |at| self.held[at]);
        let (before, until) = if start < end { (held(start), held(end)) } else { Default::default() };
        let length = |of: fn(&Held) -> u64| i64::try_from(of(&until) - of(&before)).unwrap_or(i64::MAX);
        let (computation_ns, total_comm_ns) = (length(|held| held.compute_ns), length(|held| held.comm_ns));
        // What a class adds to those before it is what they do not hide.
        let with_comm_ns = length(|held| held.compute_ns - held.both_ns + held.comm_ns);
        let busy_ns = length(|held| held.compute_ns - held.both_ns + held.comm_ns + held.rest_ns);
        let total_ns = end.saturating_sub(start);
        Account {
            computation_ns,
            exposed_comm_ns: with_comm_ns - computation_ns,
            exposed_memcpy_ns: busy_ns - with_comm_ns,
            busy_ns,
            idle_ns: total_ns - busy_ns,
            total_ns,
            total_comm_ns,
            total_memcpy_ns: length(|held| held.memory_ns),
        }
    }
}

impl Held {
    /// Adds what is in these intervals of the sets from `start` to `end`, of which some may reach beyond that.
    fn add(&mut self, compute: Spans<'_>, comm: Spans<'_>, memory: Spans<'_>, start: i64, end: i64) {
        let length =
            |spans: Spans<'_>| spans.iter().fold(0, |sum, (from, to)| sum + (*to).min(end).abs_diff((*from).max(start)));
        self.compute_ns += length(compute);
        self.comm_ns += length(comm);
        self.both_ns += length_of_both(compute, comm, start, end);
        if !memory.is_empty() {
            self.memory_ns += length(memory);
            let [compute, comm, memory] = [compute, comm, memory].map(|spans| Intervals::in_order(spans.to_vec()));
            self.rest_ns += length(memory.minus(&compute).minus(&comm).within(start, end).as_slice());
        }
    }
}

type Spans<'a> = &'a [(i64, i64)];

/// A set, of which one window after the other is asked for.
struct Rest {
    set: Intervals,
    /// The first interval that ends after what was asked for.
    next: usize,
}

impl Rest {
    fn of(set: Intervals) -> Self {
        Self { set, next: 0 }
    }

    /// The intervals that reach into the window from `start`, where the last one ended, to `end`.
    fn next(&mut self, start: i64, end: i64) -> Spans<'_> {
        let list = self.set.as_slice();
        let first = self.next + list[self.next..].iter().take_while(|(_, to)| *to <= start).count();
        let behind = first + list[first..].partition_point(|(from, _)| *from < end);
        // The last one may reach into the next window.
        self.next = behind.saturating_sub(1).max(first);
        &list[first..behind]
    }
}

/// How much time from `start` to `end` is in both of two lists of intervals that reach into that, each in order and apart.
fn length_of_both(a: Spans<'_>, b: Spans<'_>, start: i64, end: i64) -> u64 {
    let (mut own, mut others, mut sum_ns) = (0, 0, 0u64);
    while let (Some((from, to)), Some((other_from, other_to))) = (a.get(own), b.get(others)) {
        let (from, until) = (start.max(*from.max(other_from)), end.min(*to.min(other_to)));
        sum_ns += if from < until { until.abs_diff(from) } else { 0 };
        own += usize::from(to <= other_to);
        others += usize::from(other_to <= to);
    }
    sum_ns
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::any_work;
    use super::*;

    proptest! {
        /// By sets that are put together and cut.
        #[test]
        fn windows_are_accounted_together_as_each_by_itself(
            work in any_work(), windows in prop::collection::vec((-50i64..1_300, -20i64..400), 0..9)
        ) {
            let accounting = Accounting::of(&work);
            let windows: Vec<(i64, i64)> = windows.into_iter().map(|(start, long)| (start, start + long)).collect();
            let (compute, comm, memory) = (accounting.compute(), accounting.comm(), accounting.memory());
            let slowly = |(start, end): &(i64, i64)| {
                let length = |set: &Intervals| set.length_within_ns(*start, *end);
                let (with_comm, all) = (compute.union(&comm), compute.union(&comm).union(&memory));
                let total_ns = end - start;
                Account {
                    computation_ns: length(&compute),
                    exposed_comm_ns: length(&with_comm) - length(&compute),
                    exposed_memcpy_ns: length(&all) - length(&with_comm),
                    busy_ns: length(&all),
                    idle_ns: total_ns - length(&all),
                    total_ns,
                    total_comm_ns: length(&comm),
                    total_memcpy_ns: length(&memory),
                }
            };
            prop_assert_eq!(accounting.windows(&windows), windows.iter().map(slowly).collect::<Vec<_>>());
            let (start, end) = windows.first().copied().unwrap_or((0, 0));
            prop_assert_eq!(accounting.exposed_comm_within(start, end), comm.minus(&compute).within(start, end));
        }
    }
}
