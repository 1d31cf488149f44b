//! Short kernels are those of TraceLens.

use std::collections::BTreeMap;

use rankscope_tables::{SHORT_KERNEL_NS, ShortKernels};
use rankscope_testkit::{Need, given};

use super::{ROUNDING_NS, csv, number, tables};

/// How both write lists: TraceLens as Python's.
fn plain(text: &str) -> String {
    let text: String = text.chars().filter(|c| !(c.is_whitespace() || matches!(c, '"' | '\''))).collect();
    text.replace('(', "[").replace(')', "]").replace(",]", "]")
}

#[test]
fn short_kernels_are_those_of_tracelens() {
    let Some(corpus) = given(Need::Corpus) else { return };
    // The summary of the A100 trace has columns for nothing and no rows.
    for name in ["b200_eager", "h100_qwen1.5", "mi300x_resnet_act_checkpoint"] {
        let own = tables(&corpus.join(format!("traces/kineto/{name}.json.gz"))).short_kernels;
        let mut expected: BTreeMap<[String; 5], (f64, f64)> = BTreeMap::new();
        for row in csv(&corpus.join("expected/tracelens").join(name).join("short_kernels_summary.csv")) {
            // What has no operator in TraceLens may have one here.
            if !row["Parent cpu_op"].is_empty() {
                let [dims, strides, concrete] =
                    ["Input dims", "Input strides", "Concrete Inputs"].map(|column| plain(&row[column]));
                let key = [row["Parent cpu_op"].clone(), dims, strides, concrete, row["Kernel name"].clone()];
                let sum = expected.entry(key).or_default();
                sum.0 += number(&row, "Short Kernel count");
                sum.1 += 1_000.0 * number(&row, "Short Kernel duration (µs) sum");
            }
        }
        assert!(!expected.is_empty(), "{name}");
        for ([parent, dims, strides, concrete, kernel], (count, sum_ns)) in expected {
            let is_row = |row: &&rankscope_tables::ShortKernelRow| {
                let parents = row.parent_op.as_deref() == Some(&parent) && row.name == kernel;
                let recorded = [(&row.dims, &dims), (&row.strides, &strides), (&row.concrete, &concrete)];
                parents && recorded.into_iter().all(|(own, theirs)| plain(own.as_deref().unwrap_or_default()) == *theirs)
            };
            let found = own.rows.iter().find(is_row).unwrap_or_else(|| panic!("{name}: {parent} {dims} {kernel}"));
            assert_eq!(found.time.count as f64, count, "{name}: {found:?}");
            assert!((found.time.sum_ns as f64 - sum_ns).abs() <= ROUNDING_NS * count, "{name}: {found:?} {sum_ns}");
        }
    }
}

/// How many of `short` took less than `ns`, at least and at most: a bin may hold both shorter and longer ones.
fn below(short: &ShortKernels, ns: f64) -> (u64, u64) {
    let sum = |in_it: &dyn Fn(i64, i64) -> bool| {
        short.histogram().filter(|(from, to, _)| in_it(*from, *to)).map(|(.., count)| count).sum::<u64>()
    };
    (sum(&|_, to| to as f64 <= ns), sum(&|from, _| (from as f64) < ns))
}

#[test]
fn short_kernels_take_as_long_as_those_of_tracelens() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for name in ["a100_nccl_data", "b200_eager", "h100_qwen1.5", "mi300x_resnet_act_checkpoint"] {
        let tables = tables(&corpus.join(format!("traces/kineto/{name}.json.gz")));
        let rows = csv(&corpus.join("expected/tracelens").join(name).join("short_kernel_histogram.csv"));
        let mut seen = 0;
        for row in &rows {
            seen += number(row, "count") as u64;
            let (least, most) = below(&tables.short_kernels, 1_000.0 * number(row, "bin_end") + ROUNDING_NS);
            let end = number(row, "bin_end");
            assert!(least <= seen && seen <= most, "{name}: {seen} below {end}, here {least} to {most}");
        }
        let all = below(&tables.short_kernels, SHORT_KERNEL_NS as f64).1;
        assert_eq!(all, seen, "{name}");
    }
}
