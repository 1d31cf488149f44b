//! What Python programs export is kept. The frameworks are stand-ins, folders with the few lines that the hooks touch; the real
//! ones are in `run_frameworks.rs`.
#![cfg(all(target_os = "linux", feature = "clock"))]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output, Stdio};

use crate::process::{Room, ended, text};
use rankscope_testkit::{Need, skip};

const TORCH: [(&str, &str); 3] = [
    ("site/torch/__init__.py", ""),
    ("site/torch/profiler/__init__.py", "from .profiler import profile, _KinetoProfile"),
    (
        "site/torch/profiler/profiler.py",
        r#"
class _KinetoProfile:
    def export_chrome_trace(self, path, extra=None):
        "Writes a trace."
        with open(path, "w") as file:
            file.write('{"traceEvents": [], "extra": "%s"}' % extra)
        return "exported"

class profile(_KinetoProfile):
    pass
"#,
    ),
];

const JAX: [(&str, &str); 5] = [
    ("site/jax/__init__.py", ""),
    ("site/jax/_src/__init__.py", ""),
    ("site/jax/_src/distributed.py", "class global_state:\n    client = object()\n    process_id = 5\n"),
    ("site/jax/profiler.py", "from jax._src.profiler import start_trace, stop_trace, trace"),
    (
        "site/jax/_src/profiler.py",
        r#"
import contextlib, os
class _profile_state:
    log_dir = None
    count = 0

def start_trace(log_dir):
    _profile_state.log_dir = log_dir

def stop_trace():
    _profile_state.count += 1
    folder = os.path.join(_profile_state.log_dir, "plugins", "profile", "t%d" % _profile_state.count)
    os.makedirs(folder)
    with open(os.path.join(folder, "host.xplane.pb"), "w") as file:
        file.write("xspace %d" % _profile_state.count)
    _profile_state.log_dir = None

@contextlib.contextmanager
def trace(log_dir):
    start_trace(log_dir)
    try:
        yield
    finally:
        stop_trace()
"#,
    ),
];

/// A folder with stand-ins; none where there is no Python.
fn room(files: &[(&str, &str)]) -> Option<Room> {
    if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
        skip(Need::Python, "there is no python3");
        return None;
    }
    let room = Room::new();
    for (name, text) in files {
        room.file(name, text);
    }
    Some(room)
}

/// Runs `program` as Python, with `arguments` for `rankscope run` and `variables`.
fn python(room: &Room, program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let path = room.file("job.py", program).display().to_string();
    let mut command = room.command(&[&["--no-clock", "--no-report"], arguments, &["--", "python3", &path]].concat());
    command.env("PYTHONPATH", room.path().join("site")).envs(variables.iter().copied());
    let output = ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    output
}

