//! `rankscope run --on-hang`: a job that makes no progress is looked into while it is there.
#![cfg(all(target_os = "linux", feature = "clock"))]

use std::fs::{self, File};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::process::{Room, ended, text, wait_for};
use crate::ras_service::{Events, RasService};

#[test]
fn a_rank_that_is_stopped_is_named_before_the_job_ends() {
    let room = Room::new();
    // Rank 1 stops. Rank 0 waits for the verdict, has rank 1 go on, and all end.
    let script = "echo up; echo $$ > pid$RANK.new; mv pid$RANK.new pid$RANK; \
                  if [ $RANK = 1 ]; then kill -STOP $$; fi; \
                  if [ $RANK = 0 ]; then until ls run/hang/*/verdict.json >/dev/null 2>&1; do sleep 0.05; done; \
                  until [ -e pid1 ]; do sleep 0.05; done; kill -CONT $(cat pid1); touch go; fi; \
                  until [ -e go ]; do sleep 0.05; done";
    let output = room.plain(&["--no-hooks", "-n", "3", "--on-hang", "2s", "--", "sh", "-c", script]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");
    assert!(error.contains("nothing was printed or recorded for 2 s: Rank 1 is stopped by a signal"), "{error}");
    let folder = room.names("hang").pop().expect("a verdict");
    let path = room.path().join("run/hang").join(&folder);
    let verdict: Value = serde_json::from_slice(&fs::read(path.join("verdict.json")).expect("kept")).expect("JSON");
    assert_eq!(verdict["verdict"]["kind"], json!("outside"));
    assert_eq!(
        verdict["verdict"]["roots"].as_array().map(|roots| (roots.len(), roots[0]["rank"].clone())),
        Some((1, json!(1)))
    );
    assert!(
        (0..3).all(|rank| path.join(format!("stacks-{rank}.txt")).is_file()),
        "{:?}",
        room.names(&format!("hang/{folder}"))
    );
}

#[test]
fn a_job_that_ends_is_not_held_up_by_who_watches() {
    let room = Room::new();
    let output = room.plain(&["--no-hooks", "-n", "2", "--on-hang", "1h", "--", "sh", "-c", "exit $RANK"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(room.names("hang").is_empty());
    let output = room.plain(&["--on-hang", "1ms", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_process_that_nccl_gives_up_is_told_without_being_asked_for() {
    let (room, service) = (Room::new(), RasService::start(Events::Death));
    let said = room.path().join("said");
    let mut run =
        room.command(&["--no-clock", "--no-report", "--no-hooks", "--", "sh", "-c", "until [ -e go ]; do sleep 0.05; done"]);
    run.env("NCCL_RAS_ADDR", service.address()).stdout(Stdio::piped()).stderr(File::create(&said).expect("made"));
    let run = run.spawn().expect("started");
    let heard = || fs::read_to_string(&said).unwrap_or_default();
    wait_for("the verdict", || heard().contains("Rank 2 considered dead"));
    fs::write(room.path().join("go"), "").expect("written");
    assert_eq!(ended(run).status.code(), Some(0), "{}", heard());
    assert!(heard().contains("NCCL gave up rank 2 (process 13 on 10.0.0.2)"), "{}", heard());
    assert_eq!(service.questions()[0], "MONITOR lifecycle", "nothing is asked before NCCL gave somebody up");
}

#[test]
fn an_nccl_that_tells_nothing_is_asked_nothing_and_not_spoken_of() {
    let (room, service) = (Room::new(), RasService::start(Events::Unknown));
    let mut run =
        room.command(&["--no-clock", "--no-report", "--no-hooks", "--", "sh", "-c", "until [ -e go ]; do sleep 0.05; done"]);
    run.env("NCCL_RAS_ADDR", service.address()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = run.spawn().expect("started");
    wait_for("whoever listens", || !service.questions().is_empty());
    fs::write(room.path().join("go"), "").expect("written");
    let output = ended(run);
    assert_eq!((output.status.code(), service.questions()), (Some(0), vec!["MONITOR lifecycle".to_owned()]));
    assert!(!text(&output.stderr).contains("NCCL"), "{}", text(&output.stderr));
}
