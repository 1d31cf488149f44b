//! What TraceLens calls the tables and columns that mean the same. What is not here is called by its key.

use super::figure::Figure::{self, Hundred, Key, Known as Has, Mean, OfTotal, Running, Share};
use crate::column::Kind::{self, Bar, Count, Giga, MiB, Ms, Percent, Rate, Text, Us};

/// A table with headers of its own.
pub(super) struct Known {
    /// Its key in the document.
    key: &'static str,
    /// The name of its sheet.
    pub(super) sheet: &'static str,
    /// What it holds, in a line.
    pub(super) about: &'static str,
    /// Its columns; keys that none of them shows follow.
    pub(super) columns: &'static [Named],
}

/// A column with a header of its own. It is left out where the table does not have its keys.
pub(super) struct Named {
    pub(super) header: &'static str,
    pub(super) kind: Kind,
    pub(super) figure: Figure,
}

/// The table of `key`, if it is known.
pub(super) fn of(key: &str) -> Option<&'static Known> {
    TABLES.iter().find(|known| known.key == key)
}

const fn named(header: &'static str, kind: Kind, figure: Figure) -> Named {
    Named { header, kind, figure }
}

const TABLES: &[Known] = &[
    Known {
        key: "ops_summary_by_category",
        sheet: "ops_summary_by_category",
        about: "Operators by category: device time of the work that they launched themselves",
        columns: &[
            named("op category", Text(24), Key("category")),
            named("Count", Count, Key("count")),
            named("total_direct_kernel_time_ms", Ms, Key("direct_kernel_ns")),
            named("Percentage (%)", Bar, Share("direct_kernel_ns")),
            named("Cumulative Percentage (%)", Percent, Running("direct_kernel_ns")),
        ],
    },
    Known {
        key: "ops_summary",
        sheet: "ops_summary",
        about: "Operators by name: device time of the work that they, and what they called, launched; _sum in µs",
        columns: &[
            named("name", Text(50), Key("name")),
            named("total_direct_kernel_time_sum", Us, Key("direct_kernel_ns")),
            named("total_subtree_kernel_time_sum", Us, Key("subtree_kernel_ns")),
            named("total_direct_kernel_time_ms", Ms, Key("direct_kernel_ns")),
            named("total_subtree_kernel_time_ms", Ms, Key("subtree_kernel_ns")),
            named("Count", Count, Key("count")),
            named("Categories", Text(20), Key("category")),
            named("Percentage (%)", Bar, Share("direct_kernel_ns")),
            named("Cumulative Percentage (%)", Percent, Running("direct_kernel_ns")),
        ],
    },
    Known {
        key: "ops_unique_args",
        sheet: "ops_unique_args",
        about: "Operators by name and recorded inputs; times in µs",
        columns: &[
            named("name", Text(50), Key("name")),
            named("op category", Text(20), Key("category")),
            named("Input Dims", Text(40), Key("input_dims")),
            named("Input type", Text(30), Key("input_types")),
            named("Input Strides", Text(30), Key("input_strides")),
            named("Concrete Inputs", Text(30), Key("concrete_inputs")),
            named("operation_count", Count, Key("count")),
            named("total_direct_kernel_time_mean", Us, Key("mean_ns")),
            named("total_direct_kernel_time_median", Us, Key("median_ns")),
            named("total_direct_kernel_time_std", Us, Key("std_ns")),
            named("total_direct_kernel_time_min", Us, Key("min_ns")),
            named("total_direct_kernel_time_max", Us, Key("max_ns")),
            named("total_direct_kernel_time_sum", Us, Key("direct_kernel_ns")),
            named("total_subtree_kernel_time_sum", Us, Key("subtree_kernel_ns")),
            named("Percentage (%)", Bar, Share("direct_kernel_ns")),
            named("Cumulative Percentage (%)", Percent, Running("direct_kernel_ns")),
        ],
    },
    Known {
        key: "unified_perf_summary",
        sheet: "unified_perf_summary",
        about: "Operators by name and inputs: what they achieved, and what the device could; times in µs",
        columns: &[
            named("name", Text(50), Key("name")),
            named("op category", Text(20), Key("category")),
            named("Input Dims", Text(40), Key("input_dims")),
            named("Input type", Text(30), Key("input_types")),
            named("Input Strides", Text(30), Key("input_strides")),
            named("Concrete Inputs", Text(30), Key("concrete_inputs")),
            named("operation_count", Count, Key("count")),
            named("GFLOPS", Giga, Key("flops")),
            named("Data Moved (MB)", MiB, Key("bytes")),
            named("FLOPS/Byte", Rate, Key("intensity")),
            named("TB/s_mean", Rate, Key("tb_per_s")),
            named("TFLOPS/s_mean", Rate, Key("tflops")),
            named("Kernel Time (µs)_mean", Us, Mean("kernel_ns", "count")),
            named("Kernel Time (µs)_sum", Us, Key("kernel_ns")),
            named("Roofline Bound", Text(12), Key("bound")),
            named("Roofline Time (µs)", Us, Mean("roofline_ns", "count")),
            named("Pct Roofline_mean", Bar, Hundred("roofline_share")),
            named("time that could be saved (ms)", Ms, Key("saved_ns")),
            named("perf_params", Text(40), Key("params")),
            named("has_perf_model", Text(8), Has("flops")),
            named("Percentage (%)", Percent, Share("kernel_ns")),
            named("Cumulative Percentage (%)", Percent, Running("kernel_ns")),
        ],
    },
    Known {
        key: "kernel_summary",
        sheet: "kernel_summary",
        about: "Kernels, copies and fills by name, stream and the operator that launched them",
        columns: &[
            named("Parent op category", Text(20), Key("category")),
            named("Parent cpu_op", Text(36), Key("parent_op")),
            named("Kernel name", Text(60), Key("name")),
            named("Kernel stream", Text(12), Key("stream")),
            named("Kernel duration (µs)_sum", Us, Key("sum_ns")),
            named("Kernel duration (µs)_count", Count, Key("count")),
            named("Kernel duration (µs)_mean", Us, Key("mean_ns")),
            named("Kernel duration (µs)_min", Us, Key("min_ns")),
            named("Kernel duration (µs)_max", Us, Key("max_ns")),
            named("Percent of kernels time (%)", Bar, Share("sum_ns")),
            named("Percent of total time (%)", Percent, OfTotal("sum_ns")),
        ],
    },
    Known {
        key: "short_kernel_histogram",
        sheet: "short_kernel_histogram",
        about: "How many kernels took how long, of those under 50 µs; edges of the bins in µs",
        columns: &[
            named("bin_start", Us, Key("from_ns")),
            named("bin_end", Us, Key("to_ns")),
            named("count", Count, Key("count")),
        ],
    },
    Known {
        key: "short_kernels_summary",
        sheet: "short_kernels_summary",
        about: "Kernels that took less than 50 µs, by operator and inputs",
        columns: &[
            named("Parent cpu_op", Text(36), Key("parent_op")),
            named("Input dims", Text(40), Key("input_dims")),
            named("Input strides", Text(30), Key("input_strides")),
            named("Concrete Inputs", Text(30), Key("concrete_inputs")),
            named("Kernel name", Text(60), Key("name")),
            named("Short Kernel duration (µs) sum", Us, Key("sum_ns")),
            named("Short Kernel count", Count, Key("count")),
            named("Short Kernel duration (µs) mean", Us, Key("mean_ns")),
            named("Short Kernel duration (µs) percent of total time", Bar, OfTotal("sum_ns")),
        ],
    },
    Known {
        key: "gemm",
        // Excel takes no GEMM beside it, which is the sheet of the model.
        sheet: "gemm_summary",
        about: "Products of matrices by size, with what they achieved",
        columns: &[
            named("name", Text(24), Key("name")),
            named("M", Count, Key("m")),
            named("N", Count, Key("n")),
            named("K", Count, Key("k")),
            named("B", Count, Key("batch")),
            named("dtype", Text(16), Key("dtype")),
            named("count", Count, Key("count")),
            named("GFLOPS", Giga, Key("flops")),
            named("Data Moved (MB)", MiB, Key("bytes")),
            named("Kernel Time (µs)_mean", Us, Mean("kernel_ns", "count")),
            named("Kernel Time (µs)_sum", Us, Key("kernel_ns")),
            named("TFLOPS/s_mean", Rate, Key("tflops")),
            named("Pct Roofline_mean", Bar, Hundred("roofline_share")),
        ],
    },
    Known {
        key: "launches",
        sheet: "launches",
        about: "Calls that launch work: how long they took, until the work started, and how long the work took",
        columns: &[],
    },
    Known { key: "queue", sheet: "queue", about: "Work that was launched and had not started, by stream", columns: &[] },
    Known { key: "overlap", sheet: "overlap", about: "Communication, and how much of it compute hides", columns: &[] },
    Known {
        key: "overlap_kernels",
        sheet: "overlap_kernels",
        about: "The same of each kernel that communicates",
        columns: &[named("kernel", Text(60), Key("name"))],
    },
    Known { key: "copies", sheet: "copies", about: "Copies and fills by direction and name", columns: &[] },
    Known { key: "annotations", sheet: "annotations", about: "Annotations of devices and of the host", columns: &[] },
    Known { key: "sequences", sheet: "sequences", about: "Sequences of kernels that occur most often", columns: &[] },
    Known { key: "idle", sheet: "idle", about: "Idle time of all devices of a rank, by cause", columns: &[] },
    Known { key: "idle_streams", sheet: "idle_streams", about: "Idle time of each stream by itself, by cause", columns: &[] },
];
