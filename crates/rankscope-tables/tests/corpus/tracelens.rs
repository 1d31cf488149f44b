//! By TraceLens' classes, its tables of operators say the same, but where docs/explanation/differences.md says otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rankscope_analyze::{ClassMode, Classes};
use rankscope_tables::{ArgumentRow, Cards, RankTables, by_category};
use rankscope_testkit::{Need, given};

use super::{csv, number};

const TRACES: [&str; 4] = ["a100_nccl_data", "b200_eager", "h100_qwen1.5", "mi300x_resnet_act_checkpoint"];

/// How often, and how long in nanoseconds.
type Sums<K> = BTreeMap<K, (f64, f64)>;

/// Rows of one key together: TraceLens separates operators by thread.
fn sums<K: Ord>(rows: impl IntoIterator<Item = (K, f64, f64)>) -> Sums<K> {
    let mut sums = Sums::new();
    for (key, count, ns) in rows {
        let sum = sums.entry(key).or_insert((0.0, 0.0));
        *sum = (sum.0 + count, sum.1 + ns);
    }
    sums
}

/// What is not the same in both, or only in one; times may differ by 2 ns for each operator, as TraceLens rounds.
fn differences<K: Ord + Clone>(own: &Sums<K>, theirs: &Sums<K>) -> BTreeSet<K> {
    let is_same = |key: &K| match (own.get(key), theirs.get(key)) {
        (Some((count, ns)), Some((other, other_ns))) => count == other && (ns - other_ns).abs() <= 2.0 * count,
        _ => false,
    };
    own.keys().chain(theirs.keys()).filter(|key| !is_same(key)).cloned().collect()
}

fn tables(corpus: &Path, name: &str) -> RankTables {
    let classes = Classes { mode: ClassMode::Tracelens, ..Classes::default() };
    RankTables::with(&super::trace(&corpus.join(format!("traces/kineto/{name}.json.gz"))), &classes, Cards::known())
}

/// A list as the file writes it and as Python does, in one form.
fn plain(list: &str) -> String {
    let list: String = list.chars().filter(|c| !(c.is_whitespace() || matches!(c, '"' | '\''))).collect();
    list.replace('(', "[").replace(')', "]").replace(",]", "]")
}

/// An operator and its four recorded lists.
fn key(name: &str, lists: [&str; 4]) -> Vec<String> {
    std::iter::once(name.to_owned()).chain(lists.map(plain)).collect()
}

fn own_key(row: &ArgumentRow) -> Vec<String> {
    let lists = [&row.dims, &row.types, &row.strides, &row.concrete];
    key(&row.name, lists.map(|list| list.as_deref().unwrap_or_default()))
}

fn their_key(row: &BTreeMap<String, String>) -> Vec<String> {
    key(&row["name"], ["Input Dims", "Input type", "Input Strides", "Concrete Inputs"].map(|column| row[column].as_str()))
}

fn names(keys: BTreeSet<Vec<String>>) -> BTreeSet<String> {
    keys.into_iter().map(|key| key[0].clone()).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Fills on AMD are of the operators that launched them, which no arrow tells TraceLens.
const WITH_FILLS: &str = "mi300x_resnet_act_checkpoint";

#[test]
fn categories_are_those_of_tracelens() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for name in TRACES {
        let own = by_category(&tables(&corpus, name).operators);
        let own = sums(own.iter().map(|row| (row.category.name().to_owned(), row.count as f64, row.direct_kernel_ns as f64)));
        let theirs = csv(&corpus.join("expected/tracelens").join(name).join("ops_summary_by_category.csv"));
        let time = |row: &BTreeMap<String, String>| 1e6 * number(row, "total_direct_kernel_time_ms");
        let theirs = sums(theirs.iter().map(|row| (row["op category"].clone(), number(row, "Count"), time(row))));
        // Collectives are in no table of operators there.
        let mut expected = if name == "h100_qwen1.5" { set(&[]) } else { set(&["record_param_comms"]) };
        if name == WITH_FILLS {
            expected.extend(set(&["CONV_bwd", "CONV_fwd"]));
        }
        assert_eq!(differences(&own, &theirs), expected, "{name}");
    }
}

