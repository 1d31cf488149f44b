//! A live file's place: who has it, and what becomes of the recordings that lay there before.
#![expect(clippy::unwrap_used, clippy::print_stdout, unsafe_code, reason = "a test of processes, which say when they work")]

mod child;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard};

use rankscope_record::{Category, Scope, Session, SessionOptions, StartError, Storage, begin_named, intern};

const HERE: Category = Category::USER_ANNOTATION;

fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn record(name: &str) {
    drop(begin_named(intern(name, HERE, Scope::UserScope), &[]));
}

/// Records a span of that name into `path`, in this process.
fn recorded(options: SessionOptions, name: &str) {
    let session = Session::start(options).unwrap();
    record(name);
    session.stop().unwrap();
}

#[test]
#[ignore = "what the other tests start in a process of its own"]
fn child() {
    let Some((part, path)) = child::part() else { return };
    let wait = || std::io::stdin().read_line(&mut String::new()).unwrap();
    if part == "race" {
        println!("ready");
        wait();
    }
    let session = match Session::start(SessionOptions::to_file(path)) {
        Ok(session) => session,
        Err(refused) => return println!("refused: {refused}"),
    };
    record(&part);
    if part == "forks" {
        // SAFETY: the child of the fork only waits to be killed.
        let waiting = unsafe { libc::fork() };
        if waiting == 0 {
            loop {
                // SAFETY: a system call without arguments.
                unsafe { libc::pause() };
            }
        }
        println!("forked {waiting}");
    }
    println!("working");
    wait();
    record("until the end");
    session.stop().unwrap();
}

/// A process that is playing `part`, and the first line it says that begins with one of `words`.
fn playing(part: &str, path: &Path, words: &[&str]) -> (Child, BufReader<std::process::ChildStdout>, String) {
    let mut process = child::playing(part, path).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(process.stdout.take().unwrap());
    let line = line(&mut said, words);
    (process, said, line)
}

/// The next line that has one of `words`, from there on; the test harness may have said something on it before.
fn line(said: &mut impl BufRead, words: &[&str]) -> String {
    let found = said.lines().map(Result::unwrap).find_map(|line| {
        let at = words.iter().find_map(|word| line.find(word))?;
        Some(line[at..].to_owned())
    });
    found.expect("it says something before it ends")
}

fn kill(mut process: Child) {
    process.kill().unwrap();
    process.wait().unwrap();
}

/// The names of all spans in the live file at `path`.
fn names(path: &Path) -> BTreeSet<String> {
    use rankscope_formats::recording::{Cut, What};
    let recording = child::left(path);
    let mut names = BTreeSet::new();
    for thread in recording.threads() {
        let mut replay = recording.replay(thread, &Cut::everything());
        while let Some((event, _)) = replay.next() {
            if matches!(event.what, What::Begin { .. }) {
                names.insert(recording.names()[event.name.0 as usize].text.to_string());
            }
        }
    }
    names
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Everything that lies in a folder.
fn inside(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn earlier(path: &Path, number: u32) -> PathBuf {
    PathBuf::from(format!("{}.{number}", path.display()))
}

#[test]
fn a_restart_after_a_kill_keeps_what_both_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.rkr");
    for part in ["first", "second", "third"] {
        kill(playing(part, &path, &["working"]).0);
    }
    assert_eq!(names(&path), set(&["third"]));
    assert_eq!(names(&earlier(&path, 1)), set(&["second"]));
    assert_eq!(names(&earlier(&path, 2)), set(&["first"]));
    assert_eq!(inside(folder.path()).len(), 3, "nothing else is left");
}

#[test]
fn a_second_process_is_refused_and_the_first_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.rkr");
    let (mut first, mut said, _) = playing("first", &path, &["working"]);
    let (mut second, _said, refused) = playing("second", &path, &["refused", "working"]);
    second.wait().unwrap();
    assert!(refused.contains(&format!("process {} is recording there", first.id())), "{refused}");
    assert_eq!(names(&path), set(&["first"]), "who reads needs no lock");
    writeln!(first.stdin.take().unwrap()).unwrap();
    first.wait().unwrap();
    line(&mut said, &["test result: ok"]);
    assert_eq!(names(&path), set(&["first", "until the end"]));
    assert_eq!(inside(folder.path()), set(&["trace.rkr"]));
}

#[test]
fn of_starts_at_the_same_moment_one_comes_first() {
    const STARTS: usize = 6;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.rkr");
    kill(playing("first", &path, &["working"]).0);
    let mut racing: Vec<_> = (0..STARTS).map(|_| playing("race", &path, &["ready"])).collect();
    for (process, ..) in &mut racing {
        writeln!(process.stdin.as_mut().unwrap()).unwrap();
    }
    let said: Vec<String> = racing.iter_mut().map(|(_, said, _)| line(said, &["refused", "working"])).collect();
    assert_eq!(said.iter().filter(|said| *said == "working").count(), 1, "{said:?}");
    assert_eq!((names(&path), names(&earlier(&path, 1))), (set(&["race"]), set(&["first"])));
    assert_eq!(inside(folder.path()).len(), 2, "nothing else is left");
    racing.into_iter().for_each(|(process, ..)| kill(process));
}

