//! Kernels so short that launching them may cost more than running them: which operators, on which inputs, and how short.
//!
//! The limit is fixed, so that counts of two runs can be compared. Copies and fills are not here.

use rankscope_trace::{CategoryKind, SpanId, StrId, Trace};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::arguments::{CONCRETE, DIMS, STRIDES, on_one_line, recorded};
use crate::attribution::dur_ns;
use crate::rows::join_rows;
use crate::{Attribution, Spread};

/// A kernel that takes less than this is short, in nanoseconds.
pub const SHORT_KERNEL_NS: i64 = 50_000;

/// Bins of [`ShortKernels::bins`].
pub const SHORT_KERNEL_BINS: usize = 50;

/// How long a bin is, in nanoseconds.
const BIN_NS: i64 = SHORT_KERNEL_NS / SHORT_KERNEL_BINS as i64;

/// The short kernels of one rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortKernels {
    /// By operator, inputs and kernel, those that took most time first.
    pub rows: Vec<ShortKernelRow>,
    /// How many took how long: bins of equal length from 0 to [`SHORT_KERNEL_NS`], each without its end.
    #[serde(with = "crate::stored::bins")]
    pub bins: [u64; SHORT_KERNEL_BINS],
}

/// All short runs of one kernel for one operator on inputs of one shape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShortKernelRow {
    /// The operator that launched it, or the call where no operator is around that; none where nothing tells.
    pub parent_op: Option<String>,
    /// Shapes of the operator's inputs, as JSON; none where they are not recorded.
    pub dims: Option<String>,
    /// Their strides, likewise.
    pub strides: Option<String>,
    /// Values of what is no tensor, likewise.
    pub concrete: Option<String>,
    /// The kernel's name.
    pub name: String,
    /// How long its short runs took.
    pub time: Spread,
}

impl Default for ShortKernels {
    fn default() -> Self {
        Self { rows: Vec::new(), bins: [0; SHORT_KERNEL_BINS] }
    }
}

/// The kernels of `trace` that took less than [`SHORT_KERNEL_NS`].
pub fn short_kernels(trace: &Trace, attribution: &Attribution) -> ShortKernels {
    let keys = [DIMS, STRIDES, CONCRETE].map(|key| trace.strings.find(key));
    let inputs = |span: SpanId| keys.map(|key| recorded(trace, span, key?));
    type Key = (Option<StrId>, [Option<StrId>; 3], StrId);
    let mut sums: FxHashMap<Key, Spread> = FxHashMap::default();
    let mut short = ShortKernels::default();
    for one in attribution.work.iter().filter(|one| trace.kind(one.work) == CategoryKind::Kernel) {
        let ns = dur_ns(trace, one.work);
        let Some(bin) = bin(ns) else { continue };
        short.bins[bin] += 1;
        let name_of = |span: SpanId| trace.spans.name[span.0 as usize];
        let owner = one.owner;
        sums.entry((owner.name(trace), owner.span().map(inputs).unwrap_or_default(), name_of(one.work))).or_default().add(ns);
    }
    let text = |id: StrId| trace.strings.text(id).to_owned();
    let row = |((parent, inputs, name), time): (Key, Spread)| {
        let [dims, strides, concrete] = inputs.map(|id| id.map(|id| on_one_line(trace.strings.text(id))));
        ShortKernelRow { parent_op: parent.map(text), dims, strides, concrete, name: text(name), time }
    };
    short.rows = sums.into_iter().map(row).collect();
    sort(&mut short.rows);
    short
}

impl ShortKernels {
    /// The bins as start, end (both in nanoseconds) and count.
    pub fn histogram(&self) -> impl Iterator<Item = (i64, i64, u64)> + '_ {
        let starts = (0..).map(|bin| bin * BIN_NS);
        starts.zip(self.bins).map(|(start_ns, count)| (start_ns, start_ns + BIN_NS, count))
    }

    /// Adds those of a later export of the same rank.
    pub(crate) fn join(&mut self, later: Self) {
        let key = |row: &ShortKernelRow| {
            let inputs = [&row.dims, &row.strides, &row.concrete];
            (row.parent_op.clone(), inputs.map(Clone::clone), row.name.clone())
        };
        join_rows(&mut self.rows, later.rows, key, |row, more| row.time.join(more.time));
        sort(&mut self.rows);
        self.bins.iter_mut().zip(later.bins).for_each(|(count, more)| *count += more);
    }
}

/// The bin of a kernel that took `ns`, if it is short.
fn bin(ns: i64) -> Option<usize> {
    usize::try_from(ns / BIN_NS).ok().filter(|bin| *bin < SHORT_KERNEL_BINS)
}

fn sort(rows: &mut [ShortKernelRow]) {
    rows.sort_by(|a, b| {
        let texts = |row: &'_ ShortKernelRow| {
            let inputs = [&row.dims, &row.strides, &row.concrete];
            (row.name.clone(), row.parent_op.clone(), inputs.map(Clone::clone))
        };
        b.time.sum_ns.cmp(&a.time.sum_ns).then_with(|| texts(a).cmp(&texts(b)))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::Made;

    #[test]
    fn short_is_what_takes_less_than_the_limit() {
        let mut made = Made::default();
        made.operator("aten::mul", 0, 100);
        made.launch("cudaLaunchKernel", 10, 5, 1);
        made.launch("cudaLaunchKernel", 20, 5, 2);
        made.kernel("mul", 7, 30, 49, 1);
        made.kernel("mul", 7, 80, 50, 2);
        made.kernel("nobody's", 7, 200, 0, 0);
        made.on_device("gpu_memset", "Memset (Device)", 7, 300, 2, 0);
        let short = short_kernels(&made.trace, &Attribution::of(&made.trace));
        let row = |parent: Option<&str>, name: &str, ns| {
            let time = Spread { count: 1, sum_ns: ns, min_ns: ns, max_ns: ns };
            ShortKernelRow { parent_op: parent.map(str::to_owned), name: name.to_owned(), time, ..ShortKernelRow::default() }
        };
        assert_eq!(short.rows, [row(Some("aten::mul"), "mul", 49_000), row(None, "nobody's", 0)]);
        let filled: Vec<_> = short.histogram().filter(|(.., count)| *count > 0).collect();
        assert_eq!(filled, [(0, 1_000, 1), (49_000, 50_000, 1)]);
        assert_eq!(short.histogram().last().map(|(_, end_ns, _)| end_ns), Some(SHORT_KERNEL_NS));
        let mut twice = short.clone();
        twice.join(short);
        assert_eq!((twice.rows[0].time.sum_ns, twice.bins[49], twice.bins[0]), (98_000, 2, 2));
    }
}
