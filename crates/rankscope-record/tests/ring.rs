//! A ring keeps the spans that enclose what it keeps, also when its process is killed.
#![expect(clippy::unwrap_used, reason = "a test of what a killed process leaves")]

mod child;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use rankscope_formats::ReadOptions;
use rankscope_formats::recording::{Chunks, Cut, DropReason, Recording, What, to_trace};
use rankscope_record::{Overflow, Session, SessionOptions, Storage, begin_step, record_function, set_thread_name, ticks};

const WORKERS: usize = 2;
/// Several times what the ring holds.
const ROUNDS: u64 = 120_000;

/// One process has one recorder, so its tests take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn ring(storage: Storage) -> Session {
    let overflow = Overflow::Ring { max_bytes: 1 << 20, keep: Duration::from_secs(600) };
    Session::start(SessionOptions::default().with_storage(storage).with_overflow(overflow)).unwrap()
}

/// Small spans within a step within an outer one, which lasts; tells when it began.
fn work(rounds: u64) -> u64 {
    let before = ticks();
    let outer = record_function!("outer");
    let step = begin_step(7);
    for _ in 0..rounds {
        drop(record_function!("op"));
    }
    // The step ends before the span it lies in; both may be over when the ring is read.
    drop((step, outer));
    before
}

#[test]
#[ignore = "what the other tests start in a process of its own"]
fn child() {
    let Some((_, file)) = child::part() else { return };
    let _session = ring(Storage::File(file));
    let workers: Vec<_> = (0..WORKERS)
        .map(|index| {
            thread::spawn(move || {
                set_thread_name(&format!("worker-{index}"));
                let _outer = record_function!("outer");
                let _step = begin_step(7);
                for _ in 0..ROUNDS {
                    drop(record_function!("op"));
                }
                // The test harness says things too, on the same line if need be.
                let mut stdout = std::io::stdout().lock();
                stdout.write_all(b"\nwrapped\n").unwrap();
                stdout.flush().unwrap();
                drop(stdout);
                loop {
                    drop(record_function!("op"));
                }
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
}

/// What a thread left: the enclosing spans it is known to have been in, and its small spans within and outside of them.
#[derive(Debug, Default, PartialEq)]
struct Left {
    around: Vec<(String, u64)>,
    within: u64,
    outside: u64,
}

fn left<C: Chunks>(recording: &Recording<C>, cut: &Cut) -> BTreeMap<String, Left> {
    let mut threads = BTreeMap::new();
    for thread in recording.threads() {
        let (mut left, mut open) = (Left::default(), Vec::new());
        let mut replay = recording.replay(thread, cut);
        while let Some((event, _)) = replay.next() {
            match event.what {
                What::Begin { number, .. } => {
                    let name = recording.names()[event.name.0 as usize].text.to_string();
                    let name = number.map_or(name.clone(), |number| format!("{name}#{number}"));
                    if name == "op" {
                        *(if open == ["outer", "ProfilerStep#7"] { &mut left.within } else { &mut left.outside }) += 1;
                    } else {
                        left.around.push((name.clone(), event.tick));
                    }
                    open.push(name);
                }
                What::End { above, .. } => {
                    assert_eq!(above, 0);
                    open.pop();
                }
                _ => {}
            }
        }
        threads.insert(thread.name.clone(), left);
    }
    threads
}

#[test]
fn a_killed_ring_knows_the_spans_around_what_it_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ring.live");
    kill_when_wrapped(&file);
    let recording = child::left(&file);
    let threads = left(&recording, &Cut::everything());
    for index in 0..WORKERS {
        let Left { around, within, outside } = &threads[&format!("worker-{index}")];
        let names: Vec<&str> = around.iter().map(|(name, _)| &name[..]).collect();
        assert_eq!((names, *outside), (vec!["outer", "ProfilerStep#7"], 0));
        assert!(*within > 10_000 && around[0].1 <= around[1].1);
    }
    let overwritten: u64 = recording.drops().iter().filter(|drop| drop.0 == DropReason::Overwritten).map(|drop| drop.2).sum();
    assert!(overwritten > 0 && recording.lost_chunks() == 0);
    assert!(recording.drops().iter().all(|(reason, ..)| !reason.is_loss()), "a ring never stops: {:?}", recording.drops());
    // The ring did what it was asked to do: that is no problem of the trace's.
    let trace = to_trace(&recording, &Cut::everything(), &ReadOptions::default());
    assert!(trace.provenance.problems.is_empty(), "{:?}", trace.provenance.problems);
}

#[test]
fn a_ring_with_more_threads_than_chunks_goes_on() {
    let _turn = turn();
    let session = ring(Storage::Memory);
    thread::scope(|scope| (0..12).for_each(|_| drop(scope.spawn(|| work(30_000)))));
    let report = session.stop().unwrap().report;
    assert_eq!((report.dropped(), report.events() + report.overwritten()), (0, 12 * 30_002));
}

fn kill_when_wrapped(file: &Path) {
    let mut process = child::playing("ring", file).stdout(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(process.stdout.take().unwrap());
    let wrapped = said.lines().map_while(Result::ok).filter(|line| line == "wrapped").take(WORKERS).count();
    // The keeper writes down what was overwritten once a second, or later where the machine is busy.
    let says_so = || child::left(file).drops().iter().any(|drop| drop.0 == DropReason::Overwritten);
    let looks = (0..200).find(|_| {
        thread::sleep(Duration::from_millis(100));
        says_so()
    });
    process.kill().unwrap();
    assert!(looks.is_some(), "the keeper never said what was overwritten");
    process.wait().unwrap();
    assert_eq!(wrapped, WORKERS);
}

#[test]
fn spans_that_began_before_what_a_ring_kept_have_their_true_begin() {
    let _turn = turn();
    let session = ring(Storage::Memory);
    let (before, after) = (work(ROUNDS), ticks());
    let stopped = session.stop().unwrap();
    let recording = stopped.recorded.open().unwrap();
    let all = left(&recording, stopped.recorded.cut());
    let (_, kept) = all.iter().find(|(_, left)| left.within > 0).unwrap();
    assert_eq!((kept.around.len(), kept.outside), (2, 0), "{kept:?}");
    let first_op = after - (after - before) / 2;
    assert!(kept.around.iter().all(|(_, begin)| (before..first_op).contains(begin)), "{before} {kept:?}");
    // Recorded is kept or overwritten, to the event.
    assert_eq!((stopped.report.dropped(), stopped.report.events()), (0, kept.within + 2));
    assert_eq!(kept.within + 2 + stopped.report.overwritten(), ROUNDS + 2);
}
