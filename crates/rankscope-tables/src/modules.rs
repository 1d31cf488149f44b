//! Modules of a model by their place in it: device work that was launched in each, forward and backward.
//!
//! Modules are the frames that PyTorch's profiler calls `nn.Module: NAME` (it is asked for stacks), and where there are none the paths
//! that operators have as `Module Hierarchy`. What a backward operator launched is of the module of its forward operator. What is in no
//! module is a row of its own, so that the rows' own times are the time of all device work.

use rankscope_trace::{ArgValue, CategoryKind, SpanId, StrId, Trace};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::attribution::dur_ns;
use crate::backward::Tied;
use crate::rows::join_rows;
use crate::stacks::Stacks;
use crate::{Attributed, Attribution, Owner};

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

/// What tells the modules of a trace, and what is in each.
pub(crate) struct Modules<'a> {
    trace: &'a Trace,
    attribution: &'a Attribution,
    tied: &'a Tied,
    told: Told<'a>,
}

/// How modules are recorded.
enum Told<'a> {
    /// As frames around launches.
    Frames(Stacks),
    /// As an argument of operators: its key, and the paths in order of their first work.
    Paths(StrId, Vec<&'a str>, FxHashMap<&'a str, usize>),
}

/// Whose a piece of work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InModule {
    /// This module's, forward.
    Forward(usize),
    /// It was launched by the backward operator of one in this module.
    Backward(usize),
    Outside,
}

impl InModule {
    pub(crate) fn node(self) -> Option<usize> {
        match self {
            Self::Forward(node) | Self::Backward(node) => Some(node),
            Self::Outside => None,
        }
    }
}

impl<'a> Modules<'a> {
    /// Those of `trace`; none where no modules are recorded.
    pub(crate) fn of(trace: &'a Trace, attribution: &'a Attribution, tied: &'a Tied) -> Option<Self> {
        let told = if trace.spans.ids().any(|span| is_module(trace, span)) {
            Told::Frames(Stacks::default())
        } else {
            let key = ["Module Hierarchy", "module_hierarchy"].iter().find_map(|key| trace.strings.find(key))?;
            Told::Paths(key, Vec::new(), FxHashMap::default())
        };
        Some(Self { trace, attribution, tied, told })
    }

    /// The innermost module that `one` is of. Work that a module launches itself is that one's, whatever it is the backward of.
    pub(crate) fn of_work(&mut self, one: &Attributed) -> InModule {
        let owner = one.owner.span();
        let launched = if matches!(self.told, Told::Frames(_)) { one.origin() } else { owner };
        if let Some(node) = launched.and_then(|span| self.around(span)) {
            return InModule::Forward(node);
        }
        let forward = backward_of(self.attribution, self.tied, owner).and_then(|span| self.around(span));
        forward.map_or(InModule::Outside, InModule::Backward)
    }

    fn around(&mut self, span: SpanId) -> Option<usize> {
        let (trace, attribution) = (self.trace, self.attribution);
        match &mut self.told {
            Told::Frames(stacks) => stacks.around(trace, attribution, span, |span| is_module(trace, span)),
            Told::Paths(key, paths, places) => {
                let path = |span: SpanId| match trace.spans.args.value(span.0 as usize, *key)? {
                    ArgValue::Text(text) => Some(trace.strings.text(text)).filter(|text| !text.is_empty()),
                    _ => None,
                };
                let path = std::iter::once(span).chain(attribution.around(span)).find_map(path)?;
                Some(*places.entry(path).or_insert_with(|| {
                    paths.push(path);
                    paths.len() - 1
                }))
            }
        }
    }

    /// The path of the module `node`, as the table has it.
    pub(crate) fn path(&self, node: usize) -> String {
        match &self.told {
            Told::Frames(stacks) => path(self.trace, stacks, node),
            Told::Paths(_, paths, _) => paths[node].to_owned(),
        }
    }
}

fn is_module(trace: &Trace, span: SpanId) -> bool {
    trace.kind(span) == CategoryKind::PythonFunction
        && trace.strings.text(trace.spans.name[span.0 as usize]).starts_with(MODULE)
}

/// The names around the module `node` and its own, with slashes.
fn path(trace: &Trace, stacks: &Stacks, node: usize) -> String {
    let mut way: Vec<&str> = stacks.way(node).map(|at| name(trace, stacks, at)).collect();
    way.reverse();
    way.join("/")
}

