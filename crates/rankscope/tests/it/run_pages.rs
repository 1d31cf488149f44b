//! Live pages of a job on two nodes: real processes, of which those of one node come late.
#![cfg(all(target_os = "linux", feature = "clock"))]

use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rankscope_record::live::{Collective, PageOp, collective};
use rankscope_record::{begin_step, join_run};
use rankscope_testkit::{Need, skip};
use serde_json::Value;

use crate::process::{Room, Running, command, free_tcp_ports, text, wait_for};

const STEP: Duration = Duration::from_millis(25);
const COMPUTES: Duration = Duration::from_millis(4);
const LATE: Duration = Duration::from_millis(8);

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later")
}

/// Steps begin at the same moments on all ranks, which so agree on their numbers.
fn until(moment: Duration) {
    std::thread::sleep(moment.saturating_sub(now()));
}

/// A rank, in a process of its own: that of node 1 comes late. It goes on until there is a file `over`.
#[test]
#[ignore = "what the other tests start in a process of its own"]
fn rank() {
    let run = join_run().expect("started by `rankscope run`");
    let computes = if run.rank() == 1 { COMPUTES + LATE } else { COMPUTES };
    let first = now().as_nanos() / STEP.as_nanos() + 1;
    for step in (first..).take_while(|_| !fs::exists("over").expect("a folder")) {
        let begins = Duration::from_nanos(u64::try_from(step * STEP.as_nanos()).expect("this century"));
        until(begins);
        let number = u64::try_from(step).expect("this century");
        let _step = begin_step(i64::try_from(number).expect("this century"));
        until(begins + computes);
        let _inside =
            collective(&Collective { group: "world", members: 2, sequence: number, op: PageOp::AllReduce, bytes: 1 << 20 });
        until(begins + COMPUTES + LATE);
    }
}

/// Both nodes, in rooms that may be the same: node 1 with the late rank.
fn start(rooms: [&Room; 2]) -> [Running; 2] {
    let [port] = free_tcp_ports();
    let program = std::env::current_exe().expect("a path").display().to_string();
    [0, 1].map(|node: usize| {
        let mut command = rooms[node].command(&["--no-hooks", "--no-report"]);
        command.args(["--", &program, "run_pages::rank", "--exact", "--ignored"]);
        let number = node.to_string();
        command.envs([("RANKSCOPE_RANK", &number), ("RANK", &number)]);
        command.envs([
            ("RANKSCOPE_WORLD_SIZE", "2"),
            ("WORLD_SIZE", "2"),
            ("RANKSCOPE_RUN_ID", "a-job"),
            ("RANKSCOPE_KEY", "of both"),
        ]);
        command.env("RANKSCOPE_RDZV", format!("127.0.0.1:{port}"));
        command.envs([("RANKSCOPE_INTERFACES", "lo"), ("RANKSCOPE_PROBE_WINDOW_S", "0.5")]);
        Running::start(command)
    })
}

/// Waits until `top` on the node that leads says that rank 1 is late, and by how much clocks may be wrong about that.
fn is_known_to_be_late(room: &Room) {
    let run = room.path().join("run").display().to_string();
    let mut seen = Value::Null;
    wait_for("rank 1 to be late", || {
        let output = command(&["top", &run, "--once", "--format", "json"]).output().expect("runs");
        seen = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let of = |name: &str| seen["ranks"][0][name].as_i64().unwrap_or(0);
        of("rank") == 1 && of("node") == 1 && of("clock_error_ns") > 0 && of("lateness_ns") > 3 * of("clock_error_ns")
    });
    assert_eq!(seen["ranks"].as_array().map(Vec::len), Some(2), "{seen}");
    assert!(seen["compared_steps"].as_u64() > Some(0), "{seen}");
}

#[test]
fn who_is_late_is_known_of_nodes_that_share_a_directory() {
    let room = Room::new();
    let runs = start([&room, &room]);
    is_known_to_be_late(&room);
    fs::write(room.path().join("over"), "").expect("written");
    for run in runs {
        let ended = run.ended();
        assert!(ended.status.success(), "{}", text(&ended.stderr));
    }
    assert!(!room.path().join("run/live").exists());
}

#[test]
fn who_is_late_is_known_of_nodes_that_share_none() {
    let rooms = [Room::new(), Room::new()];
    let [leads, follows] = start([&rooms[0], &rooms[1]]);
    is_known_to_be_late(&rooms[0]);
    fs::write(rooms[1].path().join("over"), "").expect("written");
    let ended = follows.ended();
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    // Its rank is gone, and so is its page.
    wait_for("the page of rank 1 to go", || !rooms[0].path().join("run/live/rank-1.page").exists());
    // The node that leads waits at its end for the word of the other, which writes it elsewhere.
    let nodes = rooms[0].path().join("run/nodes");
    fs::create_dir_all(&nodes).expect("made");
    fs::copy(rooms[1].path().join("run/nodes/node-1.json"), nodes.join("node-1.json")).expect("there");
    fs::write(rooms[0].path().join("over"), "").expect("written");
    let ended = leads.ended();
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    assert!(!rooms[0].path().join("run/live").exists());
}

/// One process sees to all nodes, and starts agents by a second mpirun: they say which ranks they find.
#[test]
fn agents_say_which_ranks_are_theirs_where_nobody_else_sees_them() {
    let Ok(host) = Command::new("mpirun").arg("--version").output().and_then(|_| Command::new("hostname").output()) else {
        return skip(Need::Mpi, "there is no mpirun");
    };
    let room = Room::new();
    let program = std::env::current_exe().expect("a path").display().to_string();
    let hosts = format!("{}:2", text(&host.stdout).trim());
    let mut command = room.command(&["--no-hooks", "--no-report", "--"]);
    command.args(["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", "--host", &hosts]);
    command.args([&program, "run_pages::rank", "--exact", "--ignored"]);
    command.env("RANKSCOPE_PROBE_WINDOW_S", "0.5");
    let run = Running::start(command);
    let said = room.path().join("run/live/node-0.json");
    wait_for("both ranks to be said", || {
        let part: Value = fs::read(&said).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        part["ranks"].as_array().is_some_and(|ranks| ranks.iter().map(|rank| rank["rank"].as_u64()).eq([Some(0), Some(1)]))
    });
    fs::write(room.path().join("over"), "").expect("written");
    let ended = run.ended();
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    assert!(!room.path().join("run/live").exists());
}
