//! The tables of HTA say the same of what it looked at.
//!
//! HTA leaves out what was launched after the last step of the profiler began, on the host or on a device. Starts are rounded up to microseconds and ends down.

use std::collections::BTreeSet;
use std::path::Path;

use rankscope_analyze::{Class, Classes, Side, Work};
use rankscope_tables::{Attribution, annotations, calls, copies, overlap, queues};
use rankscope_testkit::{Need, given};
use rankscope_trace::{CategoryKind, SpanId, Trace};

use super::{csv, number, trace};

/// Traces and the folders of their tables.
const NVIDIA: [(&str, &str); 2] = [("a100_nccl_data", "nccl_data"), ("sampled_rank-0_of_128", "sampled2")];

/// Likewise. HTA does not know the calls by which it launches, and the file has no bytes of its copies.
const AMD: (&str, &str) = ("mi300x_resnet_act_checkpoint", "mi300_resnet");

/// A trace with the work that HTA counts.
fn counted(corpus: &Path, name: &str) -> (Trace, Attribution) {
    let trace = trace(&corpus.join(format!("traces/kineto/{name}.json.gz")));
    let mut attribution = Attribution::of(&trace);
    let last_ns = last_step_ns(&trace);
    attribution.work.retain(|one| one.launch.is_some_and(|call| trace.spans.start_ns(call) < last_ns));
    (trace, attribution)
}

fn last_step_ns(trace: &Trace) -> i64 {
    let steps = trace.spans.ids().filter(|span| trace.name(*span).starts_with("ProfilerStep#"));
    steps.map(|step| trace.spans.start_ns(step)).max().expect("the trace has steps")
}

#[test]
fn calls_take_as_long_as_in_hta() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for (name, folder) in NVIDIA {
        let (trace, attribution) = counted(&corpus, name);
        let rows = calls(&trace, &attribution);
        let expected = csv(&corpus.join("expected/hta").join(folder).join("cuda_kernel_launch_stats.csv"));
        let sum = |column: &str| 1_000.0 * expected.iter().map(|row| number(row, column)).sum::<f64>();
        let most = |column: &str| 1_000.0 * expected.iter().map(|row| number(row, column)).fold(0.0, f64::max);
        let count = expected.len() as f64;
        assert_eq!(rows.iter().map(|row| row.work.spread.count).sum::<u64>() as f64, count, "{name}");
        // Each length is rounded down by up to 2 us.
        let call_ns = rows.iter().map(|row| row.call.spread.sum_ns).sum::<i64>() as f64 - sum("cpu_duration");
        let work_ns = rows.iter().map(|row| row.work.spread.sum_ns).sum::<i64>() as f64 - sum("gpu_duration");
        assert!((0.0..=2_000.0 * count).contains(&call_ns), "{name}: {call_ns}");
        assert!((0.0..=2_000.0 * count).contains(&work_ns), "{name}: {work_ns}");
        // A delay from a rounded end to a rounded start is rounded up by as much.
        let delay_ns = rows.iter().map(|row| row.delay.spread.max_ns).max().expect("it has calls") as f64;
        assert!((-2_000.0..=0.0).contains(&(delay_ns - most("launch_delay"))), "{name}: {delay_ns}");
        let longer = |column: &str, limit: f64| expected.iter().filter(|row| number(row, column) > limit).count() as u64;
        let long: u64 = rows.iter().map(|row| row.long_calls).sum();
        assert!((longer("cpu_duration", 50.0)..=longer("cpu_duration", 47.0)).contains(&long), "{name}: {long}");
        let late: u64 = rows.iter().map(|row| row.late_starts).sum();
        assert!((longer("launch_delay", 102.0)..=longer("launch_delay", 100.0)).contains(&late), "{name}: {late}");
    }
}

#[test]
fn queues_are_as_long_as_in_hta() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for (name, folder) in NVIDIA.into_iter().chain([AMD]) {
        let (trace, attribution) = counted(&corpus, name);
        let rows = queues(&trace, &attribution);
        for (stream, count, _, most) in summary(&corpus, folder, "queue_length_summary.csv") {
            let found = rows.iter().find(|row| row.stream == stream).unwrap_or_else(|| panic!("{name}: {stream}"));
            // It counts launches and starts, and in rounded stamps some start later or sooner.
            assert_eq!(2.0 * found.count as f64, count, "{name}: {found:?}");
            assert!((found.most as f64 - most).abs() <= 2.0, "{name}: {found:?} {most}");
        }
    }
}

