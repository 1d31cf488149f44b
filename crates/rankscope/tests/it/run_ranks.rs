//! Ranks that `rankscope run -n` starts itself.
#![cfg(all(target_os = "linux", feature = "clock"))]

use std::collections::BTreeSet;
use std::fs;

use crate::process::{Room, is_alive, text};

#[test]
fn every_rank_knows_its_place() {
    let room = Room::new();
    let script = "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR $MASTER_PORT; echo err >&2";
    let output = room.plain(&["-n", "3", "--", "sh", "-c", script]);
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stdout);
    let lines: BTreeSet<&str> = said.lines().collect();
    let port = said.split_whitespace().last().unwrap().to_owned();
    assert!(port.parse::<u16>().is_ok_and(|port| port > 0), "{said}");
    let expected: Vec<String> = (0..3).map(|rank| format!("[rank {rank}] {rank} 3 {rank} 3 127.0.0.1 {port}")).collect();
    assert_eq!(lines, expected.iter().map(String::as_str).collect());
    let errors = text(&output.stderr);
    assert!((0..3).all(|rank| errors.contains(&format!("[rank {rank}] err\n"))), "{errors}");
    assert_eq!(room.manifest()["world_size"], 3);
}

#[test]
fn one_rank_keeps_its_terminal() {
    let room = Room::new();
    let output = room.plain(&["-n", "1", "--", "sh", "-c", "printf $RANK/$WORLD_SIZE"]);
    assert_eq!(text(&output.stdout), "0/1");
}

#[test]
fn a_failing_rank_ends_the_others() {
    let room = Room::new();
    // The failing one waits until the others listen.
    let script = "trap 'echo asked; exit 0' TERM; touch up$RANK; \
                  if [ $RANK = 1 ]; then until [ -e up0 ] && [ -e up2 ]; do sleep 0.01; done; exit 9; fi; \
                  while :; do sleep 0.05; done";
    let output = room.plain(&["-n", "3", "--", "sh", "-c", script]);
    assert_eq!(output.status.code(), Some(9), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("[rank 0] asked") && said.contains("[rank 2] asked"), "{said}");
}

#[test]
fn a_rank_that_does_not_end_when_asked_is_killed_with_what_it_started() {
    let room = Room::new();
    let script = "echo $$ > pid$RANK; [ $RANK = 0 ] && { while [ ! -s child ]; do sleep 0.01; done; exit 4; }; \
                  trap '' TERM; sh -c 'echo $$ > child.new; mv child.new child; while :; do sleep 0.05; done' & \
                  while :; do sleep 0.05; done";
    let output = room.plain(&["-n", "2", "--grace", "0", "--", "sh", "-c", script]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    for file in ["pid1", "child"] {
        let pid = fs::read_to_string(room.path().join(file)).unwrap();
        crate::process::wait_for("the process to be gone", || !is_alive(&pid));
    }
}

#[test]
fn the_first_failure_counts() {
    let room = Room::new();
    let script = "[ $RANK = 1 ] && { touch up; exec sleep 60; }; while [ ! -e up ]; do sleep 0.01; done; kill -ABRT $$";
    assert_eq!(room.plain(&["-n", "2", "--", "sh", "-c", script]).status.code(), Some(134));
}
