//! `rankscope run --ring`: what ranks recorded last is kept when somebody asks, while the job goes on.
#![cfg(all(target_os = "linux", feature = "clock"))]

use std::fs;

use rankscope_formats::recording::{Category, ClockId, LiveAuthor};
use serde_json::{Value, json};

use crate::process::{Room, text};

/// What a rank has recorded that trains since a hundred seconds: a span a second.
fn recorded() -> Vec<u8> {
    const SECOND: u64 = 1_000_000_000;
    let mut author = LiveAuthor::new();
    author.anchor(ClockId::REALTIME, 0, 1_790_860_000_000_000_000, 1);
    for second in [0, 100] {
        author.anchor(ClockId::MONOTONIC_RAW, second * SECOND, (second * SECOND) as i64, 1);
    }
    author.thread(1, 100, "main");
    let step = author.name("step", Category::USER_ANNOTATION.number(), 0);
    for second in 0..100 {
        author.begin(1, second * SECOND + 1, step);
        author.end(1, second * SECOND + SECOND / 2);
    }
    author.finish()
}

#[test]
fn a_signal_keeps_what_came_before_and_the_job_does_not_hear_it() {
    let room = Room::new();
    fs::write(room.path().join("recorded"), recorded()).expect("written");
    // The job goes on until there is a report; a signal that came to it would end it.
    let script = "echo $RANKSCOPE_RING > ring; cp recorded $RANKSCOPE_RAW_DIR/rank-0.rkr; kill -USR2 $PPID; \
                  until ls run/incidents/*/report/report.json >/dev/null 2>&1; do sleep 0.05; done; kill -USR2 $PPID";
    let output = room.plain(&["--no-hooks", "--ring", "60s", "--", "sh", "-c", script]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");
    assert!(error.contains("kept what came before (asked for by SIGUSR2)"), "{error}");
    assert_eq!(fs::read_to_string(room.path().join("ring")).expect("said").trim(), "60");
    // What is asked for within the same minute is part of the first.
    let [incident] = &room.names("incidents")[..] else { panic!("{:?}", room.names("incidents")) };
    let about = fs::read(room.path().join("run/incidents").join(incident).join("incident.json")).expect("kept");
    let about: Value = serde_json::from_slice(&about).expect("JSON");
    assert_eq!(about["because"], json!("asked for by SIGUSR2"));
    let recordings = about["recordings"].as_array().expect("a list");
    assert_eq!(recordings.len(), 1, "{about}");
    assert_eq!((&recordings[0]["file"], &recordings[0]["events"]), (&json!("raw/rank-0.rkr"), &json!(60)), "{about}");
}

#[test]
fn a_job_that_records_nothing_is_told_so_and_goes_on() {
    let room = Room::new();
    let script = "kill -USR2 $PPID; sleep 0.2; exit 3";
    let output = room.plain(&["--no-hooks", "--ring", "60s", "--", "sh", "-c", script]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("no rank of this run records itself now"), "{error}");
    assert!(room.names("incidents").is_empty());
}
