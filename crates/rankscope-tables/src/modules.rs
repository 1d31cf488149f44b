//! Modules of a model by their place in it: device work that was launched in each, forward and backward.
//!
//! Modules are the frames that PyTorch's profiler calls `nn.Module: NAME` (it is asked for stacks), and where there are none the paths
//! that operators have as `Module Hierarchy`. What a backward operator launched is of the module of its forward operator. What is in no
//! module is a row of its own, so that the rows' own times are the time of all device work.

use rankscope_trace::{ArgValue, CategoryKind, SpanId, Trace};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::Attribution;
use crate::attribution::dur_ns;
use crate::backward::Tied;
use crate::rows::join_rows;
use crate::stacks::Stacks;

/// What the names of modules' frames begin with.
pub(crate) const MODULE: &str = "nn.Module: ";

/// All frames of one module at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleRow {
    /// The modules around it and itself, outermost first, with slashes between; none for what is in no module.
    pub path: Option<String>,
    /// Its own name.
    pub name: Option<String>,
    /// How many modules are around it.
    pub depth: u64,
    /// How many calls of it launched anything.
    pub count: u64,
    /// Sum of the lengths of the device work that was launched in it and in no module within it, forward, in nanoseconds.
    pub forward_kernel_ns: i64,
    /// The same of its backward operators.
    pub backward_kernel_ns: i64,
    /// Both, with those of all modules within it.
    pub subtree_kernel_ns: i64,
}

/// The modules of `trace`, in the order of their paths' first work; none where no modules are recorded.
pub(crate) fn modules(trace: &Trace, attribution: &Attribution, tied: &Tied) -> Vec<ModuleRow> {
    let is_module = |span: SpanId| {
        trace.kind(span) == CategoryKind::PythonFunction
            && trace.strings.text(trace.spans.name[span.0 as usize]).starts_with(MODULE)
    };
    if !trace.spans.ids().any(is_module) {
        return of_hierarchy(trace, attribution, tied);
    }
    let mut forward = Stacks::default();
    let mut backward_ns: Vec<i64> = Vec::new();
    for one in &attribution.work {
        let ns = dur_ns(trace, one.work);
        let at = |stacks: &mut Stacks, span| stacks.around(trace, attribution, span, is_module);
        let is_backward = backward_of(attribution, tied, one.owner.span());
        let here = one.origin().and_then(|span| at(&mut forward, span));
        match is_backward.and_then(|span| at(&mut forward, span)).filter(|_| here.is_none()) {
            Some(node) => {
                backward_ns.resize(forward.nodes.len(), 0);
                backward_ns[node] = backward_ns[node].saturating_add(ns);
            }
            None => forward.add(here, ns),
        }
    }
    backward_ns.resize(forward.nodes.len(), 0);
    rows(trace, &forward, &backward_ns)
}

/// The forward operator of the backward one that `span` lies in.
fn backward_of(attribution: &Attribution, tied: &Tied, span: Option<SpanId>) -> Option<SpanId> {
    let span = span.filter(|_| !tied.forward.is_empty())?;
    std::iter::once(span).chain(attribution.around(span)).find_map(|span| tied.forward.get(&span).copied().flatten())
}

fn rows(trace: &Trace, stacks: &Stacks, backward_ns: &[i64]) -> Vec<ModuleRow> {
    let mut both = stacks.clone();
    for (node, more_ns) in both.nodes.iter_mut().zip(backward_ns) {
        node.own_ns = node.own_ns.saturating_add(*more_ns);
    }
    let subtree_ns = both.subtree_ns();
    let name = |at: usize| trace.strings.text(stacks.nodes[at].name).trim_start_matches(MODULE);
    let row = |at: usize| {
        let mut way: Vec<&str> = stacks.way(at).map(name).collect();
        way.reverse();
        ModuleRow {
            path: Some(way.join("/")),
            name: Some(name(at).to_owned()),
            depth: way.len() as u64 - 1,
            count: stacks.nodes[at].frames.len() as u64,
            forward_kernel_ns: stacks.nodes[at].own_ns,
            backward_kernel_ns: backward_ns[at],
            subtree_kernel_ns: subtree_ns[at],
        }
    };
    let mut rows: Vec<ModuleRow> = (0..stacks.nodes.len()).map(row).collect();
    rows.extend((stacks.outside_ns > 0).then(|| outside(stacks.outside_ns)));
    sort(&mut rows);
    rows
}

/// What is in no module.
fn outside(ns: i64) -> ModuleRow {
    ModuleRow {
        path: None,
        name: None,
        depth: 0,
        count: 0,
        forward_kernel_ns: ns,
        backward_kernel_ns: 0,
        subtree_kernel_ns: ns,
    }
}

