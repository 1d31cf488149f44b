//! What is launched in another order: of calls of one operator, module or step that launch the same on both sides.
//!
//! A side that itself launches the same in several orders, or shares one with the other side, tells of no change.

use std::collections::BTreeMap;

use rankscope_document::{LaunchOrder, OrderChange};

use crate::common::Source;
use crate::names::normal;
use crate::work::RankWork;

/// Children that are shown from the last one that is the same on.
const SHOWN: usize = 5;

/// Orders by parent and by what is in them.
type Orders<'a> = BTreeMap<(Option<&'a str>, &'a str), BTreeMap<&'a str, (&'a LaunchOrder, u64)>>;

/// The orders that are others on the rank that has `base` and `test` in the runs of each side.
pub(super) fn changed(base: &[RankWork<'_>], test: &[RankWork<'_>]) -> Vec<OrderChange> {
    let (base, test) = (orders(base), orders(test));
    let both = base.iter().filter_map(|(place, orders)| Some((place.0, orders, test.get(place)?)));
    both.filter_map(|(parent, base, test)| change(parent, only(base)?, only(test)?)).collect()
}

/// Every order of any of `runs`; the calls are those of the first run that has it.
fn orders<'a>(runs: &[RankWork<'a>]) -> Orders<'a> {
    let mut orders = Orders::new();
    for run in runs {
        let rows = run.tables(Source::LaunchOrder).and_then(|tables| tables.launch_order.as_ref());
        for row in rows.into_iter().flatten() {
            let of_place = orders.entry((row.parent.as_deref(), row.set.as_str())).or_default();
            of_place.entry(row.order.as_str()).or_insert((row, row.count));
        }
    }
    orders
}

fn only<'a>(orders: &BTreeMap<&str, (&'a LaunchOrder, u64)>) -> Option<&'a LaunchOrder> {
    let mut all = orders.values();
    all.next().filter(|_| orders.len() == 1).map(|(row, _)| *row)
}

fn change(parent: Option<&str>, base: &LaunchOrder, test: &LaunchOrder) -> Option<OrderChange> {
    if base.order == test.order {
        return None;
    }
    let same = base.names.iter().zip(&test.names).take_while(|(a, b)| a == b).count();
    let shown = |names: &[String]| {
        let from = same.saturating_sub(1);
        let until = names.len().min(from + SHOWN);
        let mut words: Vec<String> = names[from.min(until)..until].iter().map(|name| normal(name)).collect();
        let (is_first, is_last) = (from == 0, until as u64 == base.length);
        if !is_first {
            words.insert(0, "…".to_owned());
        }
        if !is_last {
            words.push("…".to_owned());
        }
        words.join(" → ")
    };
    Some(OrderChange {
        parent: parent.map(str::to_owned),
        base: shown(&base.names),
        test: shown(&test.names),
        // Beyond the names that are kept nobody knows where.
        at: (same < base.names.len()).then_some(same as u64 + 1),
        length: base.length,
        base_count: base.count,
        test_count: test.count,
        ranks: Vec::new(),
    })
}
