//! Files that a recording is written to: whole or as they were before.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;

use rankscope_formats::{ReadOptions, read};
use rankscope_record::{Recorded, Session, SessionOptions, record_function, record_op};

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
        let members =
            read(File::open(&path).unwrap(), &ReadOptions { label: name.to_owned(), ..ReadOptions::default() }).unwrap();
        let trace = members[0].trace.as_ref().unwrap();
        let names: BTreeSet<&str> = trace.spans.ids().map(|span| trace.name(span)).collect();
        let spans = trace.spans.ids().filter(|span| ["outer", "inner"].contains(&trace.name(*span))).count();
        assert_eq!(spans, 1000, "{name}: {names:?}");
        assert!(trace.provenance.problems.is_empty(), "{name}: {:?}", trace.provenance.problems);
    }
}

#[test]
fn marks_of_pytorchs_profiler_are_there_for_those_who_ask() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    for asked in [false, true] {
        let session = Session::start(SessionOptions { pytorch_marks: asked, ..SessionOptions::default() }).unwrap();
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