#[test]
fn a_forked_child_does_not_keep_the_place_of_a_parent_that_died() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.rkr");
    let (parent, _said, forked) = playing("forks", &path, &["forked"]);
    let waiting: i32 = forked.trim_start_matches("forked ").parse().unwrap();
    kill(parent);
    let next = Session::start(SessionOptions::to_file(&path));
    // SAFETY: a system call; the process is the one that waits to be killed.
    assert_eq!(unsafe { libc::kill(waiting, libc::SIGKILL) }, 0, "it was there all the time");
    let next = next.unwrap();
    record("next");
    next.stop().unwrap();
    assert_eq!((names(&path), names(&earlier(&path, 1))), (set(&["next"]), set(&["forks"])));
}

#[test]
fn so_many_earlier_files_stay_and_the_oldest_goes_first() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.rkr");
    let keeping = |keep_earlier| SessionOptions::to_file(&path).with_keep_earlier(keep_earlier);
    for name in ["a", "b", "c", "d", "e"] {
        recorded(keeping(2), name);
    }
    assert_eq!(inside(folder.path()), set(&["trace.rkr", "trace.rkr.1", "trace.rkr.2"]));
    assert_eq!([names(&path), names(&earlier(&path, 1)), names(&earlier(&path, 2))], [set(&["e"]), set(&["d"]), set(&["c"])]);
    // A number that is free is used before any file goes.
    fs::remove_file(earlier(&path, 1)).unwrap();
    recorded(keeping(2), "f");
    assert_eq!([names(&path), names(&earlier(&path, 1)), names(&earlier(&path, 2))], [set(&["f"]), set(&["e"]), set(&["c"])]);
    recorded(keeping(0), "g");
    assert_eq!([names(&path), names(&earlier(&path, 1))], [set(&["g"]), set(&["e"])]);
}

#[test]
fn a_packed_recording_is_put_aside_and_an_empty_file_is_taken() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.rkr");
    fs::write(&path, "").unwrap();
    let session = Session::start(SessionOptions::to_file(&path)).unwrap();
    let stopped = session.stop().unwrap();
    stopped.recorded.save(&path).unwrap();
    let packed = fs::read(&path).unwrap();
    recorded(SessionOptions::to_file(&path), "next");
    assert_eq!(fs::read(earlier(&path, 1)).unwrap(), packed);
    assert_eq!(names(&path), set(&["next"]));
    assert_eq!(inside(folder.path()).len(), 2);
}

#[test]
fn what_is_no_recording_is_not_touched() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("text"), "mine").unwrap();
    fs::create_dir(path("folder")).unwrap();
    recorded(SessionOptions::to_file(path("target")), "target");
    std::os::unix::fs::symlink(path("target"), path("link")).unwrap();
    std::os::unix::fs::symlink(path("nowhere"), path("dangling")).unwrap();
    let pipe = std::ffi::CString::new(path("pipe").to_str().unwrap()).unwrap();
    // SAFETY: a system call with a text that ends in zero.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    recorded(SessionOptions::to_file(path("busy")), "busy");
    fs::write(path("busy.1"), "mine").unwrap();
    let before = inside(folder.path());
    for (name, what) in [
        ("text", "a file that is no recording"),
        ("folder", "a directory"),
        ("link", "a symbolic link"),
        ("dangling", "a symbolic link"),
        ("pipe", "a named pipe"),
        ("busy", "busy.1 is a file that is no recording"),
    ] {
        let refused = Session::start(SessionOptions::to_file(path(name))).unwrap_err();
        assert!(matches!(refused, StartError::NotARecording { .. }), "{refused}");
        assert!(refused.to_string().contains(what), "{refused}");
    }
    assert_eq!(inside(folder.path()), before);
    assert_eq!([fs::read(path("text")).unwrap(), fs::read(path("busy.1")).unwrap()], [b"mine", b"mine"]);
    assert_eq!((names(&path("target")), names(&path("busy"))), (set(&["target"]), set(&["busy"])));
}

#[test]
fn a_recording_that_is_over_frees_its_place_while_it_is_still_read() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.rkr");
    let session = Session::start(SessionOptions::to_file(&path)).unwrap();
    record("before");
    let kept = session.stop().unwrap().recorded;
    recorded(SessionOptions::to_file(&path), "after");
    assert_eq!((names(&path), names(&earlier(&path, 1))), (set(&["after"]), set(&["before"])));
    kept.save(folder.path().join("kept.json")).unwrap();
    assert!(fs::read_to_string(folder.path().join("kept.json")).unwrap().contains("\"before\""));
}

#[test]
fn placeholders_give_each_process_a_file_of_its_own() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let session = Session::start(SessionOptions::to_file(folder.path().join("a%%-%p.rkr"))).unwrap();
    let path = folder.path().join(format!("a%-{}.rkr", std::process::id()));
    assert_eq!(session.snapshot().unwrap().live_file(), Some(&*path));
    // A second session joins the first by the same path, before and after it is filled in.
    Session::start(SessionOptions::to_file(folder.path().join("a%%-%p.rkr"))).unwrap().stop().unwrap();
    session.stop().unwrap();
    assert!(path.exists());
    let refused = Session::start(SessionOptions::default().with_storage(Storage::File("%h.rkr".into())));
    assert!(matches!(refused, Err(StartError::Placeholder { placeholder, .. }) if placeholder == "%h"));
}
