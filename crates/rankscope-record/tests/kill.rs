//! A process killed at any moment: what it had recorded by then is in its file.
#![expect(clippy::unwrap_used, reason = "a test of what a killed process leaves")]

mod child;
#[path = "../examples/record_until_killed.rs"]
#[expect(dead_code, reason = "its main is for the command line")]
mod record_until_killed;
mod recovered;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};
use std::thread;
use std::time::Duration;

use rankscope_formats::recording::Cut;

#[test]
#[ignore = "what the other tests start in a process of its own"]
fn child() {
    if let Some((_, file)) = child::part() {
        record_until_killed::record(&file).unwrap();
    }
}

#[test]
fn a_killed_process_leaves_all_it_had_recorded() {
    // The specification asks for a hundred: RANKSCOPE_KILLS=100.
    let kills: u64 = std::env::var("RANKSCOPE_KILLS").map_or(20, |kills| kills.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.live");
    let mut random = 0x5eed_u64;
    for kill in 0..kills {
        let (mut recorder, mut said, mut committed) = start(&file);
        // After a random number of lines, and then anywhere between two of them.
        for _ in 0..next(&mut random) % 24 {
            note(&mut committed, &mut said);
        }
        thread::sleep(Duration::from_micros(next(&mut random) % 12_000));
        recorder.kill().unwrap();
        recorder.wait().unwrap();
        while note(&mut committed, &mut said) {}
        judge(&file, &committed, &format!("kill {kill}"));
    }
}

#[test]
fn a_copy_taken_at_any_moment_is_a_recording_of_all_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let (file, copy) = (folder.path().join("trace.live"), folder.path().join("copy.live"));
    let (mut recorder, mut said, mut committed) = start(&file);
    for _ in 0..8 {
        for _ in 0..6 {
            note(&mut committed, &mut said);
        }
        std::fs::copy(&file, &copy).unwrap();
        judge(&copy, &committed, "copy");
    }
    recorder.kill().unwrap();
    recorder.wait().unwrap();
}

/// A recorder of which something has been recorded, what it says, and what it has said.
fn start(file: &Path) -> (Child, BufReader<ChildStdout>, BTreeMap<String, u64>) {
    let mut recorder = child::playing("record", file).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(recorder.stdout.take().unwrap());
    let mut committed = BTreeMap::new();
    while committed.values().all(|count| *count == 0) {
        assert!(note(&mut committed, &mut said), "the recorder ended by itself");
    }
    (recorder, said, committed)
}

/// Reads one line; false at the end. A line cut short by the kill was not said.
fn note(committed: &mut BTreeMap<String, u64>, said: &mut impl BufRead) -> bool {
    let mut line = String::new();
    if said.read_line(&mut line).unwrap() == 0 {
        return false;
    }
    // The test harness says things too, on the same line if need be.
    let words: Vec<&str> = line.split_whitespace().collect();
    if line.ends_with('\n')
        && let [.., "committed", thread, count] = words[..]
    {
        committed.insert(thread.to_owned(), count.parse().unwrap());
    }
    true
}

fn judge(file: &Path, committed: &BTreeMap<String, u64>, when: &str) {
    let recording = child::left(file);
    let found = recovered::spans(&recording, &Cut::everything());
    for (thread, count) in committed {
        let found = found.get(thread).copied().unwrap_or_default();
        assert!(found.ended >= *count, "{when}: {thread} had recorded {count} spans, {found:?} were found");
        assert!(found.open <= 12, "{when}: {thread} had at most 12 spans open, {found:?} were found");
    }
    let said: u64 = committed.values().sum();
    assert!(recovered::total(&found).ended >= said && said > 0, "{when}: {said} spans in all, {found:?} were found");
}

/// A step of splitmix64: random enough, and the same every time.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
