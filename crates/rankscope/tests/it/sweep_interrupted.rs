//! A sweep that is stopped, killed or begun twice goes on where it was.
#![cfg(all(target_os = "linux", feature = "clock"))]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::process::{Room, command, ended, is_alive, signal, text, wait_for};

/// Notes each start. Waits where A is 2 for as long as the file `wait` is there.
const JOB: &str = r#"
printf '{"traceEvents": []}' > "$RANKSCOPE_RAW_DIR/rank-0.json"
echo "$$ $A" >> started
if [ "$A" = 2 ]; then while [ -e wait ]; do sleep 0.02; done; fi
"#;

const SWEEP: [&str; 12] =
    ["--no-clock", "--out", "s", "--set", "A=1,2,3", "--order", "as-given", "--repeat", "2", "--", "sh", "-c"];

fn begun(room: &Room, job: &str) -> Child {
    let mut command: Command = command(&["sweep"]);
    command.args(SWEEP).arg(job).current_dir(room.path()).env_remove("A");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn resumed(room: &Room) -> Output {
    let mut command = command(&["sweep", "--resume", "s"]);
    command.current_dir(room.path()).env_remove("A");
    ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

/// Which jobs were started: their number and A.
fn started(room: &Room) -> Vec<(String, String)> {
    let text = fs::read_to_string(room.path().join("started")).unwrap_or_default();
    text.lines().filter_map(|line| line.split_once(' ')).map(|(pid, a)| (pid.to_owned(), a.to_owned())).collect()
}

/// Returns the number of the job that waits.
fn wait_for_second(room: &Room) -> String {
    wait_for("the second run", || started(room).len() == 2);
    started(room)[1].0.clone()
}

fn states(room: &Room) -> Vec<String> {
    let sweep: Value = serde_json::from_slice(&fs::read(room.path().join("s/sweep.json")).unwrap()).unwrap();
    let runs = sweep["runs"].as_array().unwrap().iter();
    runs.map(|run| run["state"].as_str().unwrap().to_owned()).collect()
}

fn order(room: &Room) -> String {
    started(room).into_iter().map(|(_, a)| a).collect()
}

#[test]
fn a_signal_ends_the_job_and_leaves_a_sweep_that_goes_on() {
    for (name, job, code) in [
        ("INT", JOB.to_owned(), 130),
        ("TERM", JOB.to_owned(), 143),
        ("HUP", JOB.to_owned(), 129),
        // A job that takes it for the end of its work has not measured all of it.
        ("TERM", format!("trap 'exit 0' TERM\n{JOB}"), 143),
    ] {
        let room = Room::new();
        room.file("wait", "");
        let child = begun(&room, &job);
        let pid = wait_for_second(&room);
        signal(name, child.id());
        let output = ended(child);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{name}: {said}");
        assert!(!is_alive(&pid) && said.contains("rankscope sweep --resume "), "{said}");
        assert_eq!(states(&room), ["succeeded", "interrupted", "planned", "planned", "planned", "planned"], "{said}");
        fs::remove_file(room.path().join("wait")).unwrap();
        let output = resumed(&room);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!((order(&room).as_str(), states(&room)), ("1223123", vec!["succeeded".to_owned(); 6]));
        assert!(room.path().join("s/set-aside/A-2/rep1-1/run.json").is_file());
    }
}

#[test]
fn a_killed_sweep_goes_on_and_ends_what_it_left_running() {
    let room = Room::new();
    room.file("wait", "");
    let mut child = begun(&room, JOB);
    let pid = wait_for_second(&room);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_alive(&pid), "a job outlives what started it");
    assert_eq!(states(&room)[..3], ["succeeded", "running", "planned"]);
    // The job waits for a file that is still there, so it ends only if it is ended.
    let child = begun(&room, JOB);
    wait_for("the job of the killed sweep to end", || !is_alive(&pid));
    wait_for("the second run to begin again", || started(&room).len() == 3);
    let said_busy = resumed(&room);
    let busy = text(&said_busy.stderr);
    assert!(
        said_busy.status.code() == Some(1) && busy.contains("is running this sweep") && busy.contains(&child.id().to_string()),
        "{busy}"
    );
    fs::remove_file(room.path().join("wait")).unwrap();
    let output = ended(child);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("ended process") && said.contains(&pid), "{said}");
    assert_eq!((order(&room).as_str(), states(&room)), ("1223123", vec!["succeeded".to_owned(); 6]));
}

#[test]
fn a_run_that_ended_before_its_sweep_was_killed_counts() {
    let room = Room::new();
    assert_eq!(ended(begun(&room, JOB)).status.code(), Some(0));
    let path = room.path().join("s/sweep.json");
    let mut sweep: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    // As it stands when the kill comes between the end of a run and its entry, and in the middle of the next one.
    for (index, state) in [(3, "running"), (4, "planned"), (5, "planned")] {
        let run = &mut sweep["runs"][index];
        (run["state"], run["exit_code"]) = (state.into(), Value::Null);
    }
    fs::write(&path, sweep.to_string()).unwrap();
    let output = resumed(&room);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!((order(&room).as_str(), states(&room)), ("12312323", vec!["succeeded".to_owned(); 6]));
}

#[test]
fn a_plan_is_on_the_disk_before_the_first_run() {
    let room = Room::new();
    let job = "[ -e begin.json ] || cp s/sweep.json begin.json";
    assert_eq!(ended(begun(&room, job)).status.code(), Some(0));
    let first: Value = serde_json::from_slice(&fs::read(room.path().join("begin.json")).unwrap()).unwrap();
    assert_eq!(first["runs"].as_array().unwrap().len(), 6);
    assert_eq!((&first["runs"][0]["state"], &first["runs"][1]["state"]), (&"running".into(), &"planned".into()));
}
