//! `rankscope run --on-hang`: a job that makes no progress is looked into while it is there.
#![cfg(all(target_os = "linux", feature = "clock"))]

use std::fs;

use serde_json::{Value, json};

use crate::process::{Room, text};

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
