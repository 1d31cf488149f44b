//! Traces of JAX that hold the host's clocks: they are placed by these, before any file beside them, and the job gets them without a change.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rankscope_pjrt::{About, Anchor, encode};
use rankscope_testkit::{Need, given};
use serde_json::Value;

use crate::common::rankscope;
use crate::map_merge::text;
use crate::process::PROGRAM;

/// What the raw clock is behind the wall clock on each node's host, as the plane of its rank says.
const BEHIND_NS: [i64; 2] = [5_000_000_000, 5_002_000_000];
/// What the files beside the traces say of it instead.
const BESIDE_NS: [i64; 2] = [5_000_000_000, 4_991_000_000];

fn fixture(rank: usize) -> Vec<u8> {
    let path = format!("../../fixtures/jax-cpu-2procs/process{rank}.xplane.pb");
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a fixture")
}

/// Both ranks' traces and the clocks of their nodes, where `first_ns` and `last_ns` are around all events.
fn job(folder: &Path, (first_ns, last_ns): (i64, i64), with_plane: bool) -> PathBuf {
    let clock = folder.join("clock");
    fs::create_dir_all(&clock).expect("made");
    let mut offsets = r#"{"meta":true,"schema":1,"reference":0,"nodes":[{"node_id":0},{"node_id":1}]}"#.to_owned() + "\n";
    for rank in [0_usize, 1] {
        let walls = [first_ns, first_ns.midpoint(last_ns), last_ns];
        let anchors = walls.map(|wall_ns| Anchor { wall_ns, raw_ns: wall_ns - BEHIND_NS[rank], width_ns: 60 });
        let plane = if with_plane { encode(&About::of_rank(rank as u32, 2), &anchors) } else { Vec::new() };
        fs::write(folder.join(format!("rank-{rank}.xplane.pb")), [fixture(rank), plane].concat()).expect("written");
        let header = format!(r#"{{"meta":true,"schema":1,"node_id":{rank},"host_minus_raw_ns":0}}"#) + "\n";
        fs::write(clock.join(format!("windows-node{rank}.jsonl")), &header).expect("written");
        let row = |wall_ns: i64| {
            let host_ns = wall_ns - BESIDE_NS[rank];
            format!(r#"{{"tracer_clock_ns":{wall_ns},"sys_clock_ns":{host_ns},"half_width_ns":50}}"#) + "\n"
        };
        fs::write(clock.join(format!("snapshots-node{rank}.jsonl")), header + &walls.map(row).concat()).expect("written");
        let at_ns = first_ns - BEHIND_NS[0];
        offsets += &format!(
            r#"{{"round_id":1,"window_id":1,"node_id":{rank},"midpoint_sys_ns":{at_ns},"offset_ns":0,"drift_ppm":0.0}}"#
        );
        offsets.push('\n');
    }
    fs::write(clock.join("offsets.jsonl"), offsets).expect("written");
    clock
}

/// How each rank got to the reference, and what rank 1 is ahead of rank 0.
fn aligned(folder: &Path, clock: &Path) -> (Vec<String>, i64) {
    let words = ["align", text(folder), "--clocks", text(clock), "--ranks-per-node", "1", "--format", "json"];
    let output = rankscope(&words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let ranks = document["ranks"].as_array().expect("a list");
    let stage = |rank: &Value| rank["stages"][0].as_str().unwrap_or_default().to_owned();
    let offset = |rank: &Value| rank["offset_ns"].as_i64().expect("a number");
    (ranks.iter().map(stage).collect(), offset(&ranks[1]) - offset(&ranks[0]))
}

#[test]
fn the_plane_in_a_trace_comes_before_any_file_beside_it() {
    // The fixtures were recorded within this second.
    let around_ns = (1_795_213_623_000_000_000, 1_795_213_624_000_000_000);
    for (with_plane, stage, ahead_ns) in
        [(true, "readings", BEHIND_NS[1] - BEHIND_NS[0]), (false, "snapshots", BESIDE_NS[1] - BESIDE_NS[0])]
    {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let clock = job(folder.path(), around_ns, with_plane);
        assert_eq!(aligned(folder.path(), &clock), (vec![stage.to_owned(); 2], ahead_ns));
    }
}

/// The library, as Cargo built it for these tests: of several that it left, the newest.
fn library() -> PathBuf {
    let beside = env::current_exe().expect("a path").parent().expect("a folder").to_owned();
    let paths = fs::read_dir(beside).expect("readable").map(|entry| entry.expect("readable").path());
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("librankscope_pjrt") && name.ends_with(".so")
    };
    let age = |path: &PathBuf| fs::metadata(path).expect("there").modified().expect("a time");
    paths.filter(is_library).max_by_key(age).expect("the library is beside its tests")
}

/// `rankscope run` with the library beside it, in `folder`.
fn run(folder: &Path, words: &[&str]) -> Command {
    let binary = folder.join("rankscope");
    fs::copy(PROGRAM, &binary).expect("copied");
    fs::copy(library(), folder.join("librankscope_pjrt.so")).expect("copied");
    let mut run = Command::new(binary);
    run.args(["run", "--no-clock", "--no-report", "--out", text(&folder.join("run"))]).args(words).current_dir(folder);
    run.env_remove("RANKSCOPE_PJRT_LIBRARY");
    run
}

#[test]
fn a_job_is_told_of_the_library_that_lies_beside_the_binary() {
    for (words, said, told) in [
        (&[][..], None, "librankscope_pjrt.so"),
        (&["--no-hooks"][..], None, ""),
        (&[][..], Some("/mine.so"), "/mine.so"),
        (&[][..], Some(""), ""),
    ] {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let job = ["--", "sh", "-c", "echo \"$RANKSCOPE_PJRT_LIBRARY\""];
        let mut run = run(folder.path(), &[words, &job].concat());
        said.map(|said| run.env("RANKSCOPE_PJRT_LIBRARY", said));
        let output = run.output().expect("runs");
        assert!(output.status.success(), "{output:?}");
        let heard = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        assert!(heard.ends_with(told) && heard.is_empty() == told.is_empty(), "{words:?} {said:?}: {heard}");
    }
}

const JAX_JOB: &str = "
import os, jax, jax.numpy as jnp
with jax.profiler.trace('logs' + os.environ['RANK']):
    jnp.ones(64).sum().block_until_ready()
";

#[test]
fn every_trace_of_a_job_with_jax_has_the_plane_and_its_launchers_rank() {
    let Some(python) = given(Need::Jax) else { return };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let output = run(folder.path(), &["-n", "2", "--", text(&python), "-c", JAX_JOB]).output().expect("runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !errors.contains("come without"), "{errors}");
    for rank in ["0", "1"] {
        let trace = fs::read(folder.path().join(format!("run/raw/rank-{rank}.xplane.pb"))).expect("collected");
        let has = |text: &[u8]| trace.windows(text.len()).filter(|window| *window == text).count();
        assert_eq!((has(b"/rankscope:clock"), has(b"Clock Anchors")), (1, 1), "rank {rank}");
    }
    let output = rankscope(&["report", text(&folder.path().join("run")), "--format", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["clock"]["method"], "one_host", "{}", report["clock"]);
}
