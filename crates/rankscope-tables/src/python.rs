//! Functions of Python by name: how much device work was launched inside each, where their frames are recorded.

use rankscope_trace::{CategoryKind, SpanId, StrId, Trace};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::Attribution;
use crate::modules::MODULE;
use crate::rows::join_rows;
use crate::stacks::Stacks;

/// All frames of one function in which anything was launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionRow {
    /// The function, as the tracer names it; none for what was launched in no frame.
    pub name: Option<String>,
    /// How many frames.
    pub count: u64,
    /// Sum of the lengths of the device work that was launched in them, and in no frame within them, in nanoseconds.
    pub own_kernel_ns: i64,
    /// The same with what was launched in frames within them; work counts once, however often a function is around it.
    pub subtree_kernel_ns: i64,
}

/// The functions of `trace` that launched device work, those with most in all first; none where no frames are recorded.
pub(crate) fn python_functions(trace: &Trace, attribution: &Attribution) -> Vec<FunctionRow> {
    let is_frame = |span: SpanId| {
        trace.kind(span) == CategoryKind::PythonFunction
            && !trace.strings.text(trace.spans.name[span.0 as usize]).starts_with(MODULE)
    };
    if !trace.spans.ids().any(is_frame) {
        return Vec::new();
    }
    let stacks = Stacks::of(trace, attribution, is_frame);
    let subtree_ns = stacks.subtree_ns();
    let mut sums: FxHashMap<StrId, FunctionRow> = FxHashMap::default();
    for (at, node) in stacks.nodes.iter().enumerate() {
        let row = sums.entry(node.name).or_insert_with(|| FunctionRow {
            name: Some(trace.strings.text(node.name).to_owned()),
            count: 0,
            own_kernel_ns: 0,
            subtree_kernel_ns: 0,
        });
        let is_within_itself = stacks.way(at).skip(1).any(|around| stacks.nodes[around].name == node.name);
        row.add(node.frames.len() as u64, node.own_ns, if is_within_itself { 0 } else { subtree_ns[at] });
    }
    let outside_ns = stacks.outside_ns;
    let outside = FunctionRow { name: None, count: 0, own_kernel_ns: outside_ns, subtree_kernel_ns: outside_ns };
    let mut rows: Vec<FunctionRow> = sums.into_values().chain((outside_ns > 0).then_some(outside)).collect();
    sort(&mut rows);
    rows
}

impl FunctionRow {
    fn add(&mut self, count: u64, own_kernel_ns: i64, subtree_kernel_ns: i64) {
        self.count += count;
        self.own_kernel_ns = self.own_kernel_ns.saturating_add(own_kernel_ns);
        self.subtree_kernel_ns = self.subtree_kernel_ns.saturating_add(subtree_kernel_ns);
    }
}

/// Adds the rows of another stretch of time.
pub(crate) fn join(rows: &mut Vec<FunctionRow>, later: Vec<FunctionRow>) {
    let add = |row: &mut FunctionRow, more: FunctionRow| row.add(more.count, more.own_kernel_ns, more.subtree_kernel_ns);
    join_rows(rows, later, |row| row.name.clone(), add);
    sort(rows);
}

fn sort(rows: &mut [FunctionRow]) {
    rows.sort_by(|a, b| (b.subtree_kernel_ns, b.own_kernel_ns, &a.name).cmp(&(a.subtree_kernel_ns, a.own_kernel_ns, &b.name)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::Made;

    #[test]
    fn work_is_of_the_innermost_frame_and_of_every_function_around_it_once() {
        let mut made = Made::default();
        made.frame("train", 0, 100);
        made.frame("block", 10, 40);
        // It calls itself.
        made.frame("block", 15, 20);
        made.launch("cudaLaunchKernel", 20, 2, 1);
        made.launch("cudaLaunchKernel", 40, 2, 2);
        made.launch("cudaLaunchKernel", 200, 2, 3);
        for (correlation, dur_us) in [(1, 5), (2, 7), (3, 11), (4, 13)] {
            made.kernel("k", 7, 300 + 20 * dur_us, dur_us, correlation);
        }
        let rows = python_functions(&made.trace, &Attribution::of(&made.trace));
        let told: Vec<_> =
            rows.iter().map(|row| (row.name.as_deref(), row.count, row.own_kernel_ns, row.subtree_kernel_ns)).collect();
        let outside = (None, 0, 24_000, 24_000);
        assert_eq!(told, [outside, (Some("block"), 2, 12_000, 12_000), (Some("train"), 1, 0, 12_000)]);
        assert_eq!(rows.iter().map(|row| row.own_kernel_ns).sum::<i64>(), 36_000);
    }
}
