//! `rankscope run --ring`: what ranks recorded last is kept when somebody asks, while the job goes on.
#![cfg(all(target_os = "linux", feature = "clock"))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rankscope_formats::recording::{Category, ClockId, LiveAuthor};
use serde_json::{Value, json};

use crate::process::{Room, Running, command, free_tcp_ports, text, wait_for};

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

/// Node `node` of two, in a room of its own, that meet at `port`; its command is `script`, and it has other `options`.
fn node(room: &Room, node: &str, port: u16, options: &[&str], script: &str) -> Command {
    fs::write(room.path().join("recorded"), recorded()).expect("written");
    let mut command = room.command(&["--no-hooks", "--no-report"]);
    command.args(options).args(["--", "sh", "-c", script]);
    command.envs([("RANKSCOPE_RANK", node), ("RANKSCOPE_WORLD_SIZE", "2"), ("RANKSCOPE_RUN_ID", "a-job")]);
    command.env("RANKSCOPE_RDZV", format!("127.0.0.1:{port}"));
    command.envs([("RANKSCOPE_INTERFACES", "lo"), ("RANKSCOPE_PROBE_WINDOW_S", "0.5")]);
    command
}

const RING: &[&str] = &["--ring", "60s"];

/// A job on two nodes that share no directory: their processes, and what they leave. Each node's part copies what it recorded first.
struct Pair {
    rooms: [Room; 2],
    runs: [Running; 2],
}

impl Pair {
    /// The node that leads does `leads`, the other one `follows`.
    fn start(leads: &str, follows: &str) -> Self {
        Self::with([leads, follows], [RING, RING])
    }

    /// Nodes that do what `scripts` say, each with its `options`.
    fn with([leads, follows]: [&str; 2], options: [&[&str]; 2]) -> Self {
        let [port] = free_tcp_ports();
        let rooms = [Room::new(), Room::new()];
        let there = |rank: u32, rest: &str| format!("cp recorded $RANKSCOPE_RAW_DIR/rank-{rank}.rkr; {rest}");
        let commands = [
            node(&rooms[0], "0", port, options[0], &there(0, leads)),
            node(&rooms[1], "1", port, options[1], &there(1, follows)),
        ];
        let runs = commands.map(|mut command| {
            command.env("RANKSCOPE_KEY", "of both");
            Running::start(command)
        });
        Self { rooms, runs }
    }

    /// Waits until the nodes have met, and lets their scripts go on, which wait for `met`.
    fn meet(&self) {
        let offsets = self.rooms[0].path().join("run/clock/offsets.jsonl");
        wait_for("the nodes meet", || fs::read_to_string(&offsets).is_ok_and(|text| text.contains("\"node_id\":1")));
        self.say("met");
    }

    fn say(&self, word: &str) {
        self.rooms.iter().for_each(|room| fs::write(room.path().join(word), "").expect("written"));
    }

    /// Incidents of the node that leads, the oldest first.
    fn incidents(&self) -> Vec<PathBuf> {
        let folder = self.rooms[0].path().join("run/incidents");
        self.rooms[0].names("incidents").iter().map(|name| folder.join(name)).collect()
    }

    /// The only one, once it is reported on.
    fn incident(&self) -> PathBuf {
        wait_for("a report", || self.incidents().iter().any(|incident| incident.join("report/report.json").is_file()));
        let [incident] = &self.incidents()[..] else { panic!("{:?}", self.incidents()) };
        incident.clone()
    }

    /// How both end, and what they say.
    fn ended(self) -> [(Option<i32>, String); 2] {
        let (incident, Self { rooms, runs: [first, second] }) = (self.incidents().pop().expect("kept"), self);
        let ended = |room: &Room, run: Running| {
            fs::write(room.path().join("over"), "").expect("written");
            let output = run.ended();
            (output.status.code(), text(&output.stderr))
        };
        let followed = ended(&rooms[1], second);
        // At its end the node that leads waits for the word of the other, which does not write where it looks.
        let nodes = rooms[0].path().join("run/nodes");
        fs::create_dir_all(&nodes).expect("made");
        fs::copy(incident.join("nodes/node-1.json"), nodes.join("node-1.json")).expect("there");
        [ended(&rooms[0], first), followed]
    }
}

fn json_in(folder: &Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.join(name)).unwrap_or_else(|_| panic!("{name} in {}", folder.display())))
        .expect("JSON")
}

/// Ranks that the report of an incident is of.
fn reported(incident: &Path) -> Vec<Value> {
    json_in(incident, "report/report.json")["ranks"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|rank| rank["rank"].clone())
        .collect()
}

const MET: &str = "until [ -e met ]; do sleep 0.05; done; ";
const OVER: &str = "until [ -e over ]; do sleep 0.05; done; ";

