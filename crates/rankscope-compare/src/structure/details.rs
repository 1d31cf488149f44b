//! What calls with equal shapes differ in: strides of tensors, and values of what is no tensor.
//!
//! A value that is another one from step to step, as a learning rate or a seed, is no structure: only values that a place has in
//! every iteration are compared, and places with many of them are passed over.

use std::collections::{BTreeMap, BTreeSet};

use rankscope_document::{OperatorArguments, StructureKind};

use super::items::Item;
use crate::names;
use crate::work::{RankWork, Splitting, Sum};

/// Lists of strides or of values that one operator may be called with, with equal shapes.
const LISTS_MAX: usize = 8;

/// The strides that `work` calls its operators with.
pub(super) fn strides(work: RankWork<'_>, splitting: &Splitting) -> Vec<Item> {
    details(work, splitting, |row| row.input_strides.as_deref())
}

/// The values that it calls them with.
pub(super) fn values(work: RankWork<'_>, splitting: &Splitting) -> Vec<Item> {
    details(work, splitting, |row| row.concrete_inputs.as_deref())
}

fn details(work: RankWork<'_>, splitting: &Splitting, of: fn(&OperatorArguments) -> Option<&str>) -> Vec<Item> {
    let mut places: BTreeMap<(&str, String), BTreeMap<String, Sum>> = BTreeMap::new();
    for (row, arguments) in work.argument_rows(splitting) {
        if let (Some(text), Some(arguments)) = (of(row), arguments) {
            let lists = places.entry((&row.name, arguments)).or_default();
            lists.entry(names::compact(text)).or_default().add(row.direct_kernel_ns, row.count);
        }
    }
    let of_place = |((operator, arguments), lists): ((&str, String), BTreeMap<String, Sum>)| {
        let within = names::call(operator, &arguments);
        let is_steady = |sum: &Sum| sum.count >= work.iterations;
        let lists = if lists.len() > LISTS_MAX { BTreeMap::new() } else { lists };
        let item = move |(name, sum): (String, Sum)| Item {
            name,
            within: Some(within.clone()),
            inside: vec![
                (StructureKind::Operator, None, operator.to_owned()),
                (StructureKind::Arguments, Some(operator.to_owned()), arguments.clone()),
            ],
            sum,
            ..Item::default()
        };
        lists.into_iter().filter(move |(_, sum)| is_steady(sum)).map(item).collect::<Vec<_>>()
    };
    places.into_iter().flat_map(of_place).collect()
}

/// Leaves of both sides what is at places that both know of.
pub(super) fn at_common_places(base: &mut Vec<Item>, test: &mut Vec<Item>) {
    let places = |items: &[Item]| items.iter().map(|item| item.within.clone()).collect::<BTreeSet<_>>();
    let (of_base, of_test) = (places(base), places(test));
    base.retain(|item| of_test.contains(&item.within));
    test.retain(|item| of_base.contains(&item.within));
}
