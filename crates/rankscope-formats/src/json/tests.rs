use proptest::prelude::*;
use rankscope_testkit::damage::{self, BadDuration};
use rankscope_testkit::{Dialect, Job};
use rankscope_trace::{FlowPhase, TrackKey};

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
fn a_span_knows_the_number_of_its_event_in_the_file() {
    let job = Job { layers: 300, ..small() };
    let json = job.rank_bytes(0, &Dialect::default());
    let events: serde_json::Value = serde_json::from_slice(&json).expect("it is JSON");
    let trace = read_all(&json, ArgsPolicy::All).expect("readable");
    assert!(json.len() > 3 << 20, "it is read in several pieces: {}", json.len());
    for span in trace.spans.ids() {
        let place = trace.spans.place(span).expect("it is known");
        assert_eq!(events["traceEvents"][place as usize]["name"], trace.name(span));
    }
    // Where something is passed over, what follows it may have another number.
    let text = String::from_utf8(json).expect("it is text");
    let first = text.find("\"traceEvents\"").and_then(|key| Some(key + text[key..].find('[')? + 1)).expect("it has events");
    let damaged = read_all(format!("{}7, {}", &text[..first], &text[first..]).as_bytes(), ArgsPolicy::All).expect("readable");
    assert_eq!(damaged.provenance.problems.count(ProblemKind::MalformedEvent), 1);
    assert!(damaged.spans.len() > 1_000 && damaged.spans.ids().all(|span| damaged.spans.place(span).is_none()));
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
    assert_eq!(trace.unfinished.iter().map(|span| trace.name(*span)).collect::<Vec<_>>(), ["open"]);
}

#[test]
fn other_json_is_named_for_what_it_is() {
    let error = |text: &str| read_all(text.as_bytes(), ArgsPolicy::Analysis).unwrap_err().to_string();
    assert!(error(r#"{"a": 1, "b": 2}"#).contains("a, b"));
    assert!(error("hello").contains("hello"));
    assert!(error("[]").contains("its array of events is empty"));
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

/// Flow points by phase letter and time in microseconds, in the order of the file.
fn points(trace: &Trace) -> Vec<(char, i64)> {
    let letter = |phase| match phase {
        FlowPhase::Start => 's',
        FlowPhase::Step => 't',
        FlowPhase::End => 'f',
    };
    trace.flows.iter().map(|point| (letter(point.phase), point.time_ns / 1_000)).collect()
}

#[test]
fn a_flow_ends_at_the_next_span_unless_it_says_otherwise() {
    let text = r#"[
        {"ph": "X", "name": "from", "pid": 1, "tid": 1, "ts": 10, "dur": 5},
        {"ph": "X", "name": "around", "pid": 1, "tid": 2, "ts": 11, "dur": 9},
        {"ph": "X", "name": "next", "pid": 1, "tid": 2, "ts": 30, "dur": 5},
        {"ph": "b", "name": "no slice", "cat": "c", "id": 1, "pid": 1, "tid": 2, "ts": 25},
        {"ph": "e", "name": "no slice", "cat": "c", "id": 1, "pid": 1, "tid": 2, "ts": 26},
        {"ph": "s", "name": "flow", "cat": "c", "id": 1, "pid": 1, "tid": 1, "ts": 12},
        {"ph": "f", "name": "flow", "cat": "c", "id": 1, "pid": 1, "tid": 2, "ts": 13},
        {"ph": "f", "name": "flow", "cat": "c", "id": 2, "pid": 1, "tid": 2, "ts": 13, "bp": "e"},
        {"ph": "f", "name": "flow", "cat": "c", "id": 3, "pid": 1, "tid": 2, "ts": 40},
        {"ph": "f", "name": "flow", "cat": "c", "id": 4, "pid": 1, "tid": 77, "ts": 41}
    ]"#;
    let read = trace(text.as_bytes());
    assert_eq!(points(&read), [('s', 12), ('f', 30), ('f', 13), ('f', 40), ('f', 41)]);
    let tracks: Vec<_> = read.flows.iter().map(|point| read.tracks.get(point.track).key).collect();
    assert_eq!(tracks[4], TrackKey::Number(77), "one on a thread without events is kept, in the air");
}

#[test]
fn spans_say_themselves_which_flow_they_are_part_of() {
    let text = r#"[
        {"ph": "X", "name": "a", "cat": "x", "pid": 1, "tid": 1, "ts": 10, "dur": 5, "bind_id": "0x401", "flow_out": true},
        {"ph": "X", "name": "b", "cat": "y", "pid": 1, "tid": 2, "ts": 20, "dur": 5, "bind_id": 1025, "flow_in": true, "flow_out": true},
        {"ph": "B", "name": "c", "pid": 1, "tid": 3, "ts": 30, "bind_id": "0x401", "flow_in": true, "flow_out": false},
        {"ph": "E", "pid": 1, "tid": 3, "ts": 35},
        {"ph": "X", "name": "d", "pid": 1, "tid": 3, "ts": 40, "dur": 5, "bind_id": "0x401"}
    ]"#;
    let read = trace(text.as_bytes());
    assert_eq!(points(&read), [('s', 10), ('t', 20), ('f', 30)]);
    let flows: std::collections::BTreeSet<_> =
        read.flows.iter().map(|point| (point.id, point.category, point.name.0)).collect();
    assert_eq!(flows.len(), 1, "neither name nor category tells them apart");
}

#[test]
fn asynchronous_operations_are_told_apart_by_category_id_scope_and_process() {
    let text = r#"[
        {"ph": "b", "name": "local", "cat": "c", "id2": {"local": "0x1"}, "pid": 1, "tid": 1, "ts": 10},
        {"ph": "b", "name": "local", "cat": "c", "id2": {"local": "0x1"}, "pid": 2, "tid": 1, "ts": 11},
        {"ph": "e", "name": "local", "cat": "c", "id2": {"local": "0x1"}, "pid": 1, "tid": 1, "ts": 20},
        {"ph": "e", "name": "local", "cat": "c", "id2": {"local": "0x1"}, "pid": 2, "tid": 1, "ts": 22},
        {"ph": "b", "name": "scoped", "cat": "c", "id": "7", "scope": "A", "pid": 1, "tid": 1, "ts": 30},
        {"ph": "b", "name": "scoped", "cat": "c", "id": "7", "scope": "B", "pid": 1, "tid": 1, "ts": 31},
        {"ph": "e", "name": "scoped", "cat": "c", "id": "7", "scope": "A", "pid": 1, "tid": 1, "ts": 33},
        {"ph": "e", "name": "scoped", "cat": "c", "id": "7", "scope": "B", "pid": 1, "tid": 1, "ts": 35},
        {"ph": "S", "name": "old", "cat": "c", "id": "7", "pid": 1, "tid": 1, "ts": 40},
        {"ph": "T", "name": "old", "cat": "c", "id": "7", "pid": 1, "tid": 1, "ts": 42, "args": {"step": "half way"}},
        {"ph": "F", "name": "old", "cat": "c", "id": "7", "pid": 1, "tid": 1, "ts": 45},
        {"ph": "b", "name": "outer", "cat": "c", "id": "8", "pid": 1, "tid": 1, "ts": 50},
        {"ph": "b", "name": "inner", "cat": "c", "id": "8", "pid": 1, "tid": 1, "ts": 51},
        {"ph": "n", "name": "moment", "cat": "c", "id": "8", "pid": 1, "tid": 1, "ts": 52},
        {"ph": "e", "name": "outer", "cat": "c", "id": "8", "pid": 1, "tid": 1, "ts": 53},
        {"ph": "e", "name": "inner", "cat": "c", "id": "8", "pid": 1, "tid": 1, "ts": 54}
    ]"#;
    let expected = [
        ("local", 10, 20),
        ("local", 11, 22),
        ("scoped", 30, 33),
        ("scoped", 31, 35),
        ("old", 40, 45),
        ("outer", 50, 53),
        ("inner", 51, 54),
    ];
    let mut read = trace(text.as_bytes());
    for _ in 0..2 {
        let mut spans: Vec<_> =
            content(&read).into_iter().map(|(start, end, name, _)| (start / 1_000, end / 1_000, name)).collect();
        spans.sort();
        assert_eq!(spans, expected.map(|(name, start, end)| (start, end, name.to_owned())));
        let marks: Vec<_> = read.instants.iter().map(|mark| (read.strings.text(mark.name), mark.time_ns / 1_000)).collect();
        assert_eq!(marks, [("old", 42), ("moment", 52)]);
        assert!(read.provenance.problems.is_empty(), "{:?}", read.provenance.problems);
        assert!(read.spans.track.iter().all(|track| read.tracks.get(*track).is_async(&read.strings)));
        // What is written is read back the same.
        let mut written = Vec::new();
        write(&read, &mut written).unwrap();
        read = trace(&written);
    }
}

