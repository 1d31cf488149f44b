//! Steps of a script that knows no profiler are profiled from outside. Torch is a stand-in, a folder with the few lines that the hooks
//! touch; the real one is in `run_frameworks.rs`.
#![cfg(all(target_os = "linux", feature = "clock"))]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::process::{Child, Command, Output, Stdio};

use crate::process::{Room, command, ended, signal, text, wait_for};
use rankscope_testkit::{Need, skip};
use serde_json::{Value, json};

const TORCH: [(&str, &str); 4] = [
    ("site/torch/__init__.py", "from . import profiler, optim\n"),
    ("site/torch/profiler/__init__.py", "from .profiler import profile, _KinetoProfile, ProfilerAction\n"),
    ("site/torch/optim/__init__.py", "from .optimizer import Optimizer, SGD\n"),
    (
        "site/torch/optim/optimizer.py",
        r#"
class Optimizer:
    def __init__(self):
        self._patch_step_function()

    def _patch_step_function(self):
        pass

class SGD(Optimizer):
    def step(self):
        return "stepped"
"#,
    ),
];

/// Its traces are the numbers of the steps that were recorded.
const PROFILER: &str = r#"
import enum, json

class ProfilerAction(enum.Enum):
    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)

at_work = None

class _KinetoProfile:
    def export_chrome_trace(self, path):
        with open(path, "w") as file:
            json.dump({"traceEvents": [], "steps": self.steps}, file)

class profile(_KinetoProfile):
    def __init__(self, schedule=None, on_trace_ready=None, **options):
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready, self.options, self.steps, self.step_num = on_trace_ready, options, [], 0
        self.current_action = self.schedule(0)

    def start(self):
        global at_work
        if at_work is not None:
            raise RuntimeError("a profiler is at work")
        at_work = self
        self._note()

    def step(self):
        if self.current_action is ProfilerAction.RECORD_AND_SAVE and self.on_trace_ready:
            self.on_trace_ready(self)
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._note()

    def stop(self):
        global at_work
        at_work = None
        recording = self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if recording and self.on_trace_ready:
            self.on_trace_ready(self)

    def _note(self):
        if self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self.steps.append(self.step_num)
"#;

/// A script of `STEPS` steps.
const PLAIN: &str = r#"
import os, torch
optimizer = torch.optim.SGD()
for step in range(int(os.environ.get("STEPS", "8"))):
    assert optimizer.step() == "stepped"
"#;

/// A script that takes steps until there is a file `stop`.
const LONG: &str = r#"
import os, time, torch
optimizer = torch.optim.SGD()
while not os.path.exists("stop"):
    time.sleep(0.01 + 0.002 * int(os.environ["RANK"]))
    optimizer.step()
"#;

fn room() -> Option<Room> {
    if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
        skip(Need::Python, "there is no python3");
        return None;
    }
    let room = Room::new();
    for (name, text) in TORCH.into_iter().chain([("site/torch/profiler/profiler.py", PROFILER)]) {
        room.file(name, text);
    }
    Some(room)
}