fn raw(room: &Room, name: &str) -> String {
    fs::read_to_string(room.path().join("run/raw").join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

const EXPORT: &str = r#"
import torch.profiler as p
assert p.profile().export_chrome_trace("a.json", extra="first") == "exported"
assert "Writes" in p.profile.export_chrome_trace.__doc__
"#;

#[test]
fn a_torch_trace_is_kept_under_its_rank() {
    let Some(room) = room(&TORCH) else { return };
    python(&room, EXPORT, &["-n", "2"], &[]);
    assert_eq!(room.names("raw"), ["rank-0.json", "rank-1.json"]);
    assert!(raw(&room, "rank-1.json").contains("first"));
    let ranks = room.manifest()["ranks"].clone();
    assert_eq!((&ranks[1]["rank"], &ranks[1]["node"]), (&1.into(), &0.into()), "{ranks}");
    assert!(!room.path().join("run/.rankscope-hooks").exists());
}

#[test]
fn the_newest_trace_of_a_rank_counts() {
    let Some(room) = room(&TORCH) else { return };
    let program = r#"
from torch.profiler import profile
for name in "abc":
    profile().export_chrome_trace("same.json", name)
profile().export_chrome_trace("packed.json.gz", "d")
open("packed.json.gz", "w").write("the job writes over its own file")
"#;
    python(&room, program, &[], &[("RANK", "7")]);
    assert_eq!(room.names("raw"), ["more", "rank-7.json.gz"]);
    assert!(raw(&room, "rank-7.json.gz").contains("\"d\""));
    assert_eq!(room.names("raw/more"), ["rank-7.0.json", "rank-7.1.json", "rank-7.2.json"]);
    assert!(raw(&room, "more/rank-7.1.json").contains("\"b\""));
}

/// torch with GPUs, which a variable describes.
const CUDA: [(&str, &str); 5] = [
    ("site/torch/__init__.py", ""),
    ("site/torch/version.py", "import os\nhip = os.environ.get('HIP')\n"),
    (
        "site/torch/cuda.py",
        r#"
import os
class Properties:
    pass

def is_initialized():
    return os.environ["CUDA"] != "down"

def device_count():
    return 2

def get_device_properties(index):
    properties = Properties()
    if os.environ["CUDA"] == "broken":
        raise RuntimeError("lost")
    if os.environ["CUDA"] == "tells":
        properties.uuid = "0B0B0B0B-0000-0000-0000-00000000000%d" % index
    return properties
"#,
    ),
    ("site/torch/profiler/__init__.py", "from .profiler import profile, _KinetoProfile"),
    (
        "site/torch/profiler/profiler.py",
        r#"
import gzip, os
class _KinetoProfile:
    def export_chrome_trace(self, path):
        with (gzip.open if path.endswith(".gz") else open)(path, "wt") as file:
            file.write(os.environ.get("TRACE", '{"traceEvents": [{"ph": "X"}]\n}\n'))

class profile(_KinetoProfile):
    def start(self):
        pass
    def stop(self):
        pass
"#,
    ),
];

const EXPORT_WITH_CUDA: &str = r#"
import os, torch.cuda, torch.version
from torch.profiler import profile
it = profile()
it.start()
it.stop()
it.export_chrome_trace(os.environ.get("NAME", "own.json"))
"#;

/// Exports a trace in a run of its own.
fn exported(room: &Room, variables: &[(&str, &str)]) {
    let _ = fs::remove_dir_all(room.path().join("run"));
    python(room, EXPORT_WITH_CUDA, &["--collect", "own.json*"], &[&[("CUDA_VISIBLE_DEVICES", "")], variables].concat());
}

const VISIBLE: &str = "GPU-A0A0A0A0-0000-0000-0000-000000000001, 3";

#[test]
fn the_copy_of_a_torch_trace_says_whose_gpus_it_is_of_and_the_jobs_own_file_does_not() {
    let Some(room) = room(&CUDA) else { return };
    for (cuda, expected) in [
        // What torch tells goes before what the environment does.
        ("tells", vec![(0, "0b0b0b0b-0000-0000-0000-000000000000"), (1, "0b0b0b0b-0000-0000-0000-000000000001")]),
        ("older", vec![(0, "a0a0a0a0-0000-0000-0000-000000000001")]),
    ] {
        exported(&room, &[("CUDA", cuda), ("CUDA_VISIBLE_DEVICES", VISIBLE)]);
        let copy: serde_json::Value = serde_json::from_str(&raw(&room, "rank-0.json")).unwrap();
        let devices: Vec<(i64, &str)> = copy["rankscope"]["devices"]
            .as_array()
            .unwrap()
            .iter()
            .map(|device| (device["index"].as_i64().unwrap(), device["uuid"].as_str().unwrap()))
            .collect();
        assert_eq!(devices, expected, "{cuda}");
        let read: Vec<[i64; 3]> = copy["rankscope"]["clock"]
            .as_array()
            .unwrap()
            .iter()
            .map(|clock| ["sys_clock_ns", "raw_clock_ns", "half_width_ns"].map(|key| clock[key].as_i64().unwrap()))
            .collect();
        assert!(read.len() == 2 && read[0][0] <= read[1][0] && read[0][1] < read[1][1], "{read:?}");
        assert_eq!(copy["traceEvents"][0]["ph"], "X");
        assert_eq!(room.names("raw"), ["rank-0.json"]);
        let own = fs::read_to_string(room.path().join("own.json")).unwrap();
        assert_eq!(own, "{\"traceEvents\": [{\"ph\": \"X\"}]\n}\n");
    }
}

#[test]
fn where_gpus_are_not_known_the_copy_of_a_torch_trace_is_what_the_job_wrote() {
    let Some(room) = room(&CUDA) else { return };
    let plain = "{\"traceEvents\": []}";
    for (variables, trace) in [
        (vec![("CUDA", "down")], plain),
        (vec![("CUDA", "broken")], plain),
        (vec![("CUDA", "older")], plain),
        (vec![("CUDA", "older"), ("CUDA_VISIBLE_DEVICES", "0,GPU-a0a0,MIG-a0a0a0a0-0000-0000-0000-000000000001")], plain),
        (vec![("CUDA", "tells"), ("HIP", "7.0")], plain),
        // What says it already, what was cut, and what is no object.
        (vec![("CUDA", "tells")], "{\"rankscope\": {}, \"traceEvents\": []}"),
        (vec![("CUDA", "tells")], "{\"traceEvents\": ["),
        (vec![("CUDA", "tells")], "[{}]"),
        (vec![("CUDA", "tells")], ""),
    ] {
        let with: Vec<(&str, &str)> = variables.iter().copied().chain([("TRACE", trace)]).collect();
        exported(&room, &with);
        assert_eq!(raw(&room, "rank-0.json"), trace, "{with:?}");
    }
    exported(&room, &[("CUDA", "tells"), ("NAME", "own.json.gz")]);
    let copied = fs::read(room.path().join("run/raw/rank-0.json.gz")).unwrap();
    assert_eq!(copied, fs::read(room.path().join("own.json.gz")).unwrap());
    // A member that is the first one has no comma before it.
    exported(&room, &[("CUDA", "tells"), ("TRACE", "{ }")]);
    let copy: serde_json::Value = serde_json::from_str(&raw(&room, "rank-0.json")).unwrap();
    assert_eq!(copy.as_object().unwrap().len(), 1, "{copy}");
}

#[test]
fn a_restarted_rank_puts_the_older_trace_aside() {
    let Some(room) = room(&TORCH) else { return };
    let program = "import os, subprocess, sys\nfor attempt in '01':\n    \
                   subprocess.check_call([sys.executable, '-c', os.environ['JOB']], env={**os.environ, \
                   'TORCHELASTIC_RESTART_COUNT': attempt})\n";
    python(&room, program, &[], &[("RANK", "0"), ("JOB", EXPORT)]);
    assert_eq!(room.names("raw"), ["attempt-0", "rank-0.json"]);
    assert_eq!(room.names("raw/attempt-0"), ["rank-0.json"]);
}

#[test]
fn jax_profiles_are_kept_under_their_process() {
    let Some(room) = room(&JAX) else { return };
    let program = "import jax._src.distributed, jax.profiler\nfor _ in range(2):\n    \
                   with jax.profiler.trace('logs'):\n        pass\n";
    python(&room, program, &[], &[]);
    assert_eq!(room.names("raw"), ["more", "rank-5.xplane.pb"]);
    assert_eq!(raw(&room, "rank-5.xplane.pb"), "xspace 2");
    assert_eq!(room.names("raw/more"), ["rank-5.0.xplane.pb"]);
}

#[test]
fn processes_that_share_a_jax_folder_keep_each_its_own() {
    let files: Vec<(&str, &str)> = JAX
        .into_iter()
        .map(|(name, text)| match name {
            "site/jax/_src/distributed.py" => {
                (name, "import os\nclass global_state:\n    client = object()\n    process_id = int(os.environ['RANK'])\n")
            }
            // Who writes last overwrites the others' file, as hosts, not processes, have names of their own.
            "site/jax/_src/profiler.py" => (name, SHARED_PROFILER),
            _ => (name, text),
        })
        .collect();
    let Some(room) = room(&files) else { return };
    let program = "import jax._src.distributed, jax.profiler\nwith jax.profiler.trace('logs'):\n    pass\n";
    python(&room, program, &["-n", "3"], &[]);
    for rank in 0..3 {
        assert_eq!(raw(&room, &format!("rank-{rank}.xplane.pb")), format!("xspace of {rank}"));
    }
}

const SHARED_PROFILER: &str = r#"
import contextlib, os, time
class _profile_state:
    log_dir = None

@contextlib.contextmanager
def trace(log_dir):
    _profile_state.log_dir = log_dir
    yield
    stop_trace()

def start_trace(log_dir):
    pass

def stop_trace():
    folder = os.path.join(_profile_state.log_dir, "plugins", "profile", "t")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "host.xplane.pb"), "w") as file:
        file.write("xspace of " + os.environ["RANK"])
    time.sleep(0.2)
