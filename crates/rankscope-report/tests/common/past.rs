//! Histories as they would be made of runs, with every list filled.

use rankscope_document::*;

use super::{HOSTILE, MS};

/// A history of `runs` runs and `metrics` metrics, every second of which changed its level halfway.
pub(crate) fn document(runs: usize, metrics: usize) -> HistoryDocument {
    let past = |run: usize| PastRun {
        name: if run == 1 { HOSTILE.to_owned() } else { format!("run-{run}") },
        path: format!("history/run-{run}"),
        start_ns: None,
        start_from: StartSource::Unknown,
        ranks: 8,
        steps: 30 + run,
    };
    HistoryDocument {
        schema: 1,
        rankscope_version: "0.0.0".to_owned(),
        title: "history".to_owned(),
        order: HistoryOrder::Name,
        alpha: 0.05,
        notes: vec![Note { level: NoteLevel::Problem, text: "notes.txt is left out: no run".to_owned() }],
        runs: (0..runs).map(past).collect(),
        metrics: (0..metrics).map(|at| metric(runs, at)).collect(),
    }
}

fn metric(runs: usize, at: usize) -> HistoryMetric {
    let (half, has_changed) = (runs / 2, at.is_multiple_of(2) && runs >= 6);
    let level = |run: usize| (48 * MS + if has_changed && run >= half { 3 * MS } else { 0 }) as f64;
    // A run in between lacks every third metric.
    let value = |run: usize| (!at.is_multiple_of(3) || run != 2).then(|| level(run) + (run * 7_919 % 101) as f64 * 1_000.0);
    let values: Vec<Option<f64>> = (0..runs).map(value).collect();
    let last = runs.saturating_sub(1);
    let change = LevelChange {
        run: half,
        before: level(0),
        after: level(last),
        ratio: Some(0.0625),
        p: 0.000_023,
        verdict: if at.is_multiple_of(4) { ChangeVerdict::Regressed } else { ChangeVerdict::Changed },
    };
    let first_run = if has_changed { half } else { 0 };
    HistoryMetric {
        name: if at == 0 { "step_ns".to_owned() } else { format!("idle_ns@rank{at}") },
        unit: MetricUnit::Nanoseconds,
        direction: Direction::LowerIsBetter,
        over: Over::OneRank,
        changes: if has_changed { vec![change] } else { Vec::new() },
        segment: (last > first_run).then(|| Segment {
            first_run,
            runs: last - first_run,
            median: level(last),
            run_spread: Some(0.01),
        }),
        latest: (last > first_run).then(|| MetricComparison {
            ratio: Some(0.002),
            ratio_lo: Some(-0.018),
            ratio_hi: Some(0.022),
            verdict: ChangeVerdict::Inconclusive,
            ..MetricComparison::default()
        }),
        values,
    }
}
