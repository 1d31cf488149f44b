//! A sweep over configurations: its runs, their order, what is refused, and what becomes of failures.
#![cfg(all(target_os = "linux", feature = "clock"))]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::collections::BTreeMap;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::process::{Room, command, ended, text};

/// Writes a trace, says what it sees, and fails where A is 8 as long as the file `fail` is there.
const JOB: &str = r#"
printf '{"traceEvents": []}' > "$RANKSCOPE_RAW_DIR/rank-${RANK:-0}.json"
echo "A=${A-unset} B=${B-unset} in $RANKSCOPE_RUN_ID" >> seen
if [ "${A-}" = 8 ] && [ -e fail ]; then exit 3; fi
"#;

/// `rankscope sweep` in the folder `s`, without clocks, of a job as above.
fn swept(room: &Room, arguments: &[&str]) -> Output {
    plain(room, &[&["--no-clock", "--out", "s"], arguments, &["--", "sh", "-c", JOB]].concat())
}

fn plain(room: &Room, arguments: &[&str]) -> Output {
    let mut command = command(&["sweep"]);
    command.args(arguments).current_dir(room.path()).env_remove("A").env_remove("B");
    ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

fn document(room: &Room, path: &str) -> Value {
    serde_json::from_slice(&std::fs::read(room.path().join(path)).unwrap()).unwrap()
}

fn seen(room: &Room) -> Vec<String> {
    let text = std::fs::read_to_string(room.path().join("seen")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn each<'a>(sweep: &'a Value, key: &str) -> Vec<&'a Value> {
    sweep["runs"].as_array().unwrap().iter().map(|run| &run[key]).collect()
}

#[test]
fn each_run_has_a_directory_and_sees_what_its_configuration_sets() {
    let room = Room::new();
    let output = swept(&room, &["--set", "A=4,16", "--set", "B=x y,/z=1", "--base", "--repeat", "2", "--seed", "5"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let sweep = document(&room, "s/sweep.json");
    assert_eq!((sweep["seed"].as_u64(), sweep["runs"].as_array().unwrap().len()), (Some(5), 10));
    let directories = ["base", "A-4+B-x-y", "A-4+B--z-1", "A-16+B-x-y", "A-16+B--z-1"];
    for (directory, set) in
        directories.into_iter().zip(["A=unset B=unset", "A=4 B=x y", "A=4 B=/z=1", "A=16 B=x y", "A=16 B=/z=1"])
    {
        for repetition in [1, 2] {
            let manifest = document(&room, &format!("s/{directory}/rep{repetition}/run.json"));
            assert_eq!(manifest["state"], "finished");
            assert_eq!(manifest["run_id"], json!(format!("s/{directory}/rep{repetition}")));
            assert_eq!(manifest["sweep"]["round"], repetition);
            assert!(seen(&room).contains(&format!("{set} in s/{directory}/rep{repetition}")), "{:?}", seen(&room));
        }
    }
    let manifest = document(&room, "s/A-4+B-x-y/rep1/run.json");
    assert_eq!(manifest["sweep"]["set"], json!({"A": "4", "B": "x y"}));
    // What ran is what was planned, in that order.
    let ran: Vec<String> = seen(&room).iter().map(|line| line.rsplit_once("in s/").unwrap().1.to_owned()).collect();
    let planned: Vec<&str> = each(&sweep, "path").into_iter().map(|path| path.as_str().unwrap()).collect();
    assert_eq!(ran, planned);
    let start: Vec<i64> = each(&sweep, "started_unix_ns").iter().map(|start| start.as_i64().unwrap()).collect();
    assert!(start.is_sorted(), "{start:?}");
    let compare = said.lines().find(|line| line.contains("to compare")).unwrap();
    assert!(
        compare.contains("rankscope compare") && compare.contains("/s/base ") && compare.contains("/s/A-16+B--z-1"),
        "{said}"
    );
    assert!(!room.path().join("s/base/rep1/report").exists(), "reports are made where they are asked for");
}

/// Writes a trace of twenty steps of about LENGTH microseconds.
const STEPS: &str = r#"
awk 'BEGIN {
  printf "{\"traceEvents\": ["
  for (s = 0; s < 20; s++) {
    at += dur; dur = ENVIRON["LENGTH"] + s % 3
    printf "%s{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":%d},", s ? "," : "", s, at, dur
    printf "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d,\"args\":{\"device\":0,\"stream\":7}}", at, dur
  }
  print "]}"
}' > "$RANKSCOPE_RAW_DIR/rank-${RANK:-0}.json"
"#;

#[test]
fn a_sweep_ends_with_the_comparison_of_its_configurations() {
    let room = Room::new();
    let asked = ["--no-clock", "--set", "LENGTH=500,600", "--repeat", "3", "--out", "s", "--", "sh", "-c", STEPS];
    let output = plain(&room, &asked);
    let (said, answer) = (text(&output.stderr), text(&output.stdout));
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(answer.contains("LENGTH-600 beside LENGTH-500: regressed: a step takes 100 us (20.0 %) longer"), "{answer}{said}");
}

#[test]
fn one_seed_is_one_order_and_rounds_are_balanced() {
    let room = Room::new();
    let planned = |seed: &str, more: &[&str]| -> Value {
        let usual = ["--set", "A=1,2,3,4", "--repeat", "4", "--dry-run", "--format", "json", "--seed", seed];
        let output = swept(&room, &[&usual[..], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let first = planned("1", &[]);
    assert_eq!(first["runs"], planned("1", &["--interleave"])["runs"]);
    assert_ne!(first["runs"], planned("2", &[])["runs"]);
    let mut sums = BTreeMap::new();
    for (place, label) in each(&first, "configuration").into_iter().enumerate() {
        *sums.entry(label.to_string()).or_insert(0) += place % 4;
    }
    assert!(sums.len() == 4 && sums.values().all(|sum| *sum == 6), "{sums:?}");
    assert_eq!(each(&planned("1", &["--order", "grouped"]), "path")[..2], ["A-1/rep1", "A-1/rep2"]);
    assert_eq!(each(&planned("1", &["--order", "as-given"]), "path")[..2], ["A-1/rep1", "A-2/rep1"]);
    assert!(!room.path().join("s").exists() && seen(&room).is_empty(), "a plan that is only printed leaves nothing");
}

#[test]
fn failures_are_kept_and_what_has_not_succeeded_runs_again() {
    let room = Room::new();
    room.file("fail", "");
    let arguments = ["--set", "A=4,8,16", "--repeat", "2", "--format", "json"];
    let output = swept(&room, &arguments);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let sweep: Value = serde_json::from_slice(&output.stdout).unwrap();
    let states = |sweep: &Value| {
        let mut states: BTreeMap<String, Vec<(String, Value)>> = BTreeMap::new();
        for run in sweep["runs"].as_array().unwrap() {
            let state = (run["state"].as_str().unwrap().to_owned(), run["exit_code"].clone());
            states.entry(run["configuration"].as_str().unwrap().to_owned()).or_default().push(state);
        }
        states
    };
    let failed = ("failed".to_owned(), json!(3));
    let succeeded = ("succeeded".to_owned(), json!(0));
    assert_eq!(states(&sweep)["A=8"], [failed.clone(), failed]);
    assert_eq!(states(&sweep)["A=16"], [succeeded.clone(), succeeded.clone()]);
    assert_eq!(document(&room, "s/A-8/rep1/run.json")["state"], "failed");
    let compare: Vec<&str> = sweep["compare"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert!(compare.len() == 4 && !compare.iter().any(|word| word.ends_with("A-8")), "{compare:?}");

    std::fs::remove_file(room.path().join("fail")).unwrap();
    std::fs::remove_file(room.path().join("seen")).unwrap();
    let output = swept(&room, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(seen(&room).len(), 2, "only what failed runs again: {:?}", seen(&room));
    let sweep = document(&room, "s/sweep.json");
    assert_eq!(states(&sweep)["A=8"], [succeeded.clone(), succeeded]);
    let run = sweep["runs"].as_array().unwrap().iter().find(|run| run["path"] == "A-8/rep1").unwrap();
    assert_eq!((&run["earlier"][0]["state"], &run["earlier"][0]["exit_code"]), (&json!("failed"), &json!(3)));
    let aside = format!("s/{}/run.json", run["earlier"][0]["path"].as_str().unwrap());
    assert_eq!(document(&room, &aside)["state"], "failed");
}

#[test]
fn a_failure_can_end_the_sweep() {
    let room = Room::new();
    room.file("fail", "");
    let output = swept(&room, &["--set", "A=8,4", "--repeat", "3", "--order", "as-given", "--stop-on-failure"]);
    assert_eq!((output.status.code(), seen(&room).len()), (Some(1), 1), "{}", text(&output.stderr));
    let output = plain(&room, &["--set", "A=1,2", "--no-clock", "--out", "none", "--", "./no-such-program"]);
    let said = text(&output.stderr);
    assert!(
        output.status.code() == Some(1) && said.matches("does not start").count() == 2,
        "the others would not either: {said}"
    );
}

#[test]
fn more_repetitions_go_on_and_another_sweep_is_refused() {
    let room = Room::new();
    assert_eq!(swept(&room, &["--set", "A=1,2", "--seed", "9"]).status.code(), Some(0));
    let first = document(&room, "s/sweep.json");
    assert_eq!(swept(&room, &["--set", "A=1,2", "--repeat", "3"]).status.code(), Some(0));
    let more = document(&room, "s/sweep.json");
    let runs = |sweep: &Value| sweep["runs"].as_array().unwrap().clone();
    assert_eq!((seen(&room).len(), &runs(&more)[..2]), (6, &runs(&first)[..]));

    let before = std::fs::read(room.path().join("s/sweep.json")).unwrap();
    for (arguments, differs) in [
        (&["--set", "A=1,3", "--repeat", "3"][..], "configuration 2 there is `A=2`, and here `A=3`"),
        (&["--set", "A=1,2", "--repeat", "2"], "--repeat there is 3, and here 2"),
        (&["--set", "A=1,2", "--repeat", "3", "--seed", "8"], "--seed there is 9, and here 8"),
        (&["--set", "A=1,2", "--repeat", "3", "-n", "2"], "-n there is not given, and here 2"),
    ] {
        let output = swept(&room, arguments);
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(differs), "{said}");
    }
    let output = plain(&room, &["--no-clock", "--out", "s", "--set", "A=1,2", "--repeat", "3", "--", "true"]);
    assert!(
        output.status.code() == Some(2) && text(&output.stderr).contains("the command there is"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(std::fs::read(room.path().join("s/sweep.json")).unwrap(), before);
    room.file("other/notes", "");
    let output = plain(&room, &["--out", "other", "--set", "A=1,2", "--", "true"]);
    assert!(output.status.code() == Some(1) && text(&output.stderr).contains("contains notes but no sweep.json"));
    room.file("damaged/sweep.json", "{\"schema\": 1,");
    let output = plain(&room, &["--resume", "damaged"]);
    assert!(text(&output.stderr).contains("damaged: damaged at line 1"), "{}", text(&output.stderr));
}

#[test]
fn the_same_command_finds_its_sweep_without_a_directory() {
    let room = Room::new();
    let arguments = ["--no-clock", "--set", "A=1,2", "--", "sh", "-c", JOB];
    assert_eq!(plain(&room, &arguments).status.code(), Some(0));
    assert_eq!(plain(&room, &arguments).status.code(), Some(0));
    assert_eq!(seen(&room).len(), 2, "the second time nothing is left to run");
    assert_eq!(std::fs::read_dir(room.path().join("sweeps")).unwrap().count(), 1);
}

#[test]
fn ranks_see_the_configuration_and_a_warm_up_is_not_compared() {
    let room = Room::new();
    let output = swept(&room, &["-n", "2", "--set", "A=1,2", "--warm-up", "--set", "PYTHONPATH=/here", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let sweep: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(seen(&room).len(), 6, "{:?}", seen(&room));
    assert_eq!(each(&sweep, "traces"), [2, 2]);
    assert_eq!((&sweep["warm_ups"][0]["path"], &sweep["warm_ups"][0]["exit_code"]), (&json!("warm-up/1"), &json!(0)));
    assert_eq!(document(&room, "s/warm-up/1/run.json")["sweep"]["warm_up"], true);
    assert!(!sweep["compare"].to_string().contains("warm-up"), "{}", sweep["compare"]);
}

#[test]
fn what_a_rank_may_not_see_and_what_distorts_is_said() {
    let room = Room::new();
    let mut command = command(&["sweep", "--dry-run", "--set", "A=1,2", "--base", "--", "env", "A=3", "true"]);
    command.current_dir(room.path()).env("A", "7").env("HIP_LAUNCH_BLOCKING", "1");
    let said = text(&ended(command.stdout(Stdio::piped()).spawn().unwrap()).stdout);
    for expected in
        ["A is `7` in your environment, and so it is in base", "seems to set A itself", "HIP_LAUNCH_BLOCKING is `1`"]
    {
        assert!(said.contains(expected), "{said}");
    }
    let preset = plain(&room, &["--dry-run", "--preset", "rccl-warp-speed:56x256,37x384", "--", "true"]);
    let said = text(&preset.stdout);
    assert!(said.contains("56cu_256threads/rep1  HSA_ENABLE_SDMA=0 RCCL_THREADS_PER_BLOCK=256"), "{said}");
    assert!(!said.contains("SERIALIZE") && !said.contains("BLOCKING"), "{said}");
}

#[test]
fn what_means_nothing_is_used_wrongly() {
    let room = Room::new();
    for (arguments, expected) in [
        (&["--", "true"][..], "nothing to vary"),
        (&["--set", "A=1,,2", "--", "true"], "one of the values is empty"),
        (&["--set", "A=1", "--set", "A=2", "--", "true"], "A is set twice"),
        (&["--set", "A=1", "--case", "x:A=2", "--case", "x:A=3", "--", "true"], "two configurations are called x"),
        (&["--set", "RANKSCOPE_RUN_DIR=x", "--", "true"], "rankscope sets this variable"),
        (&["--preset", "none:1x2", "--", "true"], "no such preset"),
        (&["--set", "A=1", "-n", "2", "--", "torchrun", "x.py"], "torchrun starts its own processes"),
        (
            &["--set", "A=1", "--", "torchrun", "--nnodes=2", "--node-rank=0", "--master-addr=a", "x.py"],
            "a sweep is one process",
        ),
        (&["--resume", "nowhere"], "no sweep to go on with"),
    ] {
        let output = plain(&room, arguments);
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(expected), "{arguments:?}: {said}");
    }
}