#[test]
fn what_is_not_read_is_named() {
    let event = r#"{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}"#;
    let objects = r#"{"ph": "O", "name": "o", "id": 1, "pid": 1, "tid": 1, "ts": 1}, {"ph": "D", "name": "o", "id": 1, "ts": 1},
        {"ph": "O", "name": "o", "id": 1, "pid": 1, "tid": 1, "ts": 1}"#;
    let read = trace(format!("[{event}, {objects}, {{\"name\": \"no phase\"}}]").as_bytes());
    let problem = read.provenance.problems.iter().next().unwrap();
    assert_eq!((problem.kind, problem.count), (ProblemKind::Unsupported, 4));
    let said =
        "events of phases 'D' and 'O', which rankscope does not read, and objects without a phase (`ph`), which are not events";
    assert_eq!(problem.detail, said);
}

#[test]
fn a_file_without_events_is_no_trace_and_says_what_it_holds() {
    for (text, says) in [
        (r#"[{"ph": "O", "ts": 1}]"#, "events of phase 'O', which rankscope does not read"),
        (r#"[{"file": "x", "batch_size": 32, "mode": "FULL"}]"#, "objects without a phase"),
        (r#"{"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x"}}]}"#, "names of processes"),
        ("[[1, 2, 3], [4, 5, 6]]", "a JSON list whose first item is no object"),
        ("[1, 2]", "a JSON list whose first item is no object"),
        (r#"{"traceEvents": []}"#, "its array of events is empty"),
    ] {
        let error = read_all(text.as_bytes(), ArgsPolicy::Analysis).unwrap_err();
        assert!(matches!(error, Error::NotATrace { .. }) && error.to_string().contains(says), "{text}: {error}");
    }
    let damaged = read_all(br#"[{"ph": "X", "name": "a", "ts": "never"}]"#, ArgsPolicy::Analysis).unwrap_err();
    assert!(matches!(damaged, Error::NoEvents { .. }), "{damaged}");
}

#[test]
fn a_trace_without_what_was_asked_for_is_a_trace() {
    let text = br#"[{"ph": "X", "name": "aten::mm", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]"#;
    let options = ReadOptions { scope: crate::Scope::Device, ..ReadOptions::default() };
    assert_eq!(read(&text[..], &options).unwrap().events(), 0);
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