#[test]
fn copies_are_as_many_and_as_fast_as_in_hta() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for (name, folder) in NVIDIA {
        let (trace, attribution) = counted(&corpus, name);
        let rows = copies(&trace, &classed(&trace, &attribution));
        for (copy, count, mean, most) in summary(&corpus, folder, "memory_bw_summary.csv") {
            let own = || rows.iter().filter(|row| row.name.starts_with(&copy));
            assert_eq!(own().map(|row| row.bandwidth.count).sum::<u64>() as f64, count, "{name}: {copy}");
            // It takes the figures that the profiler wrote. Old ones rounded durations and not these.
            if trace.spans.ids().any(|span| trace.spans.dur_ns[span.0 as usize] % 1_000 != 0) {
                let greatest = own().filter_map(|row| row.bandwidth.greatest()).fold(0.0, f64::max);
                let means = own().map(|row| row.bandwidth.sum).sum::<f64>() / count;
                assert!((greatest - most).abs() < 1e-9 * most, "{name}: {copy} {greatest} {most}");
                assert!((means - mean).abs() < 1e-9 * mean, "{name}: {copy} {means} {mean}");
            }
        }
    }
}

#[test]
fn annotations_of_devices_are_those_of_hta() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for (name, folder) in [NVIDIA[0], AMD] {
        let trace = trace(&corpus.join(format!("traces/kineto/{name}.json.gz")));
        let rows = annotations(&trace, &Attribution::of(&trace));
        let last_ns = last_step_ns(&trace);
        for row in csv(&corpus.join("expected/hta").join(folder).join("user_annotation.csv")) {
            let found = rows.iter().find(|found| found.side == Side::Device && found.name == row["name"]);
            let found = found.unwrap_or_else(|| panic!("{name}: {}", row["name"]));
            let left_out = trace.spans.ids().filter(|span| {
                let is_one = trace.kind(*span) == CategoryKind::GpuUserAnnotation && trace.name(*span) == found.name;
                is_one && trace.spans.start_ns(*span) >= last_ns
            });
            let left_out: Vec<i64> = left_out.map(|span| trace.spans.dur_ns[span.0 as usize]).collect();
            let count = found.time.count as f64 - left_out.len() as f64;
            assert_eq!((number(&row, "sum (us)") / number(&row, "mean (us)")).round(), count, "{name}: {found:?}");
            let off_ns = (found.time.sum_ns - left_out.iter().sum::<i64>()) as f64 - 1_000.0 * number(&row, "sum (us)");
            assert!((0.0..=2_000.0 * count).contains(&off_ns), "{name}: {found:?} {off_ns}");
        }
    }
}

/// Name, count, mean and greatest of each row of rank 0 in a table that pandas wrote with three lines of headings.
fn summary(corpus: &Path, folder: &str, file: &str) -> Vec<(String, f64, f64, f64)> {
    let path = corpus.join("expected/hta").join(folder).join(file);
    let reader = ::csv::ReaderBuilder::new().has_headers(false).from_path(path).expect("the table is there");
    let rows = reader.into_records().map(|row| row.expect("it is a row"));
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{text} in {file}"));
    let of_rank_0 = rows.skip(3).filter(|row| &row[0] == "0");
    of_rank_0.map(|row| (row[1].to_owned(), number(&row[2]), number(&row[3]), number(&row[row.len() - 1]))).collect()
}

/// The work of `attribution`, classed.
fn classed(trace: &Trace, attribution: &Attribution) -> Vec<Work> {
    let counted: BTreeSet<SpanId> = attribution.work.iter().map(|one| one.work).collect();
    let mut work = Classes::default().work(trace).1;
    work.retain(|piece| counted.contains(&piece.span));
    work
}

#[test]
fn compute_hides_as_much_communication_as_in_hta() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for (name, folder) in NVIDIA.into_iter().chain([AMD]) {
        let (trace, attribution) = counted(&corpus, name);
        let work = classed(&trace, &attribution);
        let found = overlap(&trace, &work).whole;
        let expected = csv(&corpus.join("expected/hta").join(folder).join("comm_comp_overlap.csv"));
        let expected_ns = number(&expected[0], "comp_comm_overlap_pctg") / 100.0 * found.comm_ns as f64;
        // It takes up to 2 us off each kernel unless stamps are whole ones, and rounds the figure to hundredths of a percent.
        let computing = work.iter().filter(|piece| piece.class == Class::Compute && piece.end_ns % 1_000 != 0).count() as f64;
        let off_ns = found.hidden_ns as f64 - expected_ns;
        let rounding_ns = 0.000_1 * found.comm_ns as f64;
        assert!((-rounding_ns..=2_000.0 * computing + rounding_ns).contains(&off_ns), "{name}: {off_ns} of {found:?}");
    }
}
