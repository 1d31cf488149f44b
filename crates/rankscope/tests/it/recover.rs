//! `rankscope recover` by its contract: the file of a process that died becomes a trace, and nothing is hidden.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{failure, rankscope, report};
use rankscope_formats::recording::{CHUNK_BYTES, Category, ClockId, DropReason, FILE_HEADER_BYTES, LiveAuthor, Remark};
use serde_json::Value;

const SPANS: u64 = 50_000;

/// What a process leaves that dies in its third open span.
fn killed(directory: &Path) -> PathBuf {
    let mut author = LiveAuthor::new();
    author.anchor(ClockId::MONOTONIC_RAW, 0, 5, 1);
    author.anchor(ClockId::REALTIME, 0, 1_790_860_000_000_000_000, 1);
    author.thread(1, 100, "loader");
    author.thread(2, 101, "t\u{e4}ter");
    let read = author.name("read", Category::USER_ANNOTATION.number(), 0);
    for at in 0..SPANS {
        author.begin(1, at * 10, read);
        author.end(1, at * 10 + 4);
    }
    for depth in 0..3 {
        author.begin(2, 1_000 + depth, read);
    }
    author.instant(2, 2_000, read);
    let path = directory.join("rank0.rkl");
    fs::write(&path, author.finish()).expect("written");
    path
}

fn recover(path: &Path, more: &[&str]) -> Value {
    let path = path.display().to_string();
    let output = rankscope(&[&["recover", &path, "--format", "json"], more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

#[test]
fn every_committed_event_is_counted() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = killed(directory.path());
    let before = fs::read(&path).expect("the file");
    let document = recover(&path, &[]);
    let thread = |name: &str, events: u64, open: u64, at: usize| {
        let thread = &document["threads"][at];
        assert_eq!(
            (thread["name"].as_str(), thread["events"].as_u64(), thread["open_spans"].as_u64()),
            (Some(name), Some(events), Some(open))
        );
    };
    thread("loader", SPANS, 0, 0);
    thread("t\u{e4}ter", 4, 3, 1);
    assert_eq!((&document["lost_chunks"], &document["events"]), (&Value::from(0), &Value::from(SPANS + 4)));
    assert!(fs::read(&path).expect("the file") == before, "the input stays as it was");
}

/// What is written is a trace like any other, in whichever format.
#[test]
fn the_trace_beside_it_reports() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = killed(directory.path());
    let named = recover(&path, &[])["output"].as_str().map(PathBuf::from).expect("a path");
    assert_eq!(named.parent(), Some(directory.path()));
    let others = ["again.json.gz", "again.pftrace", "again.rkr.zst"].map(|name| directory.path().join(name));
    for other in &others {
        recover(&path, &["-o", &other.display().to_string()]);
    }
    for made in [&named, &path].into_iter().chain(&others) {
        let rank = &report(made, &["--out", &directory.path().join("report").display().to_string()])["ranks"][0];
        assert!(rank.is_object(), "{}", made.display());
    }
}

/// The first event chunk is broken: its events are gone, and it is said.
#[test]
fn a_broken_chunk_is_counted() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = killed(directory.path());
    let whole = recover(&path, &[])["threads"][0]["events"].as_u64().expect("a count");
    let mut bytes = fs::read(&path).expect("the file");
    bytes[FILE_HEADER_BYTES + CHUNK_BYTES] = 0;
    fs::write(&path, &bytes).expect("written");
    let document = recover(&path, &[]);
    assert_eq!(document["lost_chunks"], 1);
    let left = document["threads"][0]["events"].as_u64().expect("a count");
    assert!(0 < left && left < whole, "{left} of {whole}");
}

/// What a ring overwrote is no loss, and what the recorder remarked on is said.
#[test]
fn what_was_dropped_is_told_from_what_was_overwritten() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("ring.rkl");
    let mut author = LiveAuthor::new();
    let name = author.name("op", Category::USER_ANNOTATION.number(), 0);
    author.begin(1, 10, name);
    author.drops(DropReason::TooDeep, 1, 3);
    author.drops(DropReason::Overwritten, 0, 70);
    author.remark(Remark::Misnested, 1, 1);
    author.remark(Remark::ValuesCut, 1, 2);
    fs::write(&path, author.finish()).expect("written");
    let document = recover(&path, &[]);
    assert_eq!((&document["overwritten"], &document["dropped"][0]["reason"]), (&Value::from(70), &Value::from("too_deep")));
    assert_eq!(document["dropped"].as_array().map(Vec::len), Some(1));
    assert_eq!(document["remarks"][0]["remark"], "misnested");
    let output = rankscope(&["recover", &path.display().to_string()]);
    let text = String::from_utf8(output.stdout).expect("text");
    for line in [
        "1 events, 1 span open",
        "dropped: 3 events (too_deep)",
        "overwritten by the ring: 70 events",
        "note: 1 span ended out of order (with their true ends)",
        "note: 2 values of arguments cut",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[test]
fn a_file_cut_anywhere_is_recovered_or_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = killed(directory.path());
    let bytes = fs::read(&path).expect("the file");
    for len in [FILE_HEADER_BYTES + 100, FILE_HEADER_BYTES + CHUNK_BYTES + 5_000, bytes.len() - 1_000] {
        fs::write(&path, &bytes[..len]).expect("written");
        recover(&path, &[]);
    }
    for len in [0, 7] {
        fs::write(&path, &bytes[..len]).expect("written");
        failure(&["recover", &path.display().to_string()]);
    }
}

#[test]
fn inputs_and_unknown_suffixes_are_left_alone() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = killed(directory.path()).display().to_string();
    assert!(failure(&["recover", &path, "-o", &path]).contains("same file"));
    assert!(failure(&["recover", &path, "-o", &format!("{path}.txt")]).contains(".rkr"));
    assert!(failure(&["recover", "/nonexistent/file"]).contains("/nonexistent/file"));
}

#[test]
fn a_packed_recording_is_sent_to_those_who_read_it() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = killed(directory.path());
    recover(&path, &[]);
    let packed = path.with_extension("recovered.rkr").display().to_string();
    let refused = failure(&["recover", &packed]);
    assert!(refused.contains("needs no recovery"), "{refused}");
}
