//! The writer of a run is killed: its lock goes with it, and the run can go on.

#![expect(clippy::print_stdout, reason = "a test, whose child says when it is ready")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use rankscope_run::{Error, NewRun, RunDirectory, State};

const WHERE: &str = "KILLED_WRITER_RUN";

fn begin(path: &Path) -> Result<RunDirectory, Error> {
    let new = NewRun { run_id: "r".to_owned(), command: Vec::new(), world_size: None, reference_node: 0, restart: 0 };
    RunDirectory::create(path, new)
}

#[test]
fn a_killed_writer_leaves_a_run_that_can_go_on() {
    if let Some(path) = std::env::var_os(WHERE) {
        let _run = begin(path.as_ref()).unwrap();
        println!("writing");
        loop {
            std::thread::park();
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["a_killed_writer_leaves_a_run_that_can_go_on", "--exact", "--nocapture"])
        .env(WHERE, &path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("writing")));
    assert_eq!(RunDirectory::open(&path).unwrap().manifest().state, State::Running);
    let refused = begin(&path).unwrap_err();
    assert!(matches!(refused, Error::RunInUse { .. }) && refused.to_string().contains(&writer.id().to_string()), "{refused}");

    writer.kill().unwrap();
    writer.wait().unwrap();
    assert_eq!(RunDirectory::open(&path).unwrap().manifest().state, State::Ended);
    let run = begin(&path).unwrap();
    assert_eq!((run.manifest().state, run.manifest().attempts.len()), (State::Running, 2));
}
