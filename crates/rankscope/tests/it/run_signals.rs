//! Signals reach the job once, and nothing of ours stays behind.
#![cfg(all(target_os = "linux", feature = "clock"))]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::process::{PROGRAM, Room, ended, is_alive, signal, text, wait_for};
use rankscope_testkit::{Need, skip};

/// A job that notes what it gets in the file `log` and its rank, and tells at SIGUSR2. Of two that wait, a shell takes the one
/// with the smaller number, so each signal has to be seen before the next is sent.
const NOTES: &str = r"
log=log${RANK-}
trap 'echo INT >> $log' INT
trap 'echo TERM >> $log' TERM
trap 'echo USR1 >> $log' USR1
trap 'echo got $(cat $log); exit 6' USR2
echo $$ > $log.new; mv $log.new $log
while :; do sleep 0.02; done
";

/// The lines of a job's log: its number, and what it got.
fn log(room: &Room, name: &str) -> Vec<String> {
    let text = fs::read_to_string(room.path().join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn wait_for_job(room: &Room, names: &[&str]) -> String {
    wait_for("the job", || names.iter().all(|name| !log(room, name).is_empty()));
    log(room, names[0]).swap_remove(0)
}

fn wait_for_signal(room: &Room, names: &[&str], signal: &str) {
    wait_for(signal, || names.iter().all(|name| log(room, name).iter().any(|line| line == signal)));
}

fn started(room: &Room, arguments: &[&str]) -> Child {
    let mut command = room.command(arguments);
    // A group of its own, as in a shell with job control.
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn what_is_sent_to_us_reaches_the_job_once() {
    for (ranks, names) in [(&[][..], &["log"][..]), (&["-n", "1"], &["log0"]), (&["-n", "2"], &["log0", "log1"])] {
        let room = Room::new();
        let child = started(&room, &[ranks, &["--no-clock", "--no-report", "--", "sh", "-c", NOTES]].concat());
        wait_for_job(&room, names);
        for name in ["TERM", "INT", "USR1"] {
            signal(name, child.id());
            wait_for_signal(&room, names, name);
        }
        signal("USR2", child.id());
        let output = ended(child);
        assert_eq!(output.status.code(), Some(6));
        let told = text(&output.stdout);
        assert_eq!(told.matches("got ").count(), names.len(), "{told}");
        for name in names {
            assert_eq!(log(&room, name)[1..], ["TERM", "INT", "USR1"]);
        }
    }
}

/// A terminal of its own, by util-linux's `script`; none where that is not installed.
fn in_terminal(room: &Room, arguments: &str) -> Option<Child> {
    let line = format!("exec {} run --out run {arguments}", PROGRAM);
    let mut command = Command::new("script");
    command.args(["-q", "-e", "-f", "-c", &line, "/dev/null"]).current_dir(room.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn();
    child.map_err(|error| skip(Need::Terminal, format_args!("util-linux's script does not start: {error}"))).ok()
}

#[test]
fn control_c_arrives_once() {
    for (ranks, names) in [("", &["log"][..]), ("-n 2 ", &["log0", "log1"])] {
        let room = Room::new();
        let job = room.file("job.sh", NOTES).display().to_string();
        let Some(mut child) = in_terminal(&room, &format!("{ranks}--no-clock --no-report -- sh {job}")) else { return };
        let pid = wait_for_job(&room, names);
        let mut terminal = child.stdin.take().unwrap();
        terminal.write_all(b"\x03").unwrap();
        wait_for_signal(&room, names, "INT");
        // If it were passed on again, that would come before this.
        signal("USR2", parent_of(&pid));
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        drop(terminal);
        assert_eq!(ended(child).status.code(), Some(6), "{said}");
        for name in names {
            assert_eq!(log(&room, name)[1..], ["INT"], "{said}");
        }
    }
}

fn status_of(pid: &str, key: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.trim())).unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("").trim().to_owned()
}

fn parent_of(pid: &str) -> u32 {
    status_of(pid, "PPid:").parse().unwrap()
}

#[test]
fn control_z_stops_and_continues_the_job() {
    let room = Room::new();
    // A shell that starts something looks asleep while that is stopped, so these start nothing.
    let script = "echo $$ > log$RANK; exec sleep 600";
    let child = started(&room, &["-n", "2", "--no-clock", "--no-report", "--", "sh", "-c", script]);
    let pid = wait_for_job(&room, &["log1", "log0"]);
    wait_for("the rank to sleep", || status_of(&pid, "Name:") == "sleep");
    let own = child.id().to_string();
    signal("TSTP", child.id());
    wait_for("all to stop", || [&pid, &own].iter().all(|pid| status_of(pid, "State:").starts_with('T')));
    signal("CONT", child.id());
    wait_for("the rank to go on", || !status_of(&pid, "State:").starts_with('T'));
    signal("TERM", child.id());
    assert_eq!(ended(child).status.code(), Some(143));
}

#[test]
fn nohup_holds_for_the_job() {
    let room = Room::new();
    let own = PROGRAM;
    let line = format!("trap '' HUP; exec {own} run --out run --no-clock --no-report -- sh -c 'grep SigIgn /proc/self/status'");
    let output = Command::new("sh").args(["-c", &line]).current_dir(room.path()).output().unwrap();
    let said = text(&output.stdout);
    let mask = u64::from_str_radix(said.trim().rsplit('\t').next().unwrap(), 16).unwrap();
    assert_eq!(mask & 1, 1, "{said}");
}

#[test]
fn when_we_are_killed_the_job_goes_on_and_the_agent_does_not() {
    let room = Room::new();
    let mut child = started(&room, &["--no-report", "--", "sh", "-c", NOTES]);
    let pid = wait_for_job(&room, &["log"]);
    let snapshots = room.path().join("run/clock/snapshots-node0.jsonl");
    wait_for("the agent", || snapshots.exists());
    let agents = agents_of(child.id());
    assert_eq!(agents.len(), 1, "{agents:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("the agent to end", || agents.iter().all(|pid| !is_alive(pid)));
    assert!(is_alive(&pid));
    signal("KILL", pid.trim().parse().unwrap());
}

/// Children of `pid` that are agents.
fn agents_of(pid: u32) -> Vec<String> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let is_agent = |pid: &&str| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command.split(|byte| *byte == 0).any(|word| word == b"agent")
    };
    children.split_whitespace().filter(is_agent).map(str::to_owned).collect()
}

#[test]
fn an_agent_measures_beside_the_job_and_ends_with_it() {
    let room = Room::new();
    let snapshots = room.path().join("run/clock/snapshots-node0.jsonl");
    let child = started(&room, &["--no-report", "--", "sh", "-c", NOTES]);
    wait_for_job(&room, &["log"]);
    wait_for("snapshots", || fs::metadata(&snapshots).is_ok_and(|file| file.len() > 0));
    let agents = agents_of(child.id());
    signal("USR2", child.id());
    let output = ended(child);
    assert_eq!(output.status.code(), Some(6));
    assert!(agents.iter().all(|pid| !is_alive(pid)), "{agents:?}");
    assert!(!text(&output.stderr).contains("clocks are not measured"), "{}", text(&output.stderr));
    let clock = room.names("clock");
    assert!(clock.contains(&"agent-node0.log".to_owned()), "{clock:?}");
}

#[test]
fn an_agent_that_fails_costs_one_line() {
    let room = Room::new();
    let mut command = room.command(&["--no-report", "--", "sh", "-c", NOTES]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    wait_for_job(&room, &["log"]);
    wait_for("the agent to start", || !agents_of(child.id()).is_empty());
    agents_of(child.id()).into_iter().for_each(|agent| signal("KILL", agent.parse().expect("a number")));
    wait_for("the agent to end", || agents_of(child.id()).is_empty());
    signal("USR2", child.id());
    let output = ended(child);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(6));
    assert_eq!(said.lines().filter(|line| line.contains("clocks are not measured")).count(), 1, "{said}");
}
