use proptest::prelude::*;
use rankscope_testkit::damage::{self, BadDuration};
use rankscope_testkit::{Dialect, Job};

use super::*;
use crate::ArgsPolicy;

fn small() -> Job {
    Job { ranks: 2, steps: 2, layers: 2, ops_per_step: 8, python_frames: 1, odd_names: true, ..Job::default() }
}

fn read_all(bytes: &[u8], args: ArgsPolicy) -> Result<Trace, Error> {
    read(bytes, &ReadOptions { label: "test.json".into(), args, ..ReadOptions::default() })
}

fn trace(bytes: &[u8]) -> Trace {
    read_all(bytes, ArgsPolicy::Analysis).expect("readable")
}

/// What a trace says, whatever order and ids it is kept in.
fn content(trace: &Trace) -> Vec<(i64, i64, String, String)> {
    let place = |span| {
        let track = trace.tracks.get(trace.spans.row(span).track);
        format!("{:?} {:?}", track.kind, track.parent.map(|parent| trace.tracks.get(parent).kind))
    };
    let mut spans: Vec<_> = trace
        .spans
        .ids()
        .map(|span| (trace.spans.start_ns(span), trace.spans.end_ns(span), trace.name(span).to_owned(), place(span)))
        .collect();
    spans.sort();
    spans
}

#[test]
fn every_dialect_says_the_same() {
    let job = small();
    let plain = trace(&job.rank_bytes(1, &Dialect::default()));
    assert!(plain.provenance.problems.is_empty(), "{:?}", plain.provenance.problems);
    for (name, dialect) in Dialect::all() {
        let other = trace(&job.rank_bytes(1, &dialect));
        assert_eq!(other.provenance.problems, rankscope_trace::Problems::default(), "{name}");
        assert_eq!(other.spans.len(), plain.spans.len(), "{name}");
        assert_eq!(other.flows.len(), plain.flows.len(), "{name}");
        assert_eq!(other.correlations.len(), plain.correlations.len(), "{name}");
        // Integer microseconds lose what lies below, a bare list its base; the rest is the same to the nanosecond.
        let loses_time = name.contains("micro") || name.contains("torch 1") || name.contains("list") || name.contains("old");
        if !loses_time {
            assert!(content(&other) == content(&plain), "{name}");
            assert_eq!(other.provenance.rank, plain.provenance.rank, "{name}");
            assert_eq!(other.provenance.process_groups, plain.provenance.process_groups, "{name}");
        }
    }
}

#[test]
fn damaged_names_are_counted_where_they_are_and_nothing_is_lost() {
    let json = small().rank_bytes(0, &Dialect::default());
    let whole = trace(&json);
    type Damage = fn(&[u8], usize) -> damage::Damaged;
    let kinds: [(Damage, ProblemKind); 3] = [
        (damage::control_characters, ProblemKind::ControlCharacter),
        (damage::unescaped_quotes, ProblemKind::UnescapedQuote),
        (damage::invalid_utf8, ProblemKind::InvalidUtf8),
    ];
    for (inflict, kind) in kinds {
        let damaged = inflict(&json, 7);
        let read = trace(&damaged.bytes);
        let found = read.provenance.problems.iter().find(|problem| problem.kind == kind).expect("found");
        assert_eq!(read.events(), whole.events(), "{kind}");
        assert!(found.count >= damaged.offsets.len() as u64, "{kind}: {} of {}", found.count, damaged.offsets.len());
        let first = damaged.offsets[0] as u64;
        assert!(found.offset <= first && first - found.offset < 400, "{kind}: {} for {first}", found.offset);
    }
}

#[test]
fn impossible_durations_count_as_none() {
    let json = small().rank_bytes(0, &Dialect::default());
    for (bad, kind) in
        [(BadDuration::Negative, ProblemKind::NegativeDuration), (BadDuration::Overflowed, ProblemKind::OverflowedDuration)]
    {
        let damaged = damage::durations(&json, 5, bad);
        let read = trace(&damaged.bytes);
        assert_eq!(read.provenance.problems.count(kind), damaged.offsets.len() as u64, "{kind}");
        assert!(read.spans.dur_ns.iter().all(|dur| (0..1_000_000_000_000).contains(dur)), "{kind}");
    }
}

#[test]
fn a_truncated_file_gives_its_beginning() {
    let json = small().rank_bytes(0, &Dialect::default());
    let whole = trace(&json);
    let mut most = 0;
    for at in (0..json.len()).step_by(97) {
        match read_all(&json[..at], ArgsPolicy::Analysis) {
            Ok(read) => {
                assert!(read.events() <= whole.events());
                assert!(read.events() >= most, "{} events at {at}, {most} before", read.events());
                assert!(read.provenance.problems.count(ProblemKind::Truncated) > 0, "at {at}");
                most = read.events();
            }
            Err(Error::Empty | Error::NoEvents { .. } | Error::NotATrace { .. }) => assert_eq!(most, 0, "at {at}"),
            Err(error) => panic!("at {at}: {error}"),
        }
    }
    assert!(most + 5 > whole.events(), "{most} of {}", whole.events());
}

