//! What befalls a program must not be made worse by its being recorded: it goes on where it would have gone on, and what it
//! recorded is in its file where it would have died.
#![expect(clippy::unwrap_used, reason = "a test of what befalls programs")]

mod child;
mod recovered;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Output;
use std::thread;

use rankscope_formats::recording::Cut;
use rankscope_record::{Report, Session, SessionOptions, StartError, record_function};

#[test]
#[ignore = "what the other tests start in a process of its own"]
fn child() {
    let Some((part, file)) = child::part() else { return };
    match part.as_str() {
        "abort" => aborts(&file),
        "overflow" => overflows(&file),
        "disk full" => fills_its_disk(&file),
        "file limit" => reaches_its_file_limit(&file),
        "file limit at once" => may_not_have_a_file(&file),
        _ => panic!("no part is called {part:?}"),
    }
}

/// Plays `part`; its file lies in a folder of its own.
fn play(part: &str) -> (tempfile::TempDir, Output) {
    let folder = tempfile::tempdir().unwrap();
    let output = child::playing(part, &folder.path().join("trace.live")).output().unwrap();
    (folder, output)
}

fn assert_lived(output: &Output) {
    let (said, cried) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{said}\n{cried}", output.status);
}

#[test]
fn an_abort_leaves_every_span_and_those_that_were_open() {
    let (folder, output) = play("abort");
    assert_eq!(output.status.signal(), Some(libc::SIGABRT));
    let recording = child::left(&folder.path().join("trace.live"));
    let found = recovered::spans(&recording, &Cut::everything());
    assert_eq!((found["worker"].ended, found["worker"].open), (1_000, 0));
    assert_eq!(recovered::total(&found), recovered::Found { ended: 1_500, open: 2 });
}

fn aborts(file: &Path) {
    let _session = Session::start(SessionOptions::to_file(file)).unwrap();
    let worker = || (0..1_000).for_each(|_| drop(record_function!("work")));
    thread::Builder::new().name("worker".to_owned()).spawn(worker).unwrap().join().unwrap();
    let _outer = record_function!("outer");
    (0..500).for_each(|_| drop(record_function!("work")));
    let _inner = record_function!("inner");
    std::process::abort();
}

#[test]
fn a_stack_overflow_is_the_programs_own_and_leaves_its_spans() {
    let (folder, output) = play("overflow");
    assert!(output.status.signal().is_some(), "{}", output.status);
    let recording = child::left(&folder.path().join("trace.live"));
    let found = recovered::spans(&recording, &Cut::everything());
    assert_eq!(found["deep"].ended, 0);
    assert!(found["deep"].open > 100, "{found:?}");
}

fn overflows(file: &Path) {
    let _session = Session::start(SessionOptions::to_file(file)).unwrap();
    let deep = thread::Builder::new().name("deep".to_owned()).stack_size(128 << 10);
    let _ = deep.spawn(|| fall(1)).unwrap().join();
}

#[expect(unconditional_recursion, reason = "falling is the point")]
fn fall(depth: u64) -> u64 {
    let _span = record_function!("fall");
    let space = std::hint::black_box([depth; 16]);
    fall(depth + 1) + space[(depth % 16) as usize]
}

#[test]
fn a_full_disk_stops_the_recording_and_not_the_program() {
    assert_lived(&play("disk full").1);
}

#[expect(unsafe_code, reason = "a disk of four megabytes is had from the system")]
fn fills_its_disk(file: &Path) {
    let folder = std::ffi::CString::new(file.parent().unwrap().to_str().unwrap()).unwrap();
    // SAFETY: system calls on strings that live; the new namespace goes with this process, and the disk with it.
    let mounted = unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(c"none".as_ptr(), c"/".as_ptr(), std::ptr::null(), libc::MS_REC | libc::MS_PRIVATE, std::ptr::null())
                == 0
            && libc::mount(c"disk".as_ptr(), folder.as_ptr(), c"tmpfs".as_ptr(), 0, c"size=4m".as_ptr().cast()) == 0
    };
    if !mounted {
        return rankscope_testkit::skip(
            rankscope_testkit::Need::Mount,
            format_args!("no disk can be mounted here ({})", std::io::Error::last_os_error()),
        );
    }
    records_more_than_fits(file);
}

#[test]
fn a_limit_on_file_sizes_stops_the_recording_and_not_the_program() {
    assert_lived(&play("file limit").1);
}

fn reaches_its_file_limit(file: &Path) {
    limit_file_size(4 << 20);
    records_more_than_fits(file);
}

/// Sixteen megabytes of spans where four fit: none may be neither recorded nor counted as dropped.
fn records_more_than_fits(file: &Path) {
    const SPANS: u64 = 1_000_000;
    let session = Session::start(SessionOptions::to_file(file)).unwrap();
    let outer = record_function!("outer");
    (1..SPANS).for_each(|_| drop(record_function!("work")));
    drop(outer);
    let stopped = session.stop().unwrap();
    let storage = dropped(&stopped.report, "storage");
    let recorded: u64 = stopped.report.threads.iter().map(|thread| thread.spans).sum();
    assert!(storage > 0 && recorded > 100_000, "{:?}", stopped.report);
    assert_eq!(recorded + storage, SPANS);
    let found = recovered::total(&recovered::spans(&child::left(file), &Cut::everything()));
    assert_eq!(found, recovered::Found { ended: recorded, open: 0 }, "the outer span had its end kept free");
}

#[test]
fn a_file_that_may_not_be_is_an_error_of_the_session_alone() {
    assert_lived(&play("file limit at once").1);
}

fn may_not_have_a_file(file: &Path) {
    limit_file_size(1_000);
    assert_refused(file);
}

#[test]
fn a_folder_that_is_read_only_is_an_error_of_the_session_alone() {
    // Root may write where nobody else may, but not into /proc.
    assert_refused(Path::new("/proc/trace.live"));
    let folder = tempfile::tempdir().unwrap();
    assert_refused(&folder.path().join("no such folder/trace.live"));
    let in_the_way = Session::start(SessionOptions::to_file(folder.path())).unwrap_err();
    assert!(matches!(&in_the_way, StartError::NotARecording { path, .. } if path == folder.path()), "{in_the_way:?}");
    assert!(fs::exists(folder.path()).unwrap(), "a folder in the way is left alone");
    assert_eq!(fs::read_dir(folder.path().parent().unwrap()).unwrap().filter(|it| is_beside(it, folder.path())).count(), 0);
}

/// Whether it was made beside `path`, under its name and more.
fn is_beside(found: &std::io::Result<fs::DirEntry>, path: &Path) -> bool {
    let name = found.as_ref().unwrap().file_name();
    name.to_string_lossy().starts_with(&*path.file_name().unwrap().to_string_lossy()) && name != path.file_name().unwrap()
}

/// No session is started, the error names the file, spans go nowhere, and memory does instead.
fn assert_refused(file: &Path) {
    let error = Session::start(SessionOptions::to_file(file)).unwrap_err();
    assert!(matches!(&error, StartError::Storage { path: Some(path), .. } if path == file), "{error:?}");
    assert!(!record_function!("work").is_recording());
    let session = Session::start(SessionOptions::default()).unwrap();
    drop(record_function!("work"));
    assert_eq!(session.stop().unwrap().report.events(), 1);
}

#[expect(unsafe_code, reason = "the limit is set by a system call")]
fn limit_file_size(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the limit is a live value.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) }, 0);
}

fn dropped(report: &Report, reason: &str) -> u64 {
    report.drops.iter().filter(|(name, _)| *name == reason).map(|(_, count)| count).sum()
}
