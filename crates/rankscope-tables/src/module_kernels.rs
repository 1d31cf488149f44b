//! Kernels by the module and the operator that they are of.
//!
//! The modules are those of the table `modules`, and so is what is backward. Nothing where no modules are recorded.

use rankscope_trace::{StrId, Trace};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::Attribution;
use crate::attribution::dur_ns;
use crate::backward::Tied;
use crate::modules::Modules;
use crate::rows::join_rows;

/// Rows that are kept.
pub const MODULE_KERNEL_ROWS: usize = 10_000;

/// All runs of one kernel for one operator in one module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModuleKernelRow {
    /// The module's path; none of what is in no module.
    pub path: Option<String>,
    /// The operator or call; none where nothing tells.
    pub parent_op: Option<String>,
    /// The kernel, copy or fill.
    pub name: String,
    /// How often it ran.
    pub count: u64,
    /// Sum of the lengths.
    pub sum_ns: i64,
}

/// The kernels of `trace`, those that ran longest first; at most [`MODULE_KERNEL_ROWS`].
pub(crate) fn module_kernels(trace: &Trace, attribution: &Attribution, tied: &Tied) -> Vec<ModuleKernelRow> {
    let Some(mut modules) = Modules::of(trace, attribution, tied) else { return Vec::new() };
    type Key = (Option<usize>, Option<StrId>, StrId);
    let mut sums: FxHashMap<Key, (u64, i64)> = FxHashMap::default();
    for one in &attribution.work {
        let key = (modules.of_work(one).node(), one.owner.name(trace), trace.spans.name[one.work.0 as usize]);
        let (count, ns) = sums.entry(key).or_default();
        (*count, *ns) = (*count + 1, ns.saturating_add(dur_ns(trace, one.work)));
    }
    let text = |name: StrId| trace.strings.text(name).to_owned();
    let row = |((module, owner, name), (count, sum_ns)): (Key, (u64, i64))| ModuleKernelRow {
        path: module.map(|module| modules.path(module)),
        parent_op: owner.map(text),
        name: text(name),
        count,
        sum_ns,
    };
    let mut rows: Vec<ModuleKernelRow> = sums.into_iter().map(row).collect();
    sort(&mut rows);
    rows
}

/// Adds the rows of another stretch of time.
pub(crate) fn join(rows: &mut Vec<ModuleKernelRow>, later: Vec<ModuleKernelRow>) {
    let key = |row: &ModuleKernelRow| (row.path.clone(), row.parent_op.clone(), row.name.clone());
    join_rows(rows, later, key, |row, more| {
        row.count += more.count;
        row.sum_ns = row.sum_ns.saturating_add(more.sum_ns);
    });
    sort(rows);
}

fn sort(rows: &mut Vec<ModuleKernelRow>) {
    rows.sort_by(|a, b| (b.sum_ns, &a.path, &a.parent_op, &a.name).cmp(&(a.sum_ns, &b.path, &b.parent_op, &b.name)));
    rows.truncate(MODULE_KERNEL_ROWS);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::Made;

    #[test]
    fn a_kernel_of_one_operator_in_two_modules_is_two_rows() {
        let mut made = Made::default();
        for (module, from_us) in [("nn.Module: A", 0), ("nn.Module: B", 100)] {
            made.frame(module, from_us, 90);
            made.operator("aten::mm", from_us + 5, 20);
            made.launch("cudaLaunchKernel", from_us + 10, 2, 1 + from_us as u64);
            made.kernel("gemm", 7, from_us + 20, 5 + from_us / 10, 1 + from_us as u64);
        }
        made.launch("cudaLaunchKernel", 300, 2, 900);
        made.kernel("fill", 7, 310, 1, 900);
        let attribution = Attribution::of(&made.trace);
        let rows = module_kernels(&made.trace, &attribution, &Tied::of(&made.trace, &attribution));
        let told: Vec<_> = rows.iter().map(|row| (row.path.as_deref(), row.name.as_str(), row.count, row.sum_ns)).collect();
        assert_eq!(told, [(Some("B"), "gemm", 1, 15_000), (Some("A"), "gemm", 1, 5_000), (None, "fill", 1, 1_000)]);
        assert_eq!(rows.iter().map(|row| row.sum_ns).sum::<i64>(), attribution.kernel_ns(&made.trace));
    }

    #[test]
    fn a_trace_without_modules_has_no_such_table() {
        let mut made = Made::default();
        made.launch("cudaLaunchKernel", 20, 2, 1);
        made.kernel("k", 7, 500, 5, 1);
        let attribution = Attribution::of(&made.trace);
        assert!(module_kernels(&made.trace, &attribution, &Tied::of(&made.trace, &attribution)).is_empty());
    }
}