#[test]
fn what_is_written_is_read_back() {
    for rank in 0..2 {
        let first = read_all(&small().rank_bytes(rank, &Dialect::default()), ArgsPolicy::All).unwrap();
        let mut written = Vec::new();
        write(&first, &mut written).unwrap();
        serde_json::from_slice::<serde::de::IgnoredAny>(&written).expect("what we write is JSON");
        let second = read_all(&written, ArgsPolicy::All).unwrap();
        assert!(content(&second) == content(&first));
        assert!(second.provenance.problems.is_empty());
        assert_eq!(second.flows.len(), first.flows.len());
        assert_eq!(second.instants.len(), first.instants.len());
        assert_eq!(second.collectives.len(), first.collectives.len());
        assert_eq!(second.provenance.clock_base_ns, first.provenance.clock_base_ns);
        assert_eq!(second.provenance.rank, first.provenance.rank);
        assert!(arguments(&second) == arguments(&first));
    }
}

fn arguments(trace: &Trace) -> Vec<String> {
    let value = |value| match value {
        rankscope_trace::ArgValue::Text(text) | rankscope_trace::ArgValue::Json(text) => trace.strings.text(text).to_owned(),
        other => format!("{other:?}"),
    };
    let row = |row: usize| -> String {
        trace.spans.args.row(row).map(|(key, arg)| format!("{}={};", trace.strings.text(key), value(arg))).collect()
    };
    (0..trace.spans.len()).map(row).collect()
}

#[test]
fn begins_and_ends_become_spans() {
    let text = r#"[
        {"ph": "B", "name": "outer", "pid": 1, "tid": 1, "ts": 10},
        {"ph": "B", "name": "inner", "pid": 1, "tid": 1, "ts": 11},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 12},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 15},
        {"ph": "b", "name": "async", "cat": "c", "id": "0x1f", "pid": 1, "tid": 1, "ts": 10},
        {"ph": "e", "name": "async", "cat": "c", "id": 31, "pid": 1, "tid": 2, "ts": 30},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 40},
        {"ph": "B", "name": "open", "pid": 1, "tid": 9, "ts": 50}
    ]"#;
    let trace = trace(text.as_bytes());
    let spans: Vec<_> = content(&trace).into_iter().map(|(start, end, name, _)| (name, start, end)).collect();
    let expected = [("outer", 10, 15), ("async", 10, 30), ("inner", 11, 12), ("open", 50, 50)];
    assert_eq!(spans, expected.map(|(name, start, end)| (name.to_owned(), start * 1_000, end * 1_000)));
    assert_eq!(trace.provenance.problems.count(ProblemKind::UnbalancedSpan), 2);
}

#[test]
fn other_json_is_named_for_what_it_is() {
    let error = |text: &str| read_all(text.as_bytes(), ArgsPolicy::Analysis).unwrap_err().to_string();
    assert!(error(r#"{"rocprofiler-sdk-tool": [1]}"#).contains("rocprofv3"));
    assert!(error(r#"{"a": 1, "b": 2}"#).contains("a, b"));
    assert!(error("hello").contains("hello"));
    assert!(error("[]").contains("no event"));
    assert!(matches!(read_all(b"", ArgsPolicy::Analysis), Err(Error::Empty)));
}

#[test]
fn gpu_only_keeps_the_device() {
    let json = small().rank_bytes(0, &Dialect::default());
    let options = ReadOptions { scope: crate::Scope::Device, ..ReadOptions::default() };
    let device = read(&json[..], &options).unwrap();
    let whole = trace(&json);
    let count = |trace: &Trace| trace.spans.ids().filter(|span| trace.kind(*span).is_device_work()).count();
    assert_eq!(count(&device), count(&whole));
    assert!(device.spans.len() < whole.spans.len() * 2 / 3);
    assert_eq!(device.collectives.len(), whole.collectives.len());
    assert_eq!(device.steps.len(), whole.steps.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever happens to the bytes, reading ends, and what it says about where is inside the file.
    #[test]
    fn no_damage_breaks_the_reader(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40), compact in any::<bool>()
    ) {
        let dialect = if compact { Dialect::all().into_iter().find(|(name, _)| name.contains("compact")).map(|(_, d)| d) } else { None };
        let mut json = Job { steps: 1, ..small() }.rank_bytes(0, &dialect.unwrap_or_default());
        for (at, byte) in flips {
            let at = at.index(json.len());
            json[at] = byte;
        }
        if let Ok(read) = read_all(&json, ArgsPolicy::All) {
            prop_assert!(read.provenance.problems.iter().all(|problem| problem.offset <= json.len() as u64));
            prop_assert!(read.spans.dur_ns.iter().all(|dur| *dur >= 0));
            let mut written = Vec::new();
            write(&read, &mut written).unwrap();
            prop_assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&written).is_ok());
        }
    }
}

/// Lines of events with one in the middle whose name is longer than any event.
#[test]
fn an_event_longer_than_any_costs_itself_alone() {
    let event =
        |name: &str, ts: u32| format!(r#"{{"ph":"X","cat":"cpu_op","name":"{name}","pid":1,"tid":1,"ts":{ts},"dur":1}}"#);
    let long = "n".repeat(20 << 20);
    for separator in [",\n  ", ","] {
        let mut events: Vec<String> = (0..50).map(|at| event("short", at * 10)).collect();
        events.insert(25, event(&long, 255));
        let text = format!("{{\"traceEvents\": [\n  {}\n]}}", events.join(separator));
        let found = trace(text.as_bytes());
        assert_eq!(found.spans.len(), 50);
        assert!(found.spans.ids().all(|span| found.name(span) == "short"));
        assert_eq!(found.provenance.problems.iter().next().map(|first| first.kind), Some(ProblemKind::TooLong));
    }
}
