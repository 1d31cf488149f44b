//! A job that fails: which rank was the first to, told from those that went after it, and what is said of it.
#![cfg(all(target_os = "linux", feature = "clock"))]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::process::{Command, Stdio};

use crate::process::{Room, ended, text};
use rankscope_testkit::{Need, given, skip};
use serde_json::{Value, json};

/// Ranks of `sh -c script`; what the run's document says of the first failure, and of each rank why it ended and how.
fn failed(ranks: &str, script: &str) -> (Value, Vec<(String, Value)>) {
    let room = Room::new();
    let output = room.plain(&["--format", "json", "-n", ranks, "--", "sh", "-c", script]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    (document["failed"].clone(), ends(&room))
}

fn ends(room: &Room) -> Vec<(String, Value)> {
    let manifest = room.manifest();
    let ends = manifest["attempts"][0]["ends"].as_array().unwrap();
    ends.iter().map(|end| (end["how"].as_str().unwrap().to_owned(), end["exit"].clone())).collect()
}

fn how(text: &str, exit: Value) -> (String, Value) {
    (text.to_owned(), exit)
}

#[test]
fn the_first_is_told_from_those_that_were_ended_after_it() {
    let script = "case $RANK in 2) until [ -e up0 ] && [ -e up1 ]; do sleep 0.01; done; exit 9;; \
                  1) trap 'exit 4' TERM; touch up1; while :; do sleep 0.01; done;; \
                  *) touch up0; exec sleep 60;; esac";
    let (first, ends) = failed("3", script);
    assert_eq!((&first["rank"], &first["exit_code"], &first["signal"]), (&json!(2), &json!(9), &json!(null)), "{first}");
    assert!(first["host"].is_string() && first["after_step"].is_null(), "{first}");
    let expected = [how("asked", json!({"signal": 15})), how("asked", json!({"code": 4})), how("failed", json!({"code": 9}))];
    assert_eq!(ends, expected);
}

#[test]
fn a_rank_that_was_killed_is_named_with_its_signal() {
    // The one that ends well has ended before the other is killed: it is a zombie, or gone where we were quick to reap it.
    let script = "if [ $RANK = 0 ]; then echo $$ > own; mv own first; exit 0; fi; \
                  until [ -e first ] && ! grep -qs ') [A-Y]' /proc/$(cat first)/stat; do sleep 0.01; done; kill -SEGV $$";
    let (first, ends) = failed("2", script);
    assert_eq!((&first["rank"], &first["exit_code"], &first["signal"]), (&json!(1), &json!(null), &json!(11)), "{first}");
    assert_eq!(ends, [how("finished", json!({"code": 0})), how("failed", json!({"signal": 11}))]);
}

#[test]
fn who_stops_a_job_finds_no_rank_blamed() {
    let room = Room::new();
    let script = "touch up$RANK; while :; do sleep 0.05; done";
    let mut command = room.command(&["--no-clock", "--no-report", "-n", "2", "--", "sh", "-c", script]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    crate::process::wait_for("both ranks", || ["up0", "up1"].iter().all(|name| room.path().join(name).exists()));
    crate::process::signal("TERM", child.id());
    let output = ended(child);
    assert!(!text(&output.stderr).contains("failed"), "{}", text(&output.stderr));
    assert_eq!(ends(&room), [how("asked", json!({"signal": 15})), how("asked", json!({"signal": 15}))]);
    assert_eq!(room.manifest()["attempts"][0]["asked_by_signal"], 15);
}

#[test]
fn it_is_said_first_and_without_advice_on_profilers() {
    let room = Room::new();
    let output = room.plain(&["-n", "2", "--", "sh", "-c", "[ $RANK = 1 ] && exit 3; sleep 60"]);
    let said = text(&output.stderr);
    let ours: Vec<&str> = said.lines().filter(|line| line.starts_with("rankscope:")).collect();
    assert!(ours[0].starts_with("rankscope: rank 1 failed first (exit code 3, on "), "{said}");
    assert!(ours[1].contains("the run is in") && ours[1].ends_with("(0 of 2 traces)"), "{said}");
    let output = Room::new().run(&["--no-clock", "--", "sh", "-c", "exit 3"]);
    let said = text(&output.stderr);
    assert!(said.contains("the command failed (exit code 3)") && !said.contains("torch.profiler"), "{said}");
    assert!(text(&Room::new().run(&["--no-clock", "--", "true"]).stderr).contains("torch.profiler"));
    let said = text(&Room::new().run(&["--no-clock", "--", "./none-such"]).stderr);
    assert!(!said.contains("failed") && !said.contains("torch.profiler"), "{said}");
}

#[test]
fn ranks_without_a_trace_are_counted() {
    let room = Room::new();
    let script = "[ $RANK = 2 ] || printf '{\"traceEvents\": []}' > $RANKSCOPE_RAW_DIR/rank-$RANK.json";
    let output = room.plain(&["-n", "4", "--", "sh", "-c", script]);
    assert!(text(&output.stderr).contains("(3 of 4 traces; rank 2 left none)"), "{}", text(&output.stderr));
}

/// Python ranks of a program that knows its number; none where there is no Python.
fn python(program: &str, command: &[&str]) -> Option<(Room, Value)> {
    if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
        skip(Need::Python, "there is no python3");
        return None;
    }
    let room = Room::new();
    let job = room.file("job.py", program).display().to_string();
    let output = room.plain(&[&["--format", "json"], command, &[&job]].concat());
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    Some((room, document["failed"].clone()))
}

#[test]
fn a_python_rank_says_what_it_failed_with() {
    // Rank 0 loses the connection and is gone at once; rank 1, whose fault it is, takes its time to go.
    let program = r#"
import atexit, os, subprocess, sys, time
def until(name):
    while not os.path.exists(name): time.sleep(0.01)
# What a rank starts and can do without is not the rank.
subprocess.call([sys.executable, "-c", "raise KeyError('helper')"], stderr=subprocess.DEVNULL)
if os.fork() == 0:
    os._exit(5)
os.wait()
if os.environ["RANK"] == "0":
    until("failing")
    raise RuntimeError("[pair.cc:534] Connection closed by peer [127.0.0.1]:1")
atexit.register(lambda: (open("failing", "w").close(), time.sleep(30)))
raise ValueError("loss is \x1b[31mNaN\nmore")
"#;
    let Some((room, first)) = python(program, &["-n", "2", "--", "python3"]) else { return };
    assert_eq!((&first["rank"], &first["message"]), (&json!(1), &json!("ValueError: loss is  [31mNaN")), "{first}");
    let ends = ends(&room);
    assert_eq!((ends[0].0.as_str(), ends[1].0.as_str()), ("consequence", "failed"));
}

#[test]
fn a_hard_exit_is_heard() {
    let Some((_, first)) = python("import os\nos._exit(7)", &["--", "python3"]) else { return };
    let expected = json!({
        "rank": 0, "host": first["host"], "exit_code": 7, "signal": null, "after_step": null, "message": "os._exit(7)"
    });
    assert_eq!(first, expected);
}

#[test]
fn torchrun_says_how_the_ranks_that_it_started_ended() {
    // The class that it raises in the end, with what that holds.
    let program = r#"
import os, sys, types
here = os.path.dirname(os.path.abspath(__file__))
folder = os.path.join(here, "torch/distributed/elastic/multiprocessing/errors")
os.makedirs(folder)
with open(os.path.join(folder, "__init__.py"), "w") as file:
    file.write("class ChildFailedError(Exception):\n    def __init__(self, name, failures):\n        self.failures = failures\n")
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
sys.modules["torch.distributed.launcher.api"] = types.ModuleType("api")
of = lambda code: types.SimpleNamespace(exitcode=code, timestamp=1700000000)
raise ChildFailedError("train.py", {0: of(-15), 1: of(-11), 2: of(-15)})
"#;
    let Some((room, first)) = python(program, &["--", "python3"]) else { return };
    assert_eq!((&first["rank"], &first["signal"], &first["message"]), (&json!(1), &json!(11), &json!(null)), "{first}");
    assert_eq!(ends(&room).iter().map(|(how, _)| how.as_str()).collect::<Vec<_>>(), ["asked", "failed", "asked"]);
}

const TORCH_JOB: &str = r#"
import os, signal, sys, torch, torch.distributed as dist
from torch.profiler import profile
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
with profile() as p:
    for step in range(4):
        dist.all_reduce(torch.ones(10))
        p.step()
        if step == 2 and rank == 1:
            if sys.argv[1] == "raise":
                raise ValueError("bad batch")
            os.kill(os.getpid(), signal.SIGSEGV)
dist.barrier()
"#;

#[test]
fn the_step_of_a_torch_rank_and_the_exits_that_torchrun_saw_are_known() {
    let Some(python) = given(Need::Torch) else { return };
    let python = python.display().to_string();
    for (launcher, kind, expected) in [
        (false, "raise", json!({"exit_code": 1, "signal": null, "after_step": 3, "message": "ValueError: bad batch"})),
        (true, "raise", json!({"exit_code": 1, "signal": null, "after_step": 3, "message": "ValueError: bad batch"})),
        (true, "segv", json!({"exit_code": null, "signal": 11, "after_step": null, "message": null})),
    ] {
        let room = Room::new();
        let job = room.file("train.py", TORCH_JOB).display().to_string();
        let ours = if launcher {
            vec!["--format", "json", "--", &python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
        } else {
            vec!["--format", "json", "-n", "2", "--", &python]
        };
        let output = room.plain(&[&ours[..], &[&job, kind]].concat());
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let first = &document["failed"];
        assert_eq!(first["rank"], 1, "{first} {}", text(&output.stderr));
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&first[key], value, "{key} of {first}, {kind} under a launcher: {launcher}");
        }
    }
}
