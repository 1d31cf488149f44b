//! The agreement, with ranks that are functions: each says what a rank would say to what it sees in the folder.

use std::fs;
use std::path::Path;
use std::thread;

use rankscope_run::{NewRun, RunDirectory};
use serde_json::{Value, json};

use super::*;

/// A run that runs, and the folder of its first request.
fn running() -> (tempfile::TempDir, RunDirectory) {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("run");
    let new = NewRun { run_id: "r".to_owned(), command: Vec::new(), world_size: Some(2), reference_node: 0, restart: 0 };
    let run = RunDirectory::create(&path, new).unwrap();
    fs::create_dir(path.join(".rankscope-hooks")).unwrap();
    (root, run)
}

fn word(folder: &Path, rank: u32, state: &str, more: Value) {
    let mut about = json!({ "rank": rank, "state": state, "world_size": 2 });
    about.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let partial = folder.join(format!(".{rank}"));
    fs::write(&partial, about.to_string()).unwrap();
    fs::rename(partial, folder.join(format!("rank-{rank}.json"))).unwrap();
}

fn wait(path: &Path) -> Value {
    loop {
        if let Ok(text) = fs::read(path) {
            return serde_json::from_slice(&text).unwrap();
        }
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_rank_that_heard_too_late_makes_it_a_later_step() {
    let (_root, run) = running();
    let folder = run.path().join(".rankscope-hooks/triggers/0");
    let ranks = thread::spawn(move || {
        wait(&folder.join("request.json"));
        word(&folder, 0, "here", json!({ "free": 10, "step_ns": 1_000_000_000 }));
        word(&folder, 1, "here", json!({ "free": 12, "step_ns": 1_000_000_000 }));
        let first = wait(&folder.join("agreed-0.json"))["first_step"].as_u64().unwrap();
        word(&folder, 0, "accepted", json!({ "free": 13, "round": 0 }));
        word(&folder, 1, "late", json!({ "free": 40, "round": 0 }));
        let second = wait(&folder.join("agreed-1.json"))["first_step"].as_u64().unwrap();
        // What was accepted before is done first, and does not count.
        word(&folder, 0, "done", json!({ "free": 19, "round": 0, "outcome": "kept" }));
        word(&folder, 1, "done", json!({ "free": 50, "round": 1, "outcome": "kept" }));
        word(&folder, 0, "done", json!({ "free": 50, "round": 1, "outcome": "left-alone" }));
        (first, second)
    });
    let mut heard = Vec::new();
    let done = trigger(&TriggerRequest::new(run.path(), 2), &AtomicBool::new(false), &mut |said| heard.push(said)).unwrap();
    let (first, second) = ranks.join().unwrap();
    assert_eq!((first, second), (15, 46), "three steps ahead of the foremost, then six");
    assert_eq!((done.first_step, done.profiled, done.not_profiled), (46, vec![1], vec![0]));
    let agreed = |first_step| TriggerProgress::Agreed { first_step, ranks: 2 };
    assert_eq!(heard, [TriggerProgress::Asked, agreed(15), TriggerProgress::TooLate { rank: 1 }, agreed(46)]);
    assert!(run.path().join(".rankscope-hooks/triggers/0/over").exists());
}

#[test]
fn a_rank_that_says_nothing_is_left_out_and_named() {
    let (_root, run) = running();
    let folder = run.path().join(".rankscope-hooks/triggers/0");
    let rank = thread::spawn(move || {
        wait(&folder.join("request.json"));
        word(&folder, 0, "here", json!({ "free": 3 }));
        wait(&folder.join("agreed-0.json"));
        word(&folder, 0, "done", json!({ "free": 9, "round": 0, "outcome": "kept" }));
    });
    let mut request = TriggerRequest::new(run.path(), 1);
    request.answer_within = Duration::from_secs(1);
    let done = trigger(&request, &AtomicBool::new(false), &mut |_| {}).unwrap();
    rank.join().unwrap();
    assert_eq!((done.profiled, done.silent), (vec![0], vec![1]));
}

#[test]
fn who_cannot_be_asked_is_told_why() {
    let (_root, run) = running();
    let path = run.path().to_owned();
    let asked = |request: &TriggerRequest| trigger(request, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    let mut request = TriggerRequest::new(&path, 1);
    request.answer_within = Duration::ZERO;
    assert!(matches!(asked(&request), TriggerError::NoAnswer { .. }));
    fs::create_dir(path.join(".rankscope-hooks/triggers/2")).unwrap();
    let overtaken = thread::spawn({
        let request = TriggerRequest::new(&path, 1);
        move || trigger(&request, &AtomicBool::new(false), &mut |_| {})
    });
    wait(&path.join(".rankscope-hooks/triggers/3/request.json"));
    fs::create_dir(path.join(".rankscope-hooks/triggers/4")).unwrap();
    assert!(matches!(overtaken.join().unwrap(), Err(TriggerError::Overtaken)));
    let stopped = trigger(&TriggerRequest::new(&path, 1), &AtomicBool::new(true), &mut |_| {});
    assert!(matches!(stopped, Err(TriggerError::Stopped)));
    fs::remove_dir_all(path.join(".rankscope-hooks")).unwrap();
    assert!(matches!(asked(&request), TriggerError::NoHooks { .. }));
    drop(run);
    assert!(matches!(asked(&request), TriggerError::NotRunning { .. }));
    assert!(matches!(asked(&TriggerRequest::new(path.join("no"), 1)), TriggerError::Run(_)));
}