#[test]
fn operators_by_their_arguments_are_those_of_tracelens() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for name in TRACES {
        let own = tables(&corpus, name).arguments;
        let own = sums(own.iter().map(|row| (own_key(row), row.time.count as f64, row.time.sum_ns as f64)));
        let theirs = csv(&corpus.join("expected/tracelens").join(name).join("ops_unique_args.csv"));
        let time = |row: &BTreeMap<String, String>| 1e3 * number(row, "total_direct_kernel_time_sum");
        let theirs = sums(theirs.iter().map(|row| (their_key(row), number(row, "operation_count"), time(row))));
        let mut expected = if name == "h100_qwen1.5" { set(&[]) } else { set(&["record_param_comms"]) };
        if name == WITH_FILLS {
            expected.extend(set(&["aten::convolution_backward", "aten::miopen_convolution"]));
        }
        assert_eq!(names(differences(&own, &theirs)), expected, "{name}");
    }
}

#[test]
fn kernels_are_those_of_tracelens_and_copies_and_fills_are_there_too() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for name in TRACES {
        let own = tables(&corpus, name).kernels;
        let key = |row: &rankscope_tables::KernelRow| {
            vec![row.name.clone(), row.parent_op.clone().unwrap_or_default(), row.stream.clone()]
        };
        let own = sums(own.iter().map(|row| (key(row), row.time.count as f64, row.time.sum_ns as f64)));
        let theirs = csv(&corpus.join("expected/tracelens").join(name).join("kernel_summary.csv"));
        let key = |row: &BTreeMap<String, String>| {
            ["Kernel name", "Parent cpu_op", "Kernel stream"].map(|column| row[column].clone()).to_vec()
        };
        let column = |row: &BTreeMap<String, String>, column: &str| number(row, &format!("Kernel duration (µs)_{column}"));
        let theirs = sums(theirs.iter().map(|row| (key(row), column(row, "count"), 1e3 * column(row, "sum"))));
        let different = names(differences(&own, &theirs));
        let is_no_kernel = |kernel: &String| kernel.starts_with("Mem");
        assert!(different.iter().all(is_no_kernel), "{name}: {different:?}");
    }
}

#[test]
fn operators_that_are_measured_take_as_long_as_in_tracelens() {
    let Some(corpus) = given(Need::Corpus) else { return };
    // Work is of another operator around it than there, or of no made-up one.
    let expected: [&[&str]; 4] = [
        &["aten::fill_", "aten::max_pool2d_with_indices_backward", "record_param_comms"],
        &[
            "_C_cache_ops::reshape_and_cache_flash",
            "aten::embedding",
            "aten::gather",
            "aten::index",
            "cuLaunchKernelEx",
            "record_param_comms",
            "vllm::unified_attention_with_output",
        ],
        &["aten::embedding", "aten::index_select"],
        &[
            "aten::convolution",
            "aten::convolution_backward",
            "aten::div",
            "aten::fill_",
            "aten::max_pool2d_with_indices_backward",
            "aten::mse_loss",
            "record_param_comms",
        ],
    ];
    for (name, expected) in TRACES.into_iter().zip(expected) {
        let own = tables(&corpus, name).performance;
        let own = sums(
            own.iter().map(|row| (own_key(&row.operator), row.operator.time.count as f64, row.operator.time.sum_ns as f64)),
        );
        let theirs = csv(&corpus.join("expected/tracelens").join(name).join("unified_perf_summary.csv"));
        let made_up = |row: &&BTreeMap<String, String>| !row["name"].contains("->");
        let time = |row: &BTreeMap<String, String>| 1e3 * number(row, "Kernel Time (µs)_sum");
        let rows = theirs.iter().filter(made_up).map(|row| (their_key(row), number(row, "operation_count"), time(row)));
        assert_eq!(names(differences(&own, &sums(rows))), set(expected), "{name}");
    }
}