#[test]
fn a_part_of_the_job_that_fails_where_nobody_leads_has_all_ends_kept() {
    // The other node knows nothing of it: its part goes on.
    let pair = Pair::start(OVER, &format!("{MET}exit 7"));
    pair.meet();
    let incident = pair.incident();
    assert_eq!(reported(&incident), [0, 1]);
    let because = json_in(&incident, "incident.json")["because"].clone();
    let because = because.as_str().expect("a text");
    assert!(because.starts_with("the job's command failed with exit code 7, on node 1 ("), "{because}");
    let [(led, said), (followed, heard)] = pair.ended();
    assert_eq!((led, followed), (Some(0), Some(7)), "{said}{heard}");
    assert!(said.contains("kept what came before (the job's command failed with exit code 7, on node 1"), "{said}");
    assert!(heard.contains("the first node kept what came before (the job's command failed with exit code 7) in "), "{heard}");
}

#[test]
fn what_a_node_notices_twice_is_one_incident_and_no_signal_comes_to_the_job() {
    // A signal that came to the job would end it, with another code.
    let pair = Pair::start(OVER, &format!("{MET}kill -USR2 $PPID; {OVER}exit 3"));
    pair.meet();
    let incident = pair.incident();
    assert_eq!(reported(&incident), [0, 1]);
    // The end of the second node's part is within the same minute.
    let [(led, said), (followed, heard)] = pair.ended();
    assert_eq!((led, followed), (Some(0), Some(3)), "{said}{heard}");
    assert_eq!(said.matches("kept what came before").count(), 1, "{said}");
    let folder = incident.file_name().expect("a name").to_str().expect("text");
    for because in ["asked for by SIGUSR2", "the job's command failed with exit code 3"] {
        let told = format!("the first node kept what came before ({because})");
        assert!(heard.lines().any(|line| line.contains(&told) && line.ends_with(folder)), "{heard}");
    }
}

#[test]
fn a_standstill_that_only_another_node_looks_for_has_all_ends_kept() {
    let pair = Pair::with([OVER, &format!("{MET}{OVER}")], [RING, &["--ring", "60s", "--on-hang", "1s"]]);
    pair.meet();
    let incident = pair.incident();
    assert_eq!(reported(&incident), [0, 1]);
    let because = json_in(&incident, "incident.json")["because"].clone();
    assert!(because.as_str().is_some_and(|text| text.starts_with("the job stands still, on node 1 (")), "{because}");
    let [(led, said), (followed, heard)] = pair.ended();
    assert_eq!((led, followed), (Some(0), Some(0)), "{said}{heard}");
}

#[test]
fn a_node_that_cannot_reach_the_first_one_keeps_its_own_end() {
    let (room, [port]) = (Room::new(), free_tcp_ports());
    let script = "cp recorded $RANKSCOPE_RAW_DIR/rank-1.rkr; kill -USR2 $PPID; \
                  until ls run/incidents/*/incident.json >/dev/null 2>&1; do sleep 0.05; done";
    let mut command = node(&room, "1", port, RING, script);
    command.env("RANKSCOPE_KEY", "of nobody else");
    let output = Running::start(command).ended();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("is not kept by the first node: the first node cannot be told: "), "{said}");
    assert!(said.contains("kept what came before on this node (asked for by SIGUSR2) in "), "{said}");
    let [incident] = &room.names("incidents")[..] else { panic!("{said}") };
    assert!(room.path().join("run/incidents").join(incident).join("raw/rank-1.rkr").is_file());
}

#[test]
fn nodes_that_share_the_directory_need_no_key_for_it() {
    let room = Room::new();
    let [port] = free_tcp_ports();
    let offsets = "until grep -qs '\"node_id\":1' run/clock/offsets.jsonl; do sleep 0.05; done; ";
    let reported = "until ls run/incidents/*/report/report.json >/dev/null 2>&1; do sleep 0.05; done";
    let there = |rank: u32, rest: &str| format!("cp recorded $RANKSCOPE_RAW_DIR/rank-{rank}.rkr; {rest}{reported}");
    let runs = [
        node(&room, "0", port, RING, &there(0, "")),
        node(&room, "1", port, RING, &there(1, &format!("{offsets}kill -USR2 $PPID; "))),
    ];
    let runs = runs.map(Running::start).map(Running::ended);
    let [led, followed] = runs.map(|output| (output.status.code(), text(&output.stderr)));
    assert_eq!((led.0, followed.0), (Some(0), Some(0)), "{}{}", led.1, followed.1);
    let [incident] = &room.names("incidents")[..] else { panic!("{:?}", room.names("incidents")) };
    let incident = room.path().join("run/incidents").join(incident);
    assert_eq!(json_in(&incident, "incident.json")["recordings"].as_array().map(Vec::len), Some(2));
    assert!(followed.1.contains("the first node kept what came before (asked for by SIGUSR2)"), "{}", followed.1);
    assert!(!room.path().join("run/.rankscope-ring").exists(), "nothing is left of how they spoke");
}

