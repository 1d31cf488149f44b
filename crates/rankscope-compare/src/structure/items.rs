//! The things of one rank that structure compares.

use std::collections::BTreeMap;

use rankscope_document::StructureKind;

use crate::names::normal;
use crate::work::{Class, Leaf, RankWork, Splitting, Sum};

/// One thing at its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) name: String,
    pub(super) within: Option<String>,
    pub(super) sum: Sum,
    /// What tells that another thing of the place may have replaced it: nothing does where the place alone has to.
    pub(super) alike: Option<String>,
    /// The leaves of the time of a step that it is.
    pub(super) leaves: Vec<Leaf>,
}

/// Kinds in the order in which one is inside the other.
pub(super) const KINDS: [StructureKind; 5] = [
    StructureKind::Operator,
    StructureKind::Arguments,
    StructureKind::Kernel,
    StructureKind::Collective,
    StructureKind::Module,
];

/// The things of `work`, by kind.
pub(super) fn items(work: RankWork<'_>, splitting: &Splitting) -> BTreeMap<StructureKind, Vec<Item>> {
    let all = [operators(work, splitting), arguments(work, splitting), kernels(work), collectives(work), modules(work)];
    KINDS.into_iter().zip(all).collect()
}

fn operators(work: RankWork<'_>, splitting: &Splitting) -> Vec<Item> {
    let mut items: BTreeMap<String, Item> = BTreeMap::new();
    let leaves = work.operators(splitting);
    for (leaf, sum) in &leaves {
        let Leaf::Operator { name, arguments } = leaf else { continue };
        let item = items.entry(name.clone()).or_insert_with(|| Item {
            name: name.clone(),
            within: None,
            sum: Sum::default(),
            alike: Some(String::new()),
            leaves: vec![Leaf::Operator { name: name.clone(), arguments: None }],
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
        Leaf::Operator { name, arguments: Some(arguments) } => {
            Some(Item { name: arguments.clone(), within: Some(name.clone()), sum, alike: None, leaves: vec![leaf] })
        }
        _ => None,
    };
    leaves.filter_map(item).collect()
}

fn kernels(work: RankWork<'_>) -> Vec<Item> {
    let mut items: BTreeMap<(Option<String>, String), Sum> = BTreeMap::new();
    for kernel in work.kernels().filter(|kernel| kernel.class == Class::Computation) {
        let sum = items.entry((kernel.operator.map(str::to_owned), normal(kernel.name))).or_default();
        *sum = Sum { ns: sum.ns.saturating_add(kernel.sum.ns), count: sum.count + kernel.sum.count };
    }
    let item = |((within, name), sum): ((Option<String>, String), Sum)| {
        let leaves = if within.is_none() { vec![Leaf::Kernel(name.clone())] } else { Vec::new() };
        Item { name, within, sum, alike: None, leaves }
    };
    items.into_iter().map(item).collect()
}

fn collectives(work: RankWork<'_>) -> Vec<Item> {
    let item = |(collective, row): (crate::work::Collective, &rankscope_document::RankCollectiveSummary)| Item {
        name: collective.name(),
        within: Some(collective.group.clone()),
        sum: Sum { ns: row.sum_ns, count: row.count },
        alike: Some(format!("{}.{}", collective.kind, collective.dtype)),
        leaves: [Leaf::Wait, Leaf::Transfer, Leaf::Unmatched, Leaf::Hidden].map(|leaf| leaf(collective.clone())).into(),
    };
    let mut items: Vec<Item> = Vec::new();
    for item in work.collectives().map(item) {
        match items.iter_mut().find(|other| (&other.name, &other.within) == (&item.name, &item.within)) {
            Some(other) => other.sum = Sum { ns: other.sum.ns + item.sum.ns, count: other.sum.count + item.sum.count },
            None => items.push(item),
        }
    }
    items
}

fn modules(work: RankWork<'_>) -> Vec<Item> {
    let rows = work.rank.tables.as_ref().and_then(|tables| tables.modules.as_ref());
    let item = |row: &rankscope_document::ModuleSummary| {
        Some(Item {
            name: row.path.clone()?,
            within: None,
            sum: Sum { ns: row.subtree_kernel_ns, count: row.count },
            alike: Some(row.path.clone()?),
            leaves: Vec::new(),
        })
    };
    rows.into_iter().flatten().filter_map(item).collect()
}
