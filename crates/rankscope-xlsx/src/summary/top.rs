//! What costs most over all ranks together: operators, kernels and products of matrices of one name, added up.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;

use rankscope_document::{Document, GemmSummary, Tables};

/// All of one name on all ranks.
pub(super) struct Top<'a> {
    pub(super) name: &'a str,
    pub(super) sort: &'a str,
    pub(super) count: u64,
    pub(super) ns: i64,
    /// All time that it is a part of; 0 where that is not known.
    pub(super) all_ns: i64,
}

/// Operators by the device time of the work that they launched themselves, most first.
pub(super) fn operators(document: &Document) -> Vec<Top<'_>> {
    let rows = tables(document).filter_map(|tables| tables.ops_summary.as_ref()).flatten();
    let rows: Vec<_> = rows.map(|row| (row.name.as_str(), row.category.as_str(), row.count, row.direct_kernel_ns)).collect();
    let all = rows.iter().map(|row| row.3).sum();
    summed(rows, all)
}

/// Kernels by their time, most first; where there are no tables, those that the document lists.
pub(super) fn kernels(document: &Document) -> Vec<Top<'_>> {
    let rows = tables(document).filter_map(|tables| tables.kernel_summary.as_ref()).flatten();
    let rows: Vec<_> = rows.map(|row| (row.name.as_str(), row.category.as_str(), row.count, row.sum_ns)).collect();
    if !rows.is_empty() {
        let all = rows.iter().map(|row| row.3).sum();
        return summed(rows, all);
    }
    let listed = document.ranks.iter().flat_map(|rank| &rank.kernels).chain(&document.kernels);
    summed(listed.map(|kernel| (kernel.name.as_str(), kernel.class.as_str(), kernel.count, kernel.total_ns)).collect(), 0)
}

/// Products of matrices of one size on all ranks.
pub(super) struct Product<'a> {
    pub(super) of: &'a GemmSummary,
    pub(super) count: u64,
    pub(super) ns: i64,
    /// The least time that the devices need for them.
    pub(super) least_ns: Option<f64>,
}

impl Product<'_> {
    /// How much shorter they could be.
    pub(super) fn saved_ns(&self) -> Option<f64> {
        self.least_ns.map(|least| (self.ns as f64 - least).max(0.0))
    }

    /// Operations in 10^12 a second.
    pub(super) fn tflops(&self) -> Option<f64> {
        (self.ns > 0).then(|| self.of.flops as f64 * self.count as f64 / self.ns as f64 / 1e3)
    }
}

/// Products of matrices by the time that could be saved, most first; where no card is known, by the time they took.
pub(super) fn products(document: &Document) -> Vec<Product<'_>> {
    let rows = tables(document).filter_map(|tables| tables.gemm.as_ref()).flatten();
    let mut products = grouped(
        rows,
        |row| (row.name.as_str(), row.m, row.n, row.k, row.batch, row.dtype.as_str()),
        |row| Product { of: row, count: 0, ns: 0, least_ns: Some(0.0) },
        |product, row| {
            product.count += row.count;
            product.ns = product.ns.saturating_add(row.kernel_ns);
            let least = row.roofline_share.map(|share| share * row.kernel_ns as f64);
            product.least_ns = product.least_ns.zip(least).map(|(sum, least)| sum + least);
        },
    );
    let key = |product: &Product<'_>| Reverse((product.saved_ns().map(|ns| ns as i64), product.ns));
    products.sort_by_key(key);
    products
}

fn tables(document: &Document) -> impl Iterator<Item = &Tables> {
    document.ranks.iter().filter_map(|rank| rank.tables.as_ref())
}

fn summed<'a>(rows: Vec<(&'a str, &'a str, u64, i64)>, all_ns: i64) -> Vec<Top<'a>> {
    let mut top = grouped(
        rows,
        |row| row.0,
        |(name, sort, ..)| Top { name, sort, count: 0, ns: 0, all_ns },
        |top, (_, _, count, ns)| {
            top.count += count;
            top.ns = top.ns.saturating_add(*ns);
        },
    );
    top.sort_by_key(|top| (Reverse(top.ns), top.name));
    top
}

/// The groups of `rows` by `key`, in the order in which they were first met.
fn grouped<R: Copy, K: Eq + Hash, G>(
    rows: impl IntoIterator<Item = R>,
    key: impl Fn(R) -> K,
    begin: impl Fn(R) -> G,
    add: impl Fn(&mut G, &R),
) -> Vec<G> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut groups = Vec::new();
    for row in rows {
        let at = *places.entry(key(row)).or_insert_with(|| {
            groups.push(begin(row));
            groups.len() - 1
        });
        add(&mut groups[at], &row);
    }
    groups
}