fn started(room: &Room, program: &str, arguments: &[&str]) -> Child {
    let path = room.file("job.py", program).display().to_string();
    let mut command = room.command(&[&["--no-clock", "--no-report"], arguments, &["--", "python3", &path]].concat());
    command.env("PYTHONPATH", room.path().join("site")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs `program` to an end that must be a good one, and returns what was said.
fn ran(room: &Room, program: &str, arguments: &[&str]) -> String {
    good(ended(started(room, program, arguments)))
}

fn good(output: Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stderr)
}

fn steps(room: &Room, name: &str) -> Value {
    let path = room.path().join("run/raw").join(name);
    let trace = fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::from_slice::<Value>(&trace).unwrap()["steps"].clone()
}

fn profiled(room: &Room) -> Value {
    room.manifest()["attempts"][0]["profiled"].clone()
}

#[test]
fn the_steps_that_were_asked_for_are_profiled_on_every_rank() {
    let Some(room) = room() else { return };
    let said = ran(&room, PLAIN, &["-n", "3", "--profile", "steps=2@3"]);
    assert_eq!(room.names("raw"), ["rank-0.json", "rank-1.json", "rank-2.json"]);
    for rank in 0..3 {
        assert_eq!(steps(&room, &format!("rank-{rank}.json")), json!([3, 4]));
    }
    let window = json!([{ "request": "steps=2@3", "first_step": 3, "steps": 2, "outcome": "kept", "ranks": [0, 1, 2] }]);
    assert_eq!(profiled(&room), window);
    assert!(said.contains("steps 3 to 4: profiled on ranks 0, 1, 2"), "{said}");
    assert!(!room.path().join("run/.rankscope-hooks").exists());
}

#[test]
fn windows_return_as_often_as_was_asked_for() {
    let Some(room) = room() else { return };
    ran(&room, PLAIN, &["-n", "1", "--profile", "every=2,steps=1,times=2"]);
    assert_eq!((steps(&room, "more/rank-0.0.json"), steps(&room, "rank-0.json")), (json!([2]), json!([4])));
    assert_eq!(room.names("raw/more").len(), 1, "and no more often");
}

#[test]
fn a_program_that_ends_early_leaves_what_there_is() {
    let Some(room) = room() else { return };
    let said = ran(&room, PLAIN, &["--profile", "steps=5@6"]);
    assert_eq!(steps(&room, "rank-0.json"), json!([6, 7, 8]));
    assert!(said.contains("steps 6 to 10: profiled on rank 0 until the program ended in step 8"), "{said}");
    let Some(room) = self::room() else { return };
    let said = ran(&room, PLAIN, &["--profile", "steps=5@100"]);
    assert_eq!(room.names("raw"), [""; 0]);
    assert!(said.contains("steps 100 to 104: never reached; rank 0 ended in step 8"), "{said}");
    let Some(room) = self::room() else { return };
    let said = ran(&room, "import torch", &["--profile", "steps=5@100"]);
    assert!(said.contains("no rank took a step that is counted"), "{said}");
}

#[test]
fn a_script_that_profiles_itself_is_left_alone() {
    let own = "from torch.profiler import profile\nown = profile()\n";
    let before = format!("{own}own.start()\n{PLAIN}own.stop()\n");
    let Some(room) = room() else { return };
    ran(&room, &before, &["--profile", "steps=2@3"]);
    assert_eq!((room.names("raw").len(), &profiled(&room)[0]["outcome"]), (0, &json!("left-alone")));
    // It begins while ours is at work.
    let meanwhile =
        format!("{own}{PLAIN}    if step == 3:\n        own.start()\nown.stop()\nown.export_chrome_trace('own.json')\n");
    let Some(room) = self::room() else { return };
    ran(&room, &meanwhile, &["--profile", "steps=4@3"]);
    assert_eq!((room.names("raw"), &profiled(&room)[0]["outcome"]), (vec!["rank-0.json".to_owned()], &json!("gave-way")));
    assert_eq!(steps(&room, "rank-0.json"), json!([0]), "the script's own");
}

#[test]
fn a_profiler_that_fails_is_told_of_once_and_the_job_goes_on() {
    let broken =
        "import torch.profiler.profiler as p\ndef start(self):\n    raise OSError('no such tracer')\np.profile.start = start\n";
    let Some(room) = room() else { return };
    let said = ran(&room, &format!("{broken}{PLAIN}"), &["--profile", "every=2,steps=1"]);
    assert_eq!(said.matches("steps are not profiled").count(), 1, "{said}");
    assert!(said.contains("step 2: not profiled on rank 0: OSError: no such tracer"), "{said}");
    let gone = format!("import os, shutil\nshutil.rmtree(os.environ['RANKSCOPE_RAW_DIR'])\n{PLAIN}");
    let Some(room) = self::room() else { return };
    assert_eq!(ran(&room, &gone, &["--profile", "steps=2@3"]).matches("steps are not profiled").count(), 1);
}

#[test]
fn optimizers_that_take_turns_make_one_step() {
    let program = r#"
import torch
class Wrapping(torch.optim.SGD):
    def step(self):
        return super().step()
a, b = torch.optim.SGD(), Wrapping()
for step in range(8):
    a.step()
    b.step()
"#;
    let Some(room) = room() else { return };
    ran(&room, program, &["--profile", "steps=2@3"]);
    assert_eq!(steps(&room, "rank-0.json"), json!([3, 4]));
    let Some(room) = self::room() else { return };
    let said = ran(&room, program, &["--profile", "steps=1@9"]);
    assert!(said.contains("ended in step 8"), "{said}");
}

fn trigger(room: &Room, arguments: &[&str]) -> Output {
    let mut command = command(&["trigger", "run"]);
    command.args(arguments).current_dir(room.path());
    ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

fn wait_for_run(room: &Room) {
    wait_for("the run", || {
        fs::read(room.path().join("run/run.json")).is_ok() && room.path().join("run/.rankscope-hooks").exists()
    });
}

#[test]
fn a_job_that_runs_is_profiled_on_the_same_steps_of_all_ranks() {
    let Some(room) = room() else { return };
    let job = started(&room, LONG, &["-n", "3"]);
    wait_for_run(&room);
    let output = trigger(&room, &["--steps", "2", "--format", "json"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!((&told["profiled"], &told["silent"]), (&json!([0, 1, 2]), &json!([])), "{told}");
    let again = trigger(&room, &["--steps", "1"]);
    assert!(text(&again.stdout).contains("profiled on ranks 0, 1, 2."), "{}", text(&again.stdout));
    room.file("stop", "");
    good(ended(job));
    let first = told["first_step"].as_u64().unwrap();
    for rank in 0..3 {
        assert_eq!(steps(&room, &format!("more/rank-{rank}.0.json")), json!([first, first + 1]));
        assert_eq!(steps(&room, &format!("rank-{rank}.json")), steps(&room, "rank-0.json"));
    }
    let windows = profiled(&room);
    assert_eq!((&windows[0]["request"], &windows[0]["ranks"]), (&json!("trigger"), &json!([0, 1, 2])), "{windows}");
    let late = trigger(&room, &[]);
    assert!(
        text(&late.stderr).contains("this run is finished; only a job that runs can be profiled"),
        "{}",
        text(&late.stderr)
    );
}

#[test]
fn a_signal_to_the_run_is_not_one_to_the_job() {
    let Some(room) = room() else { return };
    let job = started(&room, LONG, &["-n", "2", "--profile", "on-signal,steps=1"]);
    wait_for_run(&room);
    let answers = room.path().join("run/.rankscope-hooks/triggers/0");
    signal("USR2", job.id());
    wait_for("both traces", || room.names("raw").len() == 2);
    assert!(answers.join("agreed-0.json").exists());
    room.file("stop", "");
    good(ended(job));
    assert_eq!(steps(&room, "rank-0.json"), steps(&room, "rank-1.json"));
    assert_eq!(profiled(&room)[0]["request"], "signal");
}

#[test]
fn who_cannot_be_asked_is_named() {
    let Some(room) = room() else { return };
    let nobody = trigger(&room, &[]);
    assert_eq!(nobody.status.code(), Some(1));
    let job = started(&room, "import os, time\nwhile not os.path.exists('stop'): time.sleep(0.01)\n", &["-n", "1"]);
    wait_for_run(&room);
    let silent = trigger(&room, &["--answer-within", "0"]);
    assert!(text(&silent.stderr).contains("no rank has answered"), "{}", text(&silent.stderr));
    room.file("stop", "");
    good(ended(job));
    let unknown = room.run(&["--profile", "steps=2", "--", "true"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("say which steps"), "{}", text(&unknown.stderr));
}
