//! `rankscope run --ring`: what ranks recorded last is kept when somebody asks, while the job goes on.
#![cfg(all(target_os = "linux", feature = "clock"))]

use std::fs;
use std::path::Path;

use rankscope_formats::recording::{Category, ClockId, LiveAuthor};
use serde_json::{Value, json};

use crate::process::{Room, Running, free_tcp_ports, text};

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

/// Node `node` of two, in a room of its own, that meet at `port`; its command is `script`.
fn node(room: &Room, node: &str, port: u16, script: &str) -> Running {
    fs::write(room.path().join("recorded"), recorded()).expect("written");
    let mut command = room.command(&["--no-hooks", "--no-report", "--ring", "60s", "--", "sh", "-c", script]);
    command.envs([
        ("RANKSCOPE_RANK", node),
        ("RANKSCOPE_WORLD_SIZE", "2"),
        ("RANKSCOPE_RUN_ID", "a-job"),
        ("RANKSCOPE_KEY", "of both"),
    ]);
    command.env("RANKSCOPE_RDZV", format!("127.0.0.1:{port}"));
    command.envs([("RANKSCOPE_INTERFACES", "lo"), ("RANKSCOPE_PROBE_WINDOW_S", "0.5")]);
    Running::start(command)
}

#[test]
fn nodes_that_share_no_directory_keep_their_ends_and_the_leader_has_all_of_them() {
    let (first, second) = (Room::new(), Room::new());
    let [port] = free_tcp_ports();
    let there = |rank: u32| format!("cp recorded $RANKSCOPE_RAW_DIR/rank-{rank}.rkr; ");
    // The signal comes when the nodes have met, and the job goes on until there is a report. At its end the leader waits for the word of the
    // other node, which does not write where it looks.
    let leads = there(0)
        + "until grep -qs '\"node_id\":1' run/clock/offsets.jsonl; do sleep 0.05; done; kill -USR2 $PPID; \
           until ls run/incidents/*/report/report.json >/dev/null 2>&1; do sleep 0.05; done; \
           mkdir -p run/nodes; cp run/incidents/*/nodes/node-1.json run/nodes/";
    let follows = there(1) + "until [ -e seen ]; do sleep 0.05; done";
    let (second_run, first_run) = (node(&second, "1", port, &follows), node(&first, "0", port, &leads));
    let led = first_run.ended();
    fs::write(second.path().join("seen"), "").expect("written");
    let (said, followed) = (text(&led.stderr), second_run.ended());
    assert_eq!((led.status.code(), followed.status.code()), (Some(0), Some(0)), "{said}{}", text(&followed.stderr));
    let [incident] = &first.names("incidents")[..] else { panic!("{said}") };
    let folder = first.path().join("run/incidents").join(incident);
    let json = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(folder.join(name)).unwrap_or_else(|_| panic!("{name}: {said}"))).expect("JSON")
    };
    let ranks: Vec<Value> =
        json("report/report.json")["ranks"].as_array().expect("a list").iter().map(|rank| rank["rank"].clone()).collect();
    assert_eq!(ranks, [0, 1], "{said}");
    let parts = json("nodes.json");
    assert_eq!((&parts["nodes"][0]["node"], &parts["nodes"][0]["lacks"]), (&json!(1), &Value::Null), "{parts}");
    assert_eq!(json("nodes/node-1.json")["ranks"][0]["rank"], 1);
    // The node has its own copy, which is what came.
    let [own] = &second.names("incidents")[..] else { panic!("{}", text(&followed.stderr)) };
    let own = second.path().join("run/incidents").join(own);
    assert_eq!(parts["nodes"][0]["folder"], json!(own.canonicalize().expect("there")), "{parts}");
    let bytes = |folder: &Path| fs::read(folder.join("raw/rank-1.rkr")).expect("kept");
    assert!(bytes(&own) == bytes(&folder));
    assert!(
        text(&followed.stderr).contains("kept what came before on this node (asked for by SIGUSR2)"),
        "{}",
        text(&followed.stderr)
    );
}
