//! The things of one rank that structure compares, each at its place.

use std::collections::BTreeMap;

use rankscope_document::{RankCollectiveSummary, StructureKind};

use super::details::{strides, values};
use crate::common::Source;
use crate::names::normal;
use crate::work::{Class, Collective, Leaf, RankWork, Splitting, Sum};

/// One thing at its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Item {
    pub(super) name: String,
    pub(super) within: Option<String>,
    /// The module that it is in, where modules are recorded.
    pub(super) module: Option<String>,
    /// What it goes with: what is inside something that is on one side only is not told again.
    pub(super) inside: Vec<Key>,
    pub(super) sum: Sum,
    /// What tells that another thing of the place may have replaced it: nothing does where the place alone has to.
    pub(super) alike: Option<String>,
    /// The leaves of the time of a step that it is.
    pub(super) leaves: Vec<Leaf>,
}

/// A thing by its kind, what it is within, and its name.
pub(super) type Key = (StructureKind, Option<String>, String);

impl Item {
    pub(super) fn key(&self, kind: &StructureKind) -> Key {
        (kind.clone(), self.within.clone(), self.name.clone())
    }
}

/// Things by their kind.
pub(super) type Items = BTreeMap<StructureKind, Vec<Item>>;

/// Kinds in the order in which one is inside the other.
pub(super) const KINDS: [StructureKind; 7] = [
    StructureKind::Module,
    StructureKind::Operator,
    StructureKind::Arguments,
    StructureKind::Strides,
    StructureKind::Values,
    StructureKind::Kernel,
    StructureKind::Collective,
];

/// The things of `work`, by kind; kernels by module where `by_module`.
pub(super) fn items(work: RankWork<'_>, splitting: &Splitting, by_module: bool) -> Items {
    let kernels = if by_module { kernels_of_modules(work) } else { kernels(work) };
    let all = [
        modules(work),
        operators(work, splitting),
        arguments(work, splitting),
        strides(work, splitting),
        values(work, splitting),
        kernels,
        collectives(work),
    ];
    KINDS.into_iter().zip(all).collect()
}

/// Whether all kernels of `work` are known by their module.
pub(super) fn knows_modules(work: RankWork<'_>) -> bool {
    /// As many rows as the table may have: what is beyond is not in it.
    const ROWS: usize = 10_000;
    let rows = work.tables(Source::ModuleKernels).and_then(|tables| tables.module_kernels.as_ref());
    rows.is_some_and(|rows| !rows.is_empty() && rows.len() < ROWS)
}

fn of_operator(name: &str) -> Key {
    (StructureKind::Operator, None, name.to_owned())
}

fn operators(work: RankWork<'_>, splitting: &Splitting) -> Vec<Item> {
    let mut items: BTreeMap<String, Item> = BTreeMap::new();
    let leaves = work.operators(splitting);
    for (leaf, sum) in &leaves {
        let Leaf::Operator { name, arguments } = leaf else { continue };
        let item = items.entry(name.clone()).or_insert_with(|| Item {
            name: name.clone(),
            alike: Some(String::new()),
            leaves: vec![Leaf::Operator { name: name.clone(), arguments: None }],
            ..Item::default()
        });
        item.sum = Sum { ns: item.sum.ns.saturating_add(sum.ns), count: item.sum.count + sum.count };
        item.leaves.push(leaf.clone());
        // Two operators may stand for each other where they are called with the same.
        let alike = item.alike.get_or_insert_default();
        *alike = format!("{alike}; {}", arguments.as_deref().unwrap_or(&format!("of {name}")));
    }
    items.into_values().collect()
}

fn arguments(work: RankWork<'_>, splitting: &Splitting) -> Vec<Item> {
    let leaves = work.operators(splitting).into_iter();
    let item = |(leaf, sum): (Leaf, Sum)| match &leaf {
        Leaf::Operator { name, arguments: Some(arguments) } => Some(Item {
            name: arguments.clone(),
            within: Some(name.clone()),
            inside: vec![of_operator(name)],
            sum,
            leaves: vec![leaf],
            ..Item::default()
        }),
        _ => None,
    };
    leaves.filter_map(item).collect()
}

