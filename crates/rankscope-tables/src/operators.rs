//! Operators by name, and by sort: how much device time each launched itself, and how much with all that it called.

use rankscope_trace::{StrId, Trace};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::owners::{busy_ns, sum_ns};
use crate::rows::join_rows;
use crate::{Attribution, Category};

/// All operators of one name that launched device work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorRow {
    /// The name; of work that no operator is around, that of the call that launched it.
    pub name: String,
    /// What sort it is.
    pub category: Category,
    /// How many of them launched work themselves.
    pub count: u64,
    /// How long devices worked on what each of them launched itself, summed over them, in nanoseconds: of one operator, work that
    /// overlaps counts once.
    pub direct_kernel_ns: i64,
    /// The same with what the operators that each of them called launched.
    pub subtree_kernel_ns: i64,
    /// Sum of the lengths of the work that they launched themselves, in nanoseconds: work that overlaps counts twice.
    pub kernel_sum_ns: i64,
}

/// All operators of one sort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CategoryRow {
    /// The sort.
    pub category: Category,
    /// How many operators launched work.
    pub count: u64,
    /// How long devices worked on it, as for each operator, in nanoseconds.
    pub direct_kernel_ns: i64,
    /// Sum of the lengths of that work, in nanoseconds.
    pub kernel_sum_ns: i64,
}

/// The operators of `trace`, those with most time of their own first; ties by name.
pub fn operators(trace: &Trace, attribution: &Attribution) -> Vec<OperatorRow> {
    let owners = &attribution.owners;
    let below = owners.below(attribution);
    let mut rows: FxHashMap<(StrId, Category), OperatorRow> = FxHashMap::default();
    for (owner, below) in owners.all.iter().zip(below) {
        let name = owner.name;
        let row = rows.entry((name, owner.category)).or_insert_with(|| OperatorRow {
            name: trace.strings.text(name).to_owned(),
            category: owner.category,
            count: 0,
            direct_kernel_ns: 0,
            subtree_kernel_ns: 0,
            kernel_sum_ns: 0,
        });
        let direct_ns = busy_ns(trace, &owner.work);
        let subtree_ns = if below.is_empty() { direct_ns } else { busy_ns(trace, &[&owner.work[..], &below].concat()) };
        row.add(1, direct_ns, subtree_ns, sum_ns(trace, owner.work.iter().copied()));
    }
    let mut rows: Vec<OperatorRow> = rows.into_values().collect();
    sort(&mut rows);
    rows
}

impl OperatorRow {
    fn add(&mut self, count: u64, direct_kernel_ns: i64, subtree_kernel_ns: i64, kernel_sum_ns: i64) {
        self.count += count;
        self.direct_kernel_ns = self.direct_kernel_ns.saturating_add(direct_kernel_ns);
        self.subtree_kernel_ns = self.subtree_kernel_ns.saturating_add(subtree_kernel_ns);
        self.kernel_sum_ns = self.kernel_sum_ns.saturating_add(kernel_sum_ns);
    }
}

/// The sorts of `operators`, those with most time first.
pub fn by_category(operators: &[OperatorRow]) -> Vec<CategoryRow> {
    let mut rows: Vec<CategoryRow> = Vec::new();
    for operator in operators {
        let at = rows.iter().position(|row| row.category == operator.category).unwrap_or_else(|| {
            rows.push(CategoryRow { category: operator.category, count: 0, direct_kernel_ns: 0, kernel_sum_ns: 0 });
            rows.len() - 1
        });
        rows[at].count += operator.count;
        rows[at].direct_kernel_ns = rows[at].direct_kernel_ns.saturating_add(operator.direct_kernel_ns);
        rows[at].kernel_sum_ns = rows[at].kernel_sum_ns.saturating_add(operator.kernel_sum_ns);
    }
    rows.sort_by_key(|row| (std::cmp::Reverse(row.direct_kernel_ns), row.category));
    rows
}

/// Adds the rows of another stretch of time.
pub(crate) fn join(rows: &mut Vec<OperatorRow>, later: Vec<OperatorRow>) {
    let key = |row: &OperatorRow| (row.name.clone(), row.category);
    join_rows(rows, later, key, |row, more| {
        row.add(more.count, more.direct_kernel_ns, more.subtree_kernel_ns, more.kernel_sum_ns);
    });
    sort(rows);
}

fn sort(rows: &mut [OperatorRow]) {
    rows.sort_by(|a, b| {
        let key = |row: &OperatorRow| std::cmp::Reverse(row.direct_kernel_ns);
        (key(a), &a.name, a.category).cmp(&(key(b), &b.name, b.category))
    });
}
