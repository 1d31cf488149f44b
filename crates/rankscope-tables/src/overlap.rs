//! How much of the communication ran while the same rank's devices computed.
//!
//! What communicates is told by the classes that its caller has the work in. Intervals are united first, so
//! collectives side by side count once in the whole; each kernel by itself counts all its own.

use rankscope_analyze::{Class, Intervals, Work};
use rankscope_trace::{StrId, Trace};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::rows::join_rows;

/// Communication, and the part of it that compute hides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hidden {
    /// How long anything communicated, in nanoseconds.
    pub comm_ns: i64,
    /// How much of that something computed, in nanoseconds.
    pub hidden_ns: i64,
}

/// Communication of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlap {
    /// All of it.
    pub whole: Hidden,
    /// By kernel, those that communicated longest first.
    pub kernels: Vec<OverlapRow>,
}

/// All runs of one kernel that communicates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverlapRow {
    /// The kernel.
    pub name: String,
    /// How often it ran.
    pub count: u64,
    /// Its communication, other kernels' left aside.
    pub time: Hidden,
}

impl Hidden {
    /// The hidden part of all, 0 to 1; none of none.
    pub fn share(&self) -> Option<f64> {
        (self.comm_ns > 0).then(|| self.hidden_ns as f64 / self.comm_ns as f64)
    }

    fn of(comm: &Intervals, compute: &Intervals) -> Self {
        let comm_ns = comm.length_ns();
        Self { comm_ns, hidden_ns: comm_ns.saturating_sub(comm.minus(compute).length_ns()) }
    }

    fn join(&mut self, later: Self) {
        self.comm_ns = self.comm_ns.saturating_add(later.comm_ns);
        self.hidden_ns = self.hidden_ns.saturating_add(later.hidden_ns);
    }
}

/// What the device work of `trace`, classed as `work`, communicates and computes.
pub fn overlap(trace: &Trace, work: &[Work]) -> Overlap {
    let spans = |class: Class| work.iter().filter(move |piece| piece.class == class);
    let times = |piece: &Work| (piece.start_ns, piece.end_ns);
    let compute = Intervals::union_of(spans(Class::Compute).map(times));
    let whole = Hidden::of(&Intervals::union_of(spans(Class::Comm).map(times)), &compute);
    let mut runs: FxHashMap<StrId, Vec<(i64, i64)>> = FxHashMap::default();
    for piece in spans(Class::Comm) {
        runs.entry(trace.spans.name[piece.span.0 as usize]).or_default().push(times(piece));
    }
    let row = |(name, runs): (StrId, Vec<(i64, i64)>)| OverlapRow {
        name: trace.strings.text(name).to_owned(),
        count: runs.len() as u64,
        time: Hidden::of(&Intervals::union_of(runs), &compute),
    };
    let mut kernels: Vec<OverlapRow> = runs.into_iter().map(row).collect();
    sort(&mut kernels);
    Overlap { whole, kernels }
}

impl Overlap {
    /// Adds that of a later export of the same rank.
    pub(crate) fn join(&mut self, later: Self) {
        self.whole.join(later.whole);
        join_rows(
            &mut self.kernels,
            later.kernels,
            |row| row.name.clone(),
            |row, more| {
                row.count += more.count;
                row.time.join(more.time);
            },
        );
        sort(&mut self.kernels);
    }
}

fn sort(rows: &mut [OverlapRow]) {
    rows.sort_by(|a, b| (b.time.comm_ns, &a.name).cmp(&(a.time.comm_ns, &b.name)));
}

#[cfg(test)]
mod tests {
    use rankscope_analyze::Classes;

    use super::*;
    use crate::made::Made;

    #[test]
    fn what_is_computed_meanwhile_hides_communication() {
        let mut made = Made::default();
        made.kernel("gemm", 7, 0, 50, 1);
        made.kernel("gemm", 7, 80, 20, 2);
        made.kernel("ncclDevKernel_AllReduce(x)", 8, 40, 60, 3);
        made.kernel("ncclDevKernel_SendRecv(x)", 9, 90, 20, 4);
        // A fill computes nothing.
        made.on_device("gpu_memset", "Memset (Device)", 7, 55, 10, 5);
        let overlap = overlap(&made.trace, &Classes::default().work(&made.trace).1);
        assert_eq!(overlap.whole, Hidden { comm_ns: 70_000, hidden_ns: 30_000 });
        let rows: Vec<_> = overlap.kernels.iter().map(|row| (row.count, row.time.comm_ns, row.time.hidden_ns)).collect();
        assert_eq!(rows, [(1, 60_000, 30_000), (1, 20_000, 10_000)]);
        let mut twice = overlap.clone();
        twice.join(overlap);
        assert_eq!((twice.whole.hidden_ns, twice.kernels[0].count), (60_000, 2));
    }
}
