//! What is told of the single operators of a row, and where one of them is, is what TraceLens tells.

use std::collections::BTreeMap;

use rankscope_tables::{ArgumentRow, Distribution};
use rankscope_testkit::{Need, given};

use super::csv;
use super::tracelens::{TRACES, own_key, tables, their_key};

/// How much both may differ in what is said of one operator, in nanoseconds: TraceLens adds in floats of microseconds.
const ROUNDING_NS: f64 = 2.0;

type Row = BTreeMap<String, String>;

/// Rows of both that are of the same operators. TraceLens separates them by thread, so a row may be one of several.
fn both<'a>(own: impl Iterator<Item = &'a ArgumentRow>, theirs: &'a [Row], count: &str) -> Vec<(&'a ArgumentRow, &'a Row)> {
    let mut by_key: BTreeMap<Vec<String>, Vec<&Row>> = BTreeMap::new();
    for row in theirs {
        by_key.entry(their_key(row)).or_default().push(row);
    }
    let theirs = |row: &ArgumentRow| match by_key.get(&own_key(row)).map(Vec::as_slice) {
        Some([one]) if one[count].parse() == Ok(row.time.spread.count) => Some(*one),
        _ => None,
    };
    own.filter_map(|row| Some((row, theirs(row)?))).collect()
}

/// Whether the column called `column` has `own`, which is in nanoseconds; empty is none.
fn is_time(own: Option<f64>, row: &Row, column: &str) -> bool {
    match (own, row[column].parse::<f64>()) {
        (Some(own), Ok(theirs)) => (own - 1e3 * theirs).abs() <= ROUNDING_NS,
        (own, theirs) => own.is_none() && theirs.is_err(),
    }
}

/// Columns of `row` that do not say what `own` does.
fn wrong(own: &Distribution, row: &Row, column: impl Fn(&str) -> String) -> Vec<String> {
    let told = [
        ("mean", Some(own.spread.mean_ns())),
        ("median", own.median_ns()),
        ("std", own.std_ns()),
        ("min", Some(own.spread.min_ns as f64)),
        ("max", Some(own.spread.max_ns as f64)),
    ];
    told.into_iter()
        .map(|(word, ns)| (column(word), ns))
        .filter(|(column, ns)| !is_time(*ns, row, column))
        .map(|one| one.0)
        .collect()
}

/// Whether thread and process are named alike; TraceLens names one thread for each row.
fn is_thread(own: &ArgumentRow, row: &Row) -> bool {
    let thread = own.thread.clone().unwrap_or_default();
    let named = [(thread.name, "thread_name"), (thread.process, "process_name"), (thread.label, "process_label")];
    named.into_iter().all(|(own, column)| own.as_deref().unwrap_or("Unknown") == row[column])
}

/// Fills on AMD are of the operators that launched them, which no arrow tells TraceLens.
pub(crate) fn has_fills(own: &ArgumentRow) -> bool {
    own.kernels.iter().any(|kernel| kernel.name.starts_with("Memset"))
}

#[test]
fn times_of_single_operators_are_those_of_tracelens() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let mut compared = 0;
    for name in TRACES {
        let own = tables(&corpus, name).arguments;
        let theirs = csv(&corpus.join("expected/tracelens").join(name).join("ops_unique_args.csv"));
        for (own, row) in both(own.iter(), &theirs, "operation_count") {
            if has_fills(own) {
                continue;
            }
            let mut wrong_columns = wrong(&own.time, row, |word| format!("total_direct_kernel_time_{word}"));
            wrong_columns.extend(wrong(&own.subtree, row, |word| format!("total_subtree_kernel_time_{word}")));
            assert_eq!(wrong_columns, [""; 0], "{name}: {own:?} {row:?}");
            assert_eq!(own.example.map(|event| event.to_string()).as_ref(), Some(&row["ex_UID"]), "{name}: {own:?}");
            assert!(is_thread(own, row), "{name}: {own:?} {row:?}");
            compared += 1;
        }
    }
    assert_eq!(compared, 157);
}

#[test]
fn what_operators_achieved_one_by_one_is_what_tracelens_says() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let (mut compared, mut rates_compared) = (0, 0);
    for name in TRACES {
        let own = tables(&corpus, name).performance;
        let theirs = csv(&corpus.join("expected/tracelens").join(name).join("unified_perf_summary.csv"));
        for (operator, row) in both(own.iter().map(|row| &row.operator), &theirs, "operation_count") {
            let time = |word: &str| format!("Kernel Time (µs)_{word}");
            // What differs in the sum is named where the tables are compared.
            if !is_time(Some(operator.time.spread.sum_ns as f64), row, &time("sum")) {
                continue;
            }
            assert_eq!(wrong(&operator.time, row, time), [""; 0], "{name}: {operator:?} {row:?}");
            let host = |word: &str| match word {
                "mean" | "std" => format!("{word}_duration_us"),
                word => format!("duration_us_{word}"),
            };
            assert_eq!(wrong(&operator.host, row, host), [""; 0], "{name}: {operator:?} {row:?}");
            assert_eq!(operator.example.map(|event| event.to_string()).as_ref(), Some(&row["ex_UID"]), "{name}: {operator:?}");
            compared += 1;
            let work = own.iter().find(|one| std::ptr::eq(&one.operator, operator)).and_then(|one| one.work);
            let Some(rates) = work.and_then(|work| operator.time.rates(work.bytes)) else { continue };
            let moved: f64 = row["Data Moved (MB)"].parse().unwrap_or(0.0);
            // Where both count the same bytes, they go as fast.
            if work.is_some_and(|work| (moved * 1_048_576.0).round() as u64 == work.bytes) {
                let spec = work.and_then(|work| work.spec());
                assert!(spec.is_none_or(|spec| spec == row["Compute Spec"]), "{name}: {operator:?} {row:?}");
                for (own, column) in
                    [(Some(rates.min), "TB/s_min"), (Some(rates.max), "TB/s_max"), (rates.median, "TB/s_median")]
                {
                    let (own, theirs) = (own.unwrap_or(0.0), row[column].parse::<f64>().unwrap_or(0.0));
                    let rounding = ROUNDING_NS / operator.time.spread.min_ns as f64;
                    assert!((own / theirs - 1.0).abs() <= rounding, "{name}: {column} {own} {theirs}: {operator:?}");
                }
                rates_compared += 1;
            }
        }
    }
    assert_eq!((compared, rates_compared), (136, 81));
}