#[test]
fn what_is_asked_for_by_hand_on_any_node_is_of_all_nodes() {
    all_nodes_are_asked_by_hand([RING, RING]);
}

#[test]
fn what_is_asked_for_by_hand_needs_no_ring() {
    all_nodes_are_asked_by_hand([&[], &[]]);
}

#[test]
fn what_a_node_notices_stays_its_own_where_the_first_one_has_no_ring() {
    let pair = Pair::with([OVER, &format!("{MET}kill -USR2 $PPID; {OVER}")], [&[], RING]);
    pair.meet();
    let incident = |name: &String| pair.rooms[1].path().join("run/incidents").join(name);
    let kept = || pair.rooms[1].names("incidents").iter().map(incident).find(|own| own.join("incident.json").is_file());
    wait_for("an incident", || kept().is_some());
    let own = kept().expect("there");
    assert!(own.join("raw/rank-1.rkr").is_file());
    assert!(pair.incidents().is_empty(), "{:?}", pair.incidents());
    pair.say("over");
    let Pair { runs: [_first, second], .. } = pair;
    let heard = text(&second.ended().stderr);
    assert!(heard.contains("is not kept by the first node: the first node keeps what is asked for by hand alone"), "{heard}");
}

/// Somebody asks on one node after the other, which were started with `options`.
fn all_nodes_are_asked_by_hand(options: [&[&str]; 2]) {
    let pair = Pair::with([OVER, OVER], options);
    pair.meet();
    let trigger = |room: &Room| -> Value {
        let mut trigger = command(&["trigger", "run", "--last", "30s", "--because", "a look", "--format", "json"]);
        let output = trigger.current_dir(room.path()).output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let first = trigger(&pair.rooms[0]);
    let incident = pair.incident();
    assert_eq!(reported(&incident), [0, 1]);
    let name = |path: &Path| path.file_name().map(ToOwned::to_owned);
    assert_eq!(first["incident"].as_str().map(Path::new).and_then(name), name(&incident));
    assert_eq!((&first["recordings"], &first["problems"]), (&json!(2), &json!([])), "{first}");
    assert_eq!(json_in(&incident, "incident.json")["asked_for_s"], json!(30.0));
    // Of the second node's directory nothing but its own part is to be had; the first node has all of it.
    let second = trigger(&pair.rooms[1]);
    let [_, incident] = &pair.incidents()[..] else { panic!("{:?}", pair.incidents()) };
    assert_eq!(reported(incident), [0, 1]);
    assert_eq!(second["incident"].as_str().map(Path::new), Some(&*incident.canonicalize().expect("there")));
    assert!(second["host"].is_string() && second["summary"].is_string(), "{second}");
    let [(led, said), (followed, heard)] = pair.ended();
    assert_eq!((led, followed), (Some(0), Some(0)), "{said}{heard}");
}

#[test]
fn nodes_that_share_no_directory_keep_their_ends_and_the_leader_has_all_of_them() {
    // The job goes on until there is a report.
    let pair = Pair::start(&format!("{MET}kill -USR2 $PPID; {OVER}"), OVER);
    pair.meet();
    let incident = pair.incident();
    assert_eq!(reported(&incident), [0, 1]);
    let parts = json_in(&incident, "nodes.json");
    assert_eq!((&parts["nodes"][0]["node"], &parts["nodes"][0]["lacks"]), (&json!(1), &Value::Null), "{parts}");
    assert_eq!(json_in(&incident, "nodes/node-1.json")["ranks"][0]["rank"], 1);
    // The node has its own copy, which is what came.
    let [own] = &pair.rooms[1].names("incidents")[..] else { panic!("{:?}", pair.rooms[1].names("incidents")) };
    let own = pair.rooms[1].path().join("run/incidents").join(own);
    assert_eq!(parts["nodes"][0]["folder"], json!(own.canonicalize().expect("there")), "{parts}");
    let bytes = |folder: &Path| fs::read(folder.join("raw/rank-1.rkr")).expect("kept");
    assert!(bytes(&own) == bytes(&incident));
    let [(led, said), (followed, heard)] = pair.ended();
    assert_eq!((led, followed), (Some(0), Some(0)), "{said}{heard}");
    assert!(heard.contains("kept what came before on this node (asked for by SIGUSR2)"), "{heard}");
}
