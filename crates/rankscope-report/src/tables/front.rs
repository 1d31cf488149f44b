//! Which columns a terminal shows first, where it has no room for all of them. Files have all, in the document's order.

use rankscope_document::OperatorSheet;

/// By table, its columns that matter most, the most first; the others follow in the document's order.
const FRONT: [(&str, &[&str]); 13] = [
    ("ops_unique_args", &["name", "category", "input_dims", "count", "direct_kernel_ns", "mean_ns"]),
    ("kernel_summary", &["name", "parent_op", "count", "sum_ns", "mean_ns", "min_ns", "max_ns", "stream"]),
    ("gemm", &["name", "m", "n", "k", "batch", "dtype", "count", "kernel_ns", "tflops", "roofline_share"]),
    (
        "unified_perf_summary",
        &["name", "input_dims", "count", "kernel_ns", "saved_ns", "tflops", "tb_per_s", "bound", "roofline_share"],
    ),
    ("modules", &["path", "subtree_kernel_ns", "forward_kernel_ns", "backward_kernel_ns", "count"]),
    ("idle_gaps", &["class", "cause", "sum_ns", "count", "max_ns", "host", "after"]),
    (
        "nccl_summary_implicit_sync",
        &[
            "name",
            "dtype",
            "bytes",
            "count",
            "transfer_mean_ns",
            "wait_mean_ns",
            "busbw_mean_gbps",
            "total_wait_ns",
            "group_size",
        ],
    ),
    ("nccl_summary_long", &["name", "dtype", "bytes", "count", "sum_ns", "wait_ns", "transfer_ns"]),
    ("nccl_implicit_sync", &["name", "bytes", "at_ns", "last", "start_skew_ns", "transfer_ns", "busbw_gbps"]),
    (
        "straggler_summary",
        &["rank", "last", "last_least", "last_most", "total_wait_ns", "wait_share", "collective_ns", "first"],
    ),
    (
        "by_group",
        &["process_group", "parallelism", "members", "count", "collective_ns", "wait_ns", "transfer_ns", "wait_share"],
    ),
    ("by_parallelism", &["parallelism", "link", "groups", "count", "collective_ns", "wait_ns", "transfer_ns", "wait_share"]),
    (
        "size_classes",
        &[
            "process_group",
            "kind",
            "bytes",
            "count",
            "transfer_median_ns",
            "fitted_ns",
            "over_fit",
            "latency_ns",
            "bandwidth_gbps",
        ],
    ),
];

/// By table, the columns that its rows are in order of, most first, the last one before those ahead of it. Tables in order of time
/// or of names are not here.
const ORDER: [(&str, &[&str]); 13] = [
    ("ops_summary", &["direct_kernel_ns"]),
    ("ops_summary_by_category", &["direct_kernel_ns"]),
    ("ops_unique_args", &["direct_kernel_ns"]),
    ("kernel_summary", &["sum_ns"]),
    ("short_kernels_summary", &["sum_ns"]),
    ("copies", &["sum_ns"]),
    ("annotations", &["sum_ns"]),
    ("recompute", &["kernel_ns"]),
    ("modules", &["subtree_kernel_ns"]),
    ("hlo_ops", &["sum_ns"]),
    ("gemm", &["kernel_ns"]),
    ("nccl_summary_long", &["sum_ns"]),
    (PERFORMANCE, &["kernel_ns", "saved_ns"]),
];

/// The table that sheets of operators are taken from, whose order is theirs.
const PERFORMANCE: &str = "unified_perf_summary";

/// The columns that rows of the table called `name` are in order of, the weightiest last; none of a table in another order.
pub(super) fn order(name: &str) -> &'static [&'static str] {
    let name = if OperatorSheet::named(name).is_some() && name != "gemm" { PERFORMANCE } else { name };
    ORDER.iter().find(|(table, _)| *table == name).map_or(&[][..], |(_, order)| order)
}

/// The places of `columns` of the table called `name`, those in front first; the rank of a row before all of them.
pub(crate) fn ordered(name: &str, columns: &[String]) -> Vec<usize> {
    let front = FRONT.iter().find(|(table, _)| *table == name).map_or(&[][..], |(_, front)| front);
    let place = |column: &str| front.iter().position(|known| *known == column).unwrap_or(front.len());
    let mut all: Vec<usize> = (0..columns.len()).collect();
    all.sort_by_key(|at| if columns[*at] == super::RANK { 0 } else { 1 + place(&columns[*at]) });
    all
}