/// By the paths that operators have.
fn of_hierarchy(trace: &Trace, attribution: &Attribution, tied: &Tied) -> Vec<ModuleRow> {
    let Some(key) = ["Module Hierarchy", "module_hierarchy"].iter().find_map(|key| trace.strings.find(key)) else {
        return Vec::new();
    };
    let path = |span: SpanId| match trace.spans.args.value(span.0 as usize, key)? {
        ArgValue::Text(text) => Some(trace.strings.text(text)).filter(|text| !text.is_empty()),
        _ => None,
    };
    let innermost = |span: SpanId| std::iter::once(span).chain(attribution.around(span)).find_map(path);
    let mut rows: Vec<ModuleRow> = Vec::new();
    let mut places: FxHashMap<&str, usize> = FxHashMap::default();
    let (mut outside_ns, mut operators) = (0_i64, FxHashSet::default());
    for one in &attribution.work {
        let ns = dur_ns(trace, one.work);
        let own = one.owner.span().and_then(innermost);
        let backward = backward_of(attribution, tied, one.owner.span()).and_then(innermost).filter(|_| own.is_none());
        let Some(path) = own.or(backward) else {
            outside_ns = outside_ns.saturating_add(ns);
            continue;
        };
        let at = *places.entry(path).or_insert_with(|| {
            let depth = path.matches('.').count() as u64;
            let name = path.rsplit('.').next().unwrap_or(path).to_owned();
            rows.push(ModuleRow { path: Some(path.to_owned()), name: Some(name), depth, ..outside(0) });
            rows.len() - 1
        });
        let sum = if backward.is_some() { &mut rows[at].backward_kernel_ns } else { &mut rows[at].forward_kernel_ns };
        *sum = sum.saturating_add(ns);
        rows[at].count += u64::from(operators.insert(one.owner));
    }
    for at in 0..rows.len() {
        let path = rows[at].path.clone().unwrap_or_default();
        let is_within = |row: &&ModuleRow| {
            row.path
                .as_deref()
                .and_then(|other| other.strip_prefix(path.as_str()))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let own = |row: &ModuleRow| row.forward_kernel_ns.saturating_add(row.backward_kernel_ns);
        rows[at].subtree_kernel_ns = rows.iter().filter(is_within).map(own).fold(0, i64::saturating_add);
    }
    rows.extend((outside_ns > 0).then(|| outside(outside_ns)));
    if rows.iter().all(|row| row.path.is_none()) {
        return Vec::new();
    }
    sort(&mut rows);
    rows
}

/// Adds the rows of another stretch of time.
pub(crate) fn join(rows: &mut Vec<ModuleRow>, later: Vec<ModuleRow>) {
    join_rows(
        rows,
        later,
        |row| row.path.clone(),
        |row, more| {
            row.count += more.count;
            row.forward_kernel_ns = row.forward_kernel_ns.saturating_add(more.forward_kernel_ns);
            row.backward_kernel_ns = row.backward_kernel_ns.saturating_add(more.backward_kernel_ns);
            row.subtree_kernel_ns = row.subtree_kernel_ns.saturating_add(more.subtree_kernel_ns);
        },
    );
    sort(rows);
}

fn sort(rows: &mut [ModuleRow]) {
    rows.sort_by(|a, b| (b.subtree_kernel_ns, a.depth, &a.path).cmp(&(a.subtree_kernel_ns, b.depth, &b.path)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::Made;

    fn told(made: &Made) -> Vec<(Option<String>, u64, u64, i64, i64, i64)> {
        let attribution = Attribution::of(&made.trace);
        let rows = modules(&made.trace, &attribution, &Tied::of(&made.trace, &attribution));
        let told = |row: ModuleRow| {
            (row.path, row.depth, row.count, row.forward_kernel_ns, row.backward_kernel_ns, row.subtree_kernel_ns)
        };
        rows.into_iter().map(told).collect()
    }

    #[test]
    fn work_is_of_the_innermost_module_and_backward_of_that_of_the_forward_operator() {
        let mut made = Made::default();
        made.frame("nn.Module: Net_0", 0, 100);
        made.frame("forward", 5, 90);
        made.frame("nn.Module: Linear_3", 10, 40);
        let forward = made.operator("aten::addmm", 12, 30);
        made.numbers(forward, 6, 0);
        made.launch("cudaLaunchKernel", 20, 2, 1);
        made.launch("cudaLaunchKernel", 60, 2, 2);
        let backward = made.operator_on(2, "AddmmBackward0", 200, 50);
        made.numbers(backward, 6, 1);
        made.launch_on(2, "cudaLaunchKernel", 210, 2, 3);
        made.launch("cudaLaunchKernel", 400, 2, 4);
        for (correlation, dur_us) in [(1, 5), (2, 7), (3, 11), (4, 2)] {
            made.kernel("k", 7, 500 + 20 * dur_us, dur_us, correlation);
        }
        let path = |path: &str| Some(path.to_owned());
        let expected = [
            (path("Net_0"), 0, 1, 7_000, 0, 23_000),
            (path("Net_0/Linear_3"), 1, 1, 5_000, 11_000, 16_000),
            (None, 0, 0, 2_000, 0, 2_000),
        ];
        assert_eq!(told(&made), expected);
        let own_ns: i64 = expected.iter().map(|row| row.3 + row.4).sum();
        assert_eq!(own_ns, 25_000, "all device work");
    }

    #[test]
    fn paths_of_operators_are_modules_where_there_are_no_frames() {
        let mut made = Made::default();
        let operator = made.operator("aten::addmm", 12, 30);
        made.text(operator, "Module Hierarchy", "Net.layers.Linear");
        let other = made.operator("aten::relu", 50, 20);
        made.text(other, "Module Hierarchy", "Net.layers");
        made.launch("cudaLaunchKernel", 20, 2, 1);
        made.launch("cudaLaunchKernel", 60, 2, 2);
        made.kernel("k", 7, 500, 5, 1);
        made.kernel("k", 7, 600, 7, 2);
        let path = |path: &str| Some(path.to_owned());
        let expected = [(path("Net.layers"), 1, 1, 7_000, 0, 12_000), (path("Net.layers.Linear"), 2, 1, 5_000, 0, 5_000)];
        assert_eq!(told(&made), expected);
    }

    #[test]
    fn a_trace_without_modules_has_no_such_table() {
        let mut made = Made::default();
        made.launch("cudaLaunchKernel", 20, 2, 1);
        made.kernel("k", 7, 500, 5, 1);
        assert_eq!(told(&made), []);
    }
}