fn kernel(within: Option<String>, name: String, sum: Sum) -> Item {
    let leaves = if within.is_none() { vec![Leaf::Kernel(name.clone())] } else { Vec::new() };
    let inside = within.iter().map(|operator| of_operator(operator)).collect();
    Item { name, within, inside, sum, leaves, ..Item::default() }
}

fn kernels(work: RankWork<'_>) -> Vec<Item> {
    let mut items: BTreeMap<(Option<String>, String), Sum> = BTreeMap::new();
    for kernel in work.kernels().filter(|kernel| kernel.class == Class::Computation) {
        let sum = items.entry((kernel.operator.map(str::to_owned), normal(kernel.name))).or_default();
        sum.add(kernel.sum.ns, kernel.sum.count);
    }
    items.into_iter().map(|((within, name), sum)| kernel(within, name, sum)).collect()
}

fn kernels_of_modules(work: RankWork<'_>) -> Vec<Item> {
    let known: BTreeMap<(&str, &str), Option<&str>> = work
        .kernels()
        .filter(|kernel| kernel.class == Class::Computation)
        .map(|kernel| ((kernel.operator.unwrap_or(""), kernel.name), kernel.operator))
        .collect();
    let mut items: BTreeMap<(Option<String>, Option<String>, String), Sum> = BTreeMap::new();
    for row in work.tables(Source::ModuleKernels).and_then(|tables| tables.module_kernels.as_ref()).into_iter().flatten() {
        let by = |operator| known.get(&(operator, row.name.as_str()));
        // A call is no operator; its kernels are of none.
        let Some(operator) = by(row.parent_op.as_deref().unwrap_or("")).or_else(|| by("")) else { continue };
        let key = (row.path.clone(), operator.map(str::to_owned), normal(&row.name));
        items.entry(key).or_default().add(row.sum_ns, row.count);
    }
    let item = |((module, within, name), sum): ((Option<String>, Option<String>, String), Sum)| {
        let mut item = kernel(within, name, sum);
        item.inside.extend(module.iter().map(|path| (StructureKind::Module, None, path.clone())));
        Item { module, ..item }
    };
    items.into_iter().map(item).collect()
}

fn collectives(work: RankWork<'_>) -> Vec<Item> {
    let item = |(collective, row): (Collective, &RankCollectiveSummary)| Item {
        name: collective.name(),
        within: Some(collective.group.clone()),
        sum: Sum { ns: row.sum_ns, count: row.count },
        alike: Some(format!("{}.{}", collective.kind, collective.dtype)),
        leaves: [Leaf::Wait, Leaf::Transfer, Leaf::Unmatched, Leaf::Hidden].map(|leaf| leaf(collective.clone())).into(),
        ..Item::default()
    };
    let mut items: BTreeMap<(String, Option<String>), Item> = BTreeMap::new();
    for item in work.collectives().map(item) {
        let (ns, count) = (item.sum.ns, item.sum.count);
        let known = items.entry((item.name.clone(), item.within.clone())).or_insert(Item { sum: Sum::default(), ..item });
        known.sum.add(ns, count);
    }
    items.into_values().collect()
}

fn modules(work: RankWork<'_>) -> Vec<Item> {
    let rows = work.tables(Source::Modules).and_then(|tables| tables.modules.as_ref());
    let item = |row: &rankscope_document::ModuleSummary| {
        let path = row.path.clone()?;
        // Paths of frames have slashes, those of operators dots.
        let around = path.char_indices().filter(|(_, c)| matches!(c, '/' | '.')).map(|(at, _)| path[..at].to_owned());
        Some(Item {
            inside: around.map(|around| (StructureKind::Module, None, around)).collect(),
            alike: Some(path.clone()),
            sum: Sum { ns: row.subtree_kernel_ns, count: row.count },
            name: path,
            ..Item::default()
        })
    };
    rows.into_iter().flatten().filter_map(item).collect()
}
