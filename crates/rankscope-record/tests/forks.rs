//! A fork in the middle of a recording: the parent's is whole, the child's is its own.
//!
//! The child of a fork in a program with threads may do little, so each child here exits without unwinding.
#![expect(clippy::unwrap_used, unsafe_code, reason = "a test of what happens around fork")]

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rankscope_formats::recording::{LiveFile, Recording, What};
use rankscope_record::plugins::{ProfilerPlugin, Registry};
use rankscope_record::{Session, SessionOptions, StopError, record_function};

/// Runs `child` in a fork and returns its exit status.
fn fork(child: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child calls nothing that another thread may have left half done, and leaves by `_exit`.
    unsafe {
        let pid = libc::fork();
        if pid == 0 {
            libc::_exit(child());
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid);
        assert!(libc::WIFEXITED(status), "the child was killed: {status:#x}");
        libc::WEXITSTATUS(status)
    }
}

/// A plugin with a thread, for which its end would wait: the child has no such thread.
struct HasThread {
    process: u32,
}

impl ProfilerPlugin for HasThread {
    fn name(&self) -> &str {
        "has a thread"
    }
}

impl Drop for HasThread {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            // SAFETY: leaving is all that is done.
            unsafe { libc::_exit(77) };
        }
    }
}

/// Spans of each name in a live file, and how many of them never ended.
fn count(path: &std::path::Path, name: &str) -> (usize, usize) {
    let recording = Recording::open(LiveFile::open(File::open(path).unwrap()).unwrap()).unwrap();
    let (mut spans, mut cut) = (0, 0);
    for thread in recording.threads() {
        let mut replay = recording.replay(thread, &rankscope_formats::recording::Cut::everything());
        let mut open = Vec::new();
        while let Some((event, _)) = replay.next() {
            match event.what {
                What::Begin { .. } => open.push(&*recording.names()[event.name.0 as usize].text == name),
                What::End { unfinished, .. } => {
                    let wanted = open.pop().unwrap();
                    spans += usize::from(wanted);
                    cut += usize::from(wanted && unfinished);
                }
                _ => {}
            }
        }
    }
    (spans, cut)
}

#[test]
fn the_parent_is_whole_and_the_child_starts_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (folder.path().join("parent.rkr"), folder.path().join("child.rkr"));
    let mut plugins = Registry::new();
    plugins.register(HasThread { process: std::process::id() });
    let session = Session::start_with(SessionOptions::to_file(&ours), plugins).unwrap();
    let goes_on = AtomicBool::new(true);
    let recorded = thread::scope(|scope| {
        let busy = scope.spawn(|| {
            let mut spans = 0;
            while goes_on.load(Ordering::Relaxed) {
                drop(record_function!("busy"));
                spans += 1;
            }
            spans
        });
        let across = record_function!("across the fork");
        for _ in 0..20 {
            let status = fork(|| {
                // Nothing of the parent's is recorded on, and its session is not the child's to stop.
                drop(record_function!("into nothing"));
                let refused = matches!(session.stop(), Err(StopError::OtherProcess { .. }));
                // Dropped, its handles leave the parent's alone.
                drop(session.clone());
                let own = Session::start(SessionOptions::to_file(&theirs)).unwrap();
                drop(record_function!("child"));
                let stopped = own.stop().unwrap();
                i32::from(!(refused && stopped.report.events() == 1))
            });
            assert_eq!(status, 0);
            assert_eq!(count(&theirs, "child"), (1, 0));
            assert_eq!(count(&theirs, "across the fork"), (0, 0));
        }
        drop(across);
        goes_on.store(false, Ordering::Relaxed);
        busy.join().unwrap()
    });
    session.stop().unwrap();
    assert_eq!(count(&ours, "busy"), (recorded, 0));
    assert_eq!(count(&ours, "across the fork"), (1, 0));
    assert_eq!(count(&ours, "into nothing"), (0, 0));
    assert_eq!(count(&ours, "child"), (0, 0));
}