"#;

#[test]
fn another_sitecustomize_still_runs() {
    let files = [("site/sitecustomize.py", "import builtins\nbuiltins.customised = __file__\n")];
    let Some(room) = room(&files) else { return };
    let program =
        "import sitecustomize\nassert customised == sitecustomize.__file__, sitecustomize.__file__\nprint(customised)";
    let output = python(&room, program, &[], &[]);
    assert!(text(&output.stdout).trim().ends_with("site/sitecustomize.py"));
}

#[test]
fn what_goes_wrong_never_reaches_the_job() {
    let Some(room) = room(&TORCH) else { return };
    let program = "import os, shutil\nshutil.rmtree(os.environ['RANKSCOPE_RAW_DIR'])\n".to_owned() + EXPORT + EXPORT;
    let output = python(&room, &program, &[], &[]);
    let said = text(&output.stderr);
    assert_eq!(said.matches("a profile is not kept").count(), 1, "{said}");
    // Other versions may have other names.
    let other =
        [("site/torch/__init__.py", ""), ("site/torch/profiler/__init__.py", ""), ("site/torch/profiler/profiler.py", "")];
    let Some(room) = self::room(&other) else { return };
    let output = python(&room, "import torch.profiler.profiler\nprint('fine')", &[], &[]);
    assert_eq!(text(&output.stdout), "fine\n");
    assert!(text(&output.stderr).contains("profiles of this process are not kept"), "{}", text(&output.stderr));
}

#[test]
fn hooks_import_nothing_and_can_be_left_out() {
    let modules = |arguments: &[&str]| {
        let room = room(&TORCH)?;
        let output = python(&room, "import sys\nprint(*sorted(sys.modules))", arguments, &[]);
        Some(text(&output.stdout).split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>())
    };
    let (Some(with), Some(without)) = (modules(&[]), modules(&["--no-hooks"])) else { return };
    let more: Vec<_> = with.difference(&without).filter(|name| *name != "sitecustomize").collect();
    assert!(more.is_empty(), "{more:?}");
    let Some(room) = self::room(&TORCH) else { return };
    python(&room, EXPORT, &["--no-hooks"], &[]);
    assert_eq!(room.names("raw"), [""; 0]);
}
