use rankscope_document::{Document, Rank, Step, Time};
use rankscope_testkit::Rng;
use rankscope_testkit::steps::{Shape, Steps};

use super::*;

/// A run that began in the second `start` of 2023, whose steps take about `step_ns`.
fn past(name: &str, start: Option<i64>, step_ns: f64, seed: u64) -> Past {
    let mut rng = Rng::new(seed);
    let level = step_ns * (1.0 + 0.003 * rng.normal());
    let lengths = Steps { level, ..Steps::new(Shape::Normal, 0.3) }.run(24, &mut rng);
    let time = |length: f64| Time { total: length as i64, computation: 1_000, ..Time::default() };
    let step =
        |(number, length): (usize, &f64)| Step { step: number as i64, window_ns: [number as i64, 0], time_ns: time(*length) };
    let rank = Rank { steps: lengths.iter().enumerate().map(step).collect(), ..Rank::default() };
    let run = Run::new(format!("runs/{name}"), Document { ranks: vec![rank], ..Document::default() });
    Past { name: name.to_owned(), run, started_unix_ns: start.map(|second| 1_700_000_000_000_000_000 + second * 1_000_000_000) }
}

fn series(levels: &[f64]) -> Vec<Past> {
    levels.iter().enumerate().map(|(n, level)| past(&format!("run{n:03}"), Some(n as i64), *level, n as u64)).collect()
}

fn step(history: &HistoryDocument) -> &HistoryMetric {
    assert_eq!(history.metrics[0].name, "step_ns");
    &history.metrics[0]
}

#[test]
fn a_change_of_level_is_found_where_it_is() {
    let history = history("runs", series(&[[1e6; 12].as_slice(), &[1.05e6; 12]].concat()), &Settings::default());
    let changes = &step(&history).changes;
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!((changes[0].run, &changes[0].verdict), (12, &ChangeVerdict::Regressed));
    assert!((changes[0].ratio.unwrap() - 0.05).abs() < 0.01, "{changes:?}");
    let segment = step(&history).segment.as_ref().unwrap();
    assert_eq!((segment.first_run, segment.runs), (12, 11), "the latest is not of its own segment");
    assert!(history.metrics.iter().all(|metric| metric.values.len() == 24));
}

#[test]
fn the_latest_run_is_held_against_those_of_its_level() {
    for (latest, verdict) in [(1.10e6, ChangeVerdict::Regressed), (0.9e6, ChangeVerdict::Improved)] {
        let history = history("runs", series(&[[1e6; 15].as_slice(), &[latest]].concat()), &Settings::default());
        assert_eq!(step(&history).latest.as_ref().unwrap().verdict, verdict, "{latest}");
    }
}

#[test]
fn the_spread_between_runs_is_that_since_the_last_change() {
    let steady = history("runs", series(&[1e6; 30]), &Settings::default());
    let stepped = history("runs", series(&[[1e6; 15].as_slice(), &[2e6; 15]].concat()), &Settings::default());
    for (history, runs) in [(&steady, 30), (&stepped, 15)] {
        let spread = run_spreads(history)["step_ns"];
        assert_eq!(spread.runs, Some(runs));
        assert!((0.001..0.006).contains(&spread.relative), "{spread:?}");
    }
}

#[test]
fn runs_are_in_order_of_their_start_or_of_their_names() {
    let names = |history: &HistoryDocument| history.runs.iter().map(|run| run.name.clone()).collect::<Vec<_>>();
    let dated = history("runs", vec![past("b", Some(1), 1e6, 1), past("a", Some(2), 1e6, 2)], &Settings::default());
    assert_eq!((names(&dated), &dated.order), (vec!["b".to_owned(), "a".to_owned()], &HistoryOrder::Start));
    let mixed = history("runs", vec![past("b", Some(1), 1e6, 1), past("a", None, 1e6, 2)], &Settings::default());
    assert_eq!((names(&mixed), &mixed.order), (vec!["a".to_owned(), "b".to_owned()], &HistoryOrder::Name));
    assert!(mixed.notes[0].text.contains("nothing tells when 1 of 2 began, such as a"), "{:?}", mixed.notes);
}

#[test]
fn few_runs_and_none_are_no_reason_to_panic() {
    for count in 0..4 {
        let history = history("runs", series(&vec![1e6; count]), &Settings::default());
        assert_eq!(history.runs.len(), count);
        assert!(history.metrics.iter().all(|metric| metric.changes.is_empty()));
        assert_eq!(run_spreads(&history).contains_key("step_ns"), count >= 2);
    }
}
