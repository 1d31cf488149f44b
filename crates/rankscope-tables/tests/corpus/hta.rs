//! The tables of HTA say the same of what it looked at.
//!
//! HTA leaves out what was launched after the last step of the profiler began, starts are rounded up to microseconds and ends down.

use std::path::Path;

use rankscope_tables::{Attribution, calls};
use rankscope_testkit::{Need, given};
use rankscope_trace::{CategoryKind, Trace};

use super::{csv, number, trace};

/// Traces and the folders of their tables. Of the other one HTA knows neither calls nor bytes: it was taken on AMD.
const NVIDIA: [(&str, &str); 2] = [("a100_nccl_data", "nccl_data"), ("sampled_rank-0_of_128", "sampled2")];

/// A trace with the work that HTA counts.
fn counted(corpus: &Path, name: &str) -> (Trace, Attribution) {
    let trace = trace(&corpus.join(format!("traces/kineto/{name}.json.gz")));
    let mut attribution = Attribution::of(&trace);
    let steps = trace
        .spans
        .ids()
        .filter(|span| trace.kind(*span) == CategoryKind::UserAnnotation && trace.name(*span).starts_with("ProfilerStep#"));
    let last_ns = steps.map(|step| trace.spans.start_ns(step)).max().expect("the trace has steps");
    attribution.work.retain(|one| one.launch.is_some_and(|call| trace.spans.start_ns(call) < last_ns));
    (trace, attribution)
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
