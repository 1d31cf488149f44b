//! Files that a recording is written to: whole or as they were before.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;

use rankscope_formats::recording::packed;
use rankscope_formats::{ArgsPolicy, ReadOptions, json, perfetto, read};
use rankscope_record::{
    Category, ExportFormat, Recorded, Scope, Session, SessionOptions, begin_async, intern, intern_key, record_function,
    record_op,
};
use rankscope_trace::{SpanId, Trace};
use serde_json::Value;

fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn recorded(spans: usize) -> Recorded {
    let session = Session::start(SessionOptions::default()).unwrap();
    for at in 0..spans {
        let _outer = record_function!("outer", at = at);
        let _inner = record_op!("inner");
    }
    session.stop().unwrap().recorded
}

#[test]
fn every_format_is_read_back_with_every_span() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let recorded = recorded(500);
    for name in ["a.rkr", "a.json", "a.json.gz", "a.json.zst", "a.pftrace", "a.xplane.pb"] {
        let path = folder.path().join(name);
        recorded.save(&path).unwrap();
        let members = read(File::open(&path).unwrap(), &ReadOptions::default().with_label(name)).unwrap();
        let trace = members[0].trace.as_ref().unwrap();
        let names: BTreeSet<&str> = trace.spans.ids().map(|span| trace.name(span)).collect();
        let spans = trace.spans.ids().filter(|span| ["outer", "inner"].contains(&trace.name(*span))).count();
        assert_eq!(spans, 1000, "{name}: {names:?}");
        assert!(trace.provenance.problems.is_empty(), "{name}: {:?}", trace.provenance.problems);
    }
}

/// Three requests of two names on two threads, of which no one lies in another, and a fourth that is not over.
fn requests() -> Recorded {
    let [get, put, open] = ["get", "put", "open"].map(|name| intern(name, Category::USER_ANNOTATION, Scope::UserScope));
    let key = intern_key("id");
    let session = Session::start(SessionOptions::default()).unwrap();
    let first = begin_async(get, &[(key, 1.into())]);
    let second = begin_async(put, &[(key, 2.into())]);
    thread::scope(|scope| {
        scope.spawn(|| {
            let third = begin_async(get, &[(key, 3.into())]);
            drop(first);
            let open = begin_async(open, &[]);
            drop((second, third));
            std::mem::forget(open);
            drop(record_function!("behind"));
        });
    });
    session.stop().unwrap().recorded
}

/// Name, start and length of the async spans of a trace, and how many other spans it has.
fn async_spans(trace: &Trace) -> (BTreeSet<(String, i64, i64)>, usize) {
    let is_async = |span: &SpanId| trace.tracks.get(trace.spans.row(*span).track).is_async(&trace.strings);
    let (asynchronous, others): (Vec<_>, Vec<_>) = trace.spans.ids().partition(is_async);
    let row = |span: SpanId| (trace.name(span).to_owned(), trace.spans.start_ns(span), trace.spans.row(span).dur_ns);
    (asynchronous.into_iter().map(row).collect(), others.len())
}

/// The two ends of each async span that has both: phase, name, time, category, arguments.
fn ends(json: &[u8]) -> Vec<String> {
    let document: Value = serde_json::from_slice(json).unwrap();
    let base: i64 = document["baseTimeNanoseconds"].as_i64().unwrap_or(0);
    let events = document["traceEvents"].as_array().unwrap().iter();
    let one = |event: &Value| {
        let ns = base + (event["ts"].as_f64().unwrap() * 1_000.0).round() as i64;
        format!("{} {} {ns} {} {}", event["ph"], event["name"], event["cat"], event["args"])
    };
    let is_end = |event: &&Value| (event["ph"] == "b" || event["ph"] == "e") && event["name"] != "open";
    let mut ends: Vec<String> = events.filter(is_end).map(one).collect();
    ends.sort();
    ends
}

#[test]
fn async_spans_that_overlap_are_async_spans_in_every_format() {
    let _turn = turn();
    let recorded = requests();
    let options = ReadOptions::default().with_args(ArgsPolicy::All);
    let mut files = [const { Vec::new() }; 3];
    for (file, format) in files.iter_mut().zip([ExportFormat::Native, ExportFormat::KinetoJson, ExportFormat::Perfetto]) {
        recorded.export_to(format, file).unwrap();
    }
    let [native, json, proto] = &files;
    let trace = packed::read(&native[..], &options).unwrap();
    let (spans, others) = async_spans(&trace);
    assert_eq!((spans.len(), others), (4, 1));
    let read_json = |bytes: &[u8]| json::read(bytes, &options).unwrap();
    let read_proto = |bytes: &[u8]| perfetto::read(bytes, &options).unwrap();
    let streamed = read_proto(proto);

    // From any of these into any other, as `rankscope convert` does it.
    let mut again = vec![("json", read_json(json)), ("pftrace", streamed)];
    for at in 0..3 {
        let (from, of) = if at < 2 { (again[at].0, &again[at].1) } else { ("rkr", &trace) };
        let (mut to_json, mut to_proto) = (Vec::new(), Vec::new());
        json::write(of, &mut to_json).unwrap();
        perfetto::write(of, &mut to_proto).unwrap();
        if from == "rkr" {
            assert_eq!(ends(&to_json), ends(json), "the same ends as the recorder writes itself");
        }
        again.extend([("json", read_json(&to_json)), ("pftrace", read_proto(&to_proto))]);
    }
    // What is not over lasts as long as a format can tell.
    let over = |trace: &Trace| {
        let (mut spans, others) = async_spans(trace);
        spans.retain(|(name, ..)| name != "open");
        (spans, others)
    };
    for (number, (format, trace)) in again.iter().enumerate() {
        assert_eq!(over(trace), over(&again[0].1), "{number}: {format}");
        assert_eq!(async_spans(trace).0.len(), 4, "{number}: {format}");
    }
    assert_eq!(over(&trace), over(&again[0].1));
}

#[test]
fn marks_of_pytorchs_profiler_are_there_for_those_who_ask() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    for asked in [false, true] {
        let session = Session::start(SessionOptions::default().with_pytorch_marks(asked)).unwrap();
        drop(record_op!("aten::mm"));
        session.stop().unwrap().recorded.save(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        for mark in ["External id", "PyTorch Profiler (0)", "Iteration Start: PyTorch Profiler"] {
            assert_eq!(text.contains(mark), asked, "{mark}");
        }
    }
}

#[test]
fn a_reader_never_sees_half_a_file() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let recorded = recorded(2_000);
    recorded.save(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    let goes_on = AtomicBool::new(true);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut looks = 0;
            while goes_on.load(Ordering::Relaxed) {
                assert!(fs::read(&path).expect("the file never disappears") == whole, "half a file");
                looks += 1;
            }
            looks
        });
        for _ in 0..20 {
            recorded.save(&path).unwrap();
        }
        goes_on.store(false, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
    });
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn an_export_that_fails_leaves_what_was_there() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let recorded = recorded(10);
    let unknown = recorded.save(folder.path().join("trace.doc")).unwrap_err();
    assert!(unknown.to_string().contains("use .rkr"), "{unknown}");
    let taken = folder.path().join("taken.rkr");
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("inside"), "kept").unwrap();
    recorded.save(&taken).unwrap_err();
    assert_eq!(fs::read_to_string(taken.join("inside")).unwrap(), "kept");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    recorded.save(folder.path().join("no/such/place.rkr")).unwrap_err();
}
