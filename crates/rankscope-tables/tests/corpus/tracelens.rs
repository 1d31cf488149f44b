//! By TraceLens' classes, its tables of operators say the same, but where docs/explanation/differences.md says otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rankscope_analyze::{ClassMode, Classes};
use rankscope_tables::{ArgumentRow, Attribution, Cards, Category, RankTables, by_category};
use rankscope_testkit::{Need, given};
use rankscope_trace::Trace;

use super::details::has_fills;
use super::{csv, number};

pub(crate) const TRACES: [&str; 4] = ["a100_nccl_data", "b200_eager", "h100_qwen1.5", "mi300x_resnet_act_checkpoint"];

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

pub(crate) fn tables(corpus: &Path, name: &str) -> RankTables {
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

pub(crate) fn own_key(row: &ArgumentRow) -> Vec<String> {
    let lists = [&row.dims, &row.types, &row.strides, &row.concrete];
    key(&row.name, lists.map(|list| list.as_deref().unwrap_or_default()))
}

pub(crate) fn their_key(row: &BTreeMap<String, String>) -> Vec<String> {
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
        let own = sums(own.iter().map(|row| (own_key(row), row.time.spread.count as f64, row.time.spread.sum_ns as f64)));
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

/// Why a row of `unified_perf_summary` is not that of TraceLens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Because {
    /// Collectives are in no table of operators there.
    Collective,
    /// Fills on AMD are of the operators that launched them, which no arrow tells TraceLens.
    Fills,
    /// Work of operators that lie in each other is of another one of them.
    Nested,
}

/// Operators that launched work within others or have others that did within them, both of them in `rows` of either table.
fn nested(trace: &Trace, attribution: &Attribution, rows: &BTreeSet<String>) -> BTreeSet<String> {
    let mut nested = BTreeSet::new();
    for owner in attribution.work.iter().filter_map(|one| one.owner.span()) {
        for around in attribution.around(owner).map(|span| trace.name(span)).filter(|name| rows.contains(*name)) {
            nested.extend([trace.name(owner), around].map(str::to_owned));
        }
    }
    nested
}

#[test]
fn operators_that_are_measured_take_as_long_as_in_tracelens_but_for_what_has_a_reason() {
    use Because::{Collective, Fills, Nested};
    let Some(corpus) = given(Need::Corpus) else { return };
    let expected: [&[Because]; 4] = [&[Collective, Nested], &[Collective, Nested], &[Nested], &[Collective, Fills, Nested]];
    for (name, expected) in TRACES.into_iter().zip(expected) {
        let trace = super::trace(&corpus.join(format!("traces/kineto/{name}.json.gz")));
        let own = tables(&corpus, name).performance;
        let time = |row: &ArgumentRow| (row.time.spread.count as f64, row.time.spread.sum_ns as f64);
        let own_sums = sums(own.iter().map(|row| &row.operator).map(|row| (own_key(row), time(row).0, time(row).1)));
        let theirs = csv(&corpus.join("expected/tracelens").join(name).join("unified_perf_summary.csv"));
        let their_sums = sums(theirs.iter().map(|row| {
            // A call or an operator without inputs has a name there that nobody called: `NAME->KERNEL (Synthetic Op)`.
            let mut key = their_key(row);
            key[0] = key[0].split("->").next().unwrap_or_default().to_owned();
            (key, number(row, "operation_count"), 1e3 * number(row, "Kernel Time (µs)_sum"))
        }));
        let rows = own_sums.keys().chain(their_sums.keys()).map(|key| key[0].clone()).collect();
        let nested = nested(&trace, &Attribution::of(&trace), &rows);
        let because = |key: &Vec<String>| {
            let own = own.iter().map(|row| &row.operator).find(|row| own_key(row) == *key);
            match own {
                Some(own) if own.category == Category::Communication => Collective,
                Some(own) if has_fills(own) => Fills,
                _ if nested.contains(&key[0]) => Nested,
                _ => panic!("{name}: {key:?}: {:?} here, {:?} there", own_sums.get(key), their_sums.get(key)),
            }
        };
        let mut moved: BTreeMap<Because, f64> = BTreeMap::new();
        for key in differences(&own_sums, &their_sums) {
            let ns = |sums: &Sums<Vec<String>>| sums.get(&key).map_or(0.0, |(_, ns)| *ns);
            *moved.entry(because(&key)).or_default() += ns(&own_sums) - ns(&their_sums);
        }
        assert_eq!(moved.keys().copied().collect::<Vec<_>>(), expected, "{name}");
        // What one operator has less, another has more.
        let count: f64 = own_sums.values().map(|(count, _)| count).sum();
        assert!(moved[&Nested].abs() <= 2.0 * count, "{name}: {moved:?}");
    }
}