fn name<'a>(trace: &'a Trace, stacks: &Stacks, node: usize) -> &'a str {
    trace.strings.text(stacks.nodes[node].name).trim_start_matches(MODULE)
}

/// The modules of `trace`, in the order of their paths' first work; none where no modules are recorded.
pub(crate) fn modules(trace: &Trace, attribution: &Attribution, tied: &Tied) -> Vec<ModuleRow> {
    let Some(mut modules) = Modules::of(trace, attribution, tied) else { return Vec::new() };
    let (mut sums, mut outside_ns) = (Vec::<Sums>::new(), 0_i64);
    for one in &attribution.work {
        let (of, ns) = (modules.of_work(one), dur_ns(trace, one.work));
        let Some(node) = of.node() else {
            outside_ns = outside_ns.saturating_add(ns);
            continue;
        };
        sums.resize_with(sums.len().max(node + 1), Sums::default);
        sums[node].add(of, ns);
        sums[node].owners.insert(one.owner);
    }
    match modules.told {
        Told::Frames(stacks) => of_frames(trace, stacks, sums, outside_ns),
        Told::Paths(_, paths, _) => of_paths(&paths, &sums, outside_ns),
    }
}

/// What is of one module and of none within it.
#[derive(Default)]
struct Sums {
    forward_ns: i64,
    backward_ns: i64,
    owners: FxHashSet<Owner>,
}

impl Sums {
    fn add(&mut self, of: InModule, ns: i64) {
        let sum = if matches!(of, InModule::Backward(_)) { &mut self.backward_ns } else { &mut self.forward_ns };
        *sum = sum.saturating_add(ns);
    }

    fn own_ns(&self) -> i64 {
        self.forward_ns.saturating_add(self.backward_ns)
    }
}

/// The forward operator of the backward one that `span` lies in.
fn backward_of(attribution: &Attribution, tied: &Tied, span: Option<SpanId>) -> Option<SpanId> {
    let span = span.filter(|_| !tied.forward.is_empty())?;
    std::iter::once(span).chain(attribution.around(span)).find_map(|span| tied.forward.get(&span).copied().flatten())
}

fn of_frames(trace: &Trace, mut stacks: Stacks, mut sums: Vec<Sums>, outside_ns: i64) -> Vec<ModuleRow> {
    sums.resize_with(stacks.nodes.len(), Sums::default);
    for (node, own) in stacks.nodes.iter_mut().zip(&sums) {
        node.own_ns = own.own_ns();
    }
    let subtree_ns = stacks.subtree_ns();
    let row = |at: usize| ModuleRow {
        path: Some(path(trace, &stacks, at)),
        name: Some(name(trace, &stacks, at).to_owned()),
        depth: stacks.way(at).count() as u64 - 1,
        count: stacks.nodes[at].frames.len() as u64,
        forward_kernel_ns: sums[at].forward_ns,
        backward_kernel_ns: sums[at].backward_ns,
        subtree_kernel_ns: subtree_ns[at],
    };
    let mut rows: Vec<ModuleRow> = (0..stacks.nodes.len()).map(row).collect();
    rows.extend((outside_ns > 0).then(|| outside(outside_ns)));
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
fn of_paths(paths: &[&str], sums: &[Sums], outside_ns: i64) -> Vec<ModuleRow> {
    let subtree_ns = |path: &str| {
        let is_within = |other: &str| other.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let own = paths.iter().zip(sums).filter(|(other, _)| is_within(other)).map(|(_, sums)| sums.own_ns());
        own.fold(0, i64::saturating_add)
    };
    let row = |(path, own): (&&str, &Sums)| ModuleRow {
        path: Some((*path).to_owned()),
        name: Some(path.rsplit('.').next().unwrap_or(path).to_owned()),
        depth: path.matches('.').count() as u64,
        count: own.owners.len() as u64,
        forward_kernel_ns: own.forward_ns,
        backward_kernel_ns: own.backward_ns,
        subtree_kernel_ns: subtree_ns(path),
    };
    let mut rows: Vec<ModuleRow> = paths.iter().zip(sums).map(row).collect();
    if rows.is_empty() {
        return rows;
    }
    rows.extend((outside_ns > 0).then(|| outside(outside_ns)));
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
mod tests;
