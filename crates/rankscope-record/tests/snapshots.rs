//! Snapshot pairs in a real process: a library that stands for a vendor's, and what is written is what was read.

#![expect(clippy::unwrap_used, reason = "a test")]

mod vendor;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::time::{Duration, Instant};

use rankscope_record::plugins::Registry;
use rankscope_record::snapshots::{NoClock, SnapshotOptions, SnapshotTaker, TracerReader, Tried};
use rankscope_record::{Report, Session, SessionOptions};
use rankscope_trace::ClockScope;
use serde_json::Value;
use vendor::library;

fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A clock that counts how often it was read, and whoever waits for that.
fn counting() -> (TracerReader, Arc<AtomicU64>) {
    let read = Arc::new(AtomicU64::new(0));
    let counter = read.clone();
    let reader =
        TracerReader::new("counting", ClockScope::Devices, move || Some(counter.fetch_add(1, Ordering::Relaxed) as i64));
    (reader, read)
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

fn options(path: &Path, clocks: Vec<TracerReader>) -> SnapshotOptions {
    let period = Duration::from_millis(2);
    let mut options = SnapshotOptions::of(clocks, path);
    (options.period, options.half_width_max_ns) = (period, u64::MAX);
    options
}

fn session(options: SnapshotOptions) -> Session {
    let mut registry = Registry::new();
    registry.register(SnapshotTaker::new(options));
    Session::start_with(SessionOptions::default(), registry).unwrap()
}

fn rows(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn integer(row: &Value, key: &str) -> i64 {
    row[key].as_i64().unwrap_or_else(|| panic!("{row} has no {key}"))
}

fn metadata(stopped: &rankscope_record::Stopped, key: &str) -> Value {
    let recording = stopped.recorded.open().unwrap();
    let found = recording.meta().iter().find(|(name, _)| &**name == key).map(|(_, json)| serde_json::from_str(json).unwrap());
    found.unwrap_or(Value::Null)
}

#[test]
fn readings_are_written_until_the_session_stops() {
    let _turn = turn();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("clock/snapshots-rank3.jsonl");
    let (clock, read) = counting();
    let session = session(options(&path, vec![clock, TracerReader::monotonic_raw(), TracerReader::ticks()]));
    wait_until("five rounds", || read.load(Ordering::Relaxed) >= 25);
    let stopped = session.stop().unwrap();
    assert_eq!(stopped.report.plugins, []);
    let rows = rows(&path);
    assert_eq!((rows[0]["meta"].as_bool(), integer(&rows[0], "sampling_period_ns")), (Some(true), 2_000_000));
    let counts = metadata(&stopped, "user.snapshots.counts");
    assert_eq!(integer(&counts, "taken") as usize, rows.len() - 1);
    let of = |name: &str| rows.iter().filter(|row| row["clock"] == name).collect::<Vec<_>>();
    assert!(of("counting").len() >= 6, "five, and one at the end");
    assert_eq!(of("counting")[0]["scope"], "devices");
    for row in of("monotonic_raw") {
        let off = integer(row, "tracer_clock_ns").abs_diff(integer(row, "raw_clock_ns"));
        assert!(off <= integer(row, "half_width_ns") as u64, "{row}");
    }
    let raw: Vec<i64> = of("counting").iter().map(|row| integer(row, "raw_clock_ns")).collect();
    assert!(raw.is_sorted());
}

#[test]
fn a_refused_file_stops_the_taker_and_is_said_once() {
    let _turn = turn();
    let (clock, read) = counting();
    let full = session(options(Path::new("/dev/full"), vec![clock]));
    let stopped = full.stop().unwrap();
    assert_eq!(read.load(Ordering::Relaxed), 0, "the header was refused already");
    let Report { plugins, .. } = stopped.report;
    assert_eq!((plugins.len(), plugins[0].hook), (1, "on_profiling_start"));
    assert!(plugins[0].reason.contains("/dev/full: No space left"), "{plugins:?}");
}

#[test]
fn a_file_that_is_lost_on_the_way_stops_the_taker() {
    let _turn = turn();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let reader = std::thread::spawn({
        let path = path.clone();
        move || BufReader::new(File::open(path).unwrap()).lines().take(3).count()
    });
    let (clock, read) = counting();
    let session = session(options(&path, vec![clock]));
    assert_eq!(reader.join().unwrap(), 3, "and then nobody reads any more");
    // Five tries a round; the thread has let go of its clock when it has ended.
    wait_until("the taker stops by itself", || Arc::strong_count(&read) == 1);
    let stopped = session.stop().unwrap();
    let reasons: Vec<_> = stopped.report.plugins.iter().map(|failure| failure.reason.as_str()).collect();
    assert!(matches!(reasons.as_slice(), [reason] if reason.contains("Broken pipe")), "{reasons:?}");
    let known = stopped.recorded.open().unwrap().meta().iter().filter(|(key, _)| key == "user.snapshots.lost").count();
    assert_eq!(known, 1, "the recording knew at once");
}

#[test]
fn a_clock_that_breaks_is_left_out_and_named() {
    let _turn = turn();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("snapshots.jsonl");
    let (clock, read) = counting();
    let broken = TracerReader::new("broken", ClockScope::Devices, || panic!("the device fell off the bus"));
    let session = session(options(&path, vec![broken, clock]));
    wait_until("others go on", || read.load(Ordering::Relaxed) >= 15);
    let stopped = session.stop().unwrap();
    let reasons: Vec<_> = stopped.report.plugins.iter().map(|failure| failure.reason.as_str()).collect();
    assert_eq!(reasons, ["reading broken panicked: the device fell off the bus"]);
    assert!(rows(&path).len() > 3);
}

#[test]
fn a_clock_that_hangs_does_not_hang_the_program() {
    let _turn = turn();
    let directory = tempfile::tempdir().unwrap();
    let (let_go, never) = mpsc::channel::<()>();
    let (say_stuck, stuck) = mpsc::channel();
    let hanging = TracerReader::new("hanging", ClockScope::Devices, move || {
        let _ = say_stuck.send(());
        let _ = never.recv();
        None
    });
    let session = session(options(&directory.path().join("snapshots.jsonl"), vec![hanging]));
    stuck.recv_timeout(Duration::from_secs(20)).unwrap();
    let stopped = session.stop().unwrap();
    assert!(stopped.report.plugins[0].reason.contains("left behind"), "{:?}", stopped.report.plugins);
    drop(let_go);
}

#[test]
fn vendors_clocks_are_read_from_their_libraries() {
    let _turn = turn();
    let directory = tempfile::tempdir().unwrap();
    let nowhere = directory.path().join("libnowhere.so");
    let absent = TracerReader::cupti_at(nowhere.as_os_str()).unwrap_err();
    let [Tried { file, why: NoClock::Unloadable(_), .. }] = &absent.tried[..] else { panic!("{absent:?}") };
    assert!(file.ends_with("libnowhere.so"));
    let said = absent.to_string();
    assert!(said.starts_with("the clock of cupti is absent: ") && said.matches("libnowhere.so").count() == 1, "{said}");
    let good = "static unsigned long long now = 5000;\n\
                int cuptiGetTimestamp(unsigned long long *t) { *t = now += 10; return 0; }\n\
                int rocprofiler_get_timestamp(unsigned long long *t) { *t = now += 10; return now > 5035 ? 2 : 0; }\n";
    let Some(file) = library(directory.path(), "good", good) else {
        return rankscope_testkit::skip(rankscope_testkit::Need::Compiler, "there is no C compiler called cc");
    };
    let other = library(directory.path(), "other", "int unrelated(void) { return 0; }").unwrap();
    let absent = TracerReader::cupti_at(other.as_os_str()).unwrap_err();
    assert!(matches!(&absent.tried[0].why, NoClock::Unloadable(said) if said.contains("cuptiGetTimestamp")), "{absent}");
    let dead = library(directory.path(), "dead", "int cuptiGetTimestamp(unsigned long long *t) { return 35; }").unwrap();
    let absent = TracerReader::cupti_at(dead.as_os_str()).unwrap_err();
    assert_eq!(absent.tried[0].why, NoClock::Failed { status: 35 });
    assert!(absent.to_string().ends_with("dead.so: it returns no time: error 35"), "{absent}");

    let clocks =
        vec![TracerReader::cupti_at(file.as_os_str()).unwrap(), TracerReader::rocprofiler_at(file.as_os_str()).unwrap()];
    let (counting, read) = counting();
    let path = directory.path().join("snapshots.jsonl");
    let session = session(options(&path, clocks.into_iter().chain([counting]).collect()));
    wait_until("two rounds", || read.load(Ordering::Relaxed) >= 10);
    let stopped = session.stop().unwrap();
    let rows = rows(&path);
    let cupti: Vec<i64> =
        rows.iter().filter(|row| row["clock"] == "cupti").map(|row| integer(row, "tracer_clock_ns")).collect();
    assert!(cupti.len() >= 3 && cupti.is_sorted() && cupti[0] > 5_000, "{cupti:?}");
    assert!(rows.iter().all(|row| row["clock"] != "rocprofiler"), "it ended with an error each time");
    let counts = metadata(&stopped, "user.snapshots.counts");
    assert!(integer(&counts, "missed") as usize >= cupti.len(), "each silence is counted");
}
