//! Real frameworks under `rankscope run`, one command each, from the job to the report. They are large, so this is done where
//! RANKSCOPE_TORCH_PYTHON or RANKSCOPE_JAX_PYTHON names an interpreter that has one.
#![cfg(all(target_os = "linux", feature = "clock"))]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::path::Path;
use std::process::Stdio;

use crate::common::assert_answers_add_up;
use crate::process::{Room, ended, text};
use rankscope_testkit::{Need, given};
use serde_json::Value;

const TORCH_JOB: &str = r#"
import sys, torch, torch.distributed as dist
from torch.profiler import profile, ProfilerActivity, schedule, tensorboard_trace_handler
dist.init_process_group("gloo")
torch.set_num_threads(1)
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=3),
             on_trace_ready=tensorboard_trace_handler("logs", use_gzip=True)) as p:
    for step in range(5):
        x = torch.ones(2000) * dist.get_rank()
        (torch.ones(200, 200) @ torch.ones(200, 200)).sum()
        dist.all_reduce(x)
        p.step()
dist.destroy_process_group()
"#;

const JAX_JOB: &str = r#"
import os, sys
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_cpu_collectives_implementation", "gloo")
rank = int(os.environ["RANK"])
jax.distributed.initialize("127.0.0.1:" + os.environ["MASTER_PORT"], int(os.environ["WORLD_SIZE"]), rank)
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()), ("x",))
sharding = NamedSharding(mesh, P("x"))
a = jax.make_array_from_callback((1024,), sharding, lambda i: np.ones(1024, np.float32)[i])
total = jax.jit(lambda a: (a * a).sum())
total(a).block_until_ready()
with jax.profiler.trace("logs%d" % rank):
    for step in range(5):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            total(a).block_until_ready()
"#;

/// Runs a job to its report, and returns the run's document and the report.
fn reported(room: &Room, arguments: &[&str]) -> (Value, Value) {
    let mut command = room.command(&[&["--format", "json"], arguments].concat());
    command.env("OMP_NUM_THREADS", "1");
    let output = ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let run: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(run["problem"], Value::Null, "{run}");
    let report = std::fs::read(room.path().join("run/report/report.json")).unwrap();
    (run, serde_json::from_slice(&report).unwrap())
}

fn check(room: &Room, raw: &[&str], (run, report): &(Value, Value)) {
    assert_eq!(room.names("raw"), raw);
    assert_eq!((&run["traces"], report["ranks"].as_array().map(Vec::len)), (&raw.len().into(), Some(raw.len())), "{run}");
    assert!(report["collectives"]["matched"].as_u64().is_some_and(|matched| matched > 0), "{}", report["collectives"]);
    for named in ["report", "timeline"] {
        assert!(run[named].as_str().is_some_and(|path| Path::new(path).is_file()), "{named} in {run}");
    }
    assert!(room.names("clock").contains(&"snapshots-node0.jsonl".to_owned()), "{:?}", room.names("clock"));
    let manifest = room.manifest();
    assert_eq!(manifest["ranks"].as_array().map(Vec::len), Some(raw.len()), "{manifest}");
    assert_eq!(manifest["state"], "finished");
}

#[test]
fn torch_under_torchrun() {
    let Some(python) = given(Need::Torch) else { return };
    let python = python.display().to_string();
    let room = Room::new();
    let job = room.file("train.py", TORCH_JOB).display().to_string();
    let launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"];
    let found = reported(&room, &[&["--", &python], &launcher[..], &[&job]].concat());
    check(&room, &["rank-0.json.gz", "rank-1.json.gz"], &found);
    assert_eq!(room.manifest()["world_size"], 2);
}

/// A job that knows no profiler.
const PLAIN_JOB: &str = r#"
import torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 8)))
optimizer = torch.optim.AdamW(model.parameters())
for step in range(8):
    model(torch.randn(16, 64)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
"#;

#[test]
fn torch_that_knows_no_profiler() {
    let Some(python) = given(Need::Torch) else { return };
    let python = python.display().to_string();
    let room = Room::new();
    let job = room.file("plain.py", PLAIN_JOB).display().to_string();
    let launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "4"];
    let found = reported(&room, &[&["--profile", "steps=2@3", "--", &python], &launcher[..], &[&job]].concat());
    check(&room, &["rank-0.json", "rank-1.json", "rank-2.json", "rank-3.json"], &found);
    for rank in 0..4 {
        let trace = std::fs::read_to_string(room.path().join(format!("run/raw/rank-{rank}.json"))).unwrap();
        let steps: Vec<u32> = (0..9).filter(|step| trace.contains(&format!("\"ProfilerStep#{step}\""))).collect();
        assert_eq!(steps, [3, 4], "rank {rank}");
    }
    let kept = room.manifest()["attempts"][0]["profiled"][0]["ranks"].clone();
    assert_eq!(kept, serde_json::json!([0, 1, 2, 3]));
}

/// The example's job, of four ranks, with the third made slow in each of its ways.
#[test]
fn torch_with_a_slow_rank() {
    let Some(python) = given(Need::Torch) else { return };
    let python = python.display().to_string();
    let job = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/slow-rank/ddp.py").display().to_string();
    let works_longer = ["straggler_rank", "uneven_work"];
    // Sleeping is the loader's; the operator that stands for more work is the one with most of it.
    for (because, rules, reason) in [
        ("sleep", &["data_loader"][..], "data_loading"),
        ("batch", &works_longer, "aten::"),
        ("matmul", &works_longer, "aten::mm"),
    ] {
        let room = Room::new();
        let launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "4"];
        let arguments = [job.as_str(), "traces", "--because", because, "--slow-rank", "2"];
        let (_, report) = reported(&room, &[&["--", &python], &launcher[..], &arguments].concat());
        assert_eq!(report["ranks"].as_array().map(Vec::len), Some(4), "{because}");
        assert_eq!(report["verdict"]["late"][0]["rank"], 2, "{because}: {}", report["verdict"]);
        let first = &report["advice"][0];
        let title = first["title"].as_str().unwrap_or_default();
        assert!(rules.iter().any(|rule| first["rule"] == *rule) && title.contains(reason), "{because}: {first}");
        assert_eq!(first["ranks"], serde_json::json!([2]), "{because}: {first}");
        assert_answers_add_up(&report);
    }
}

#[test]
fn jax_that_only_marks_its_steps() {
    let Some(python) = given(Need::Jax) else { return };
    let python = python.display().to_string();
    let room = Room::new();
    let plain = JAX_JOB.replace("with jax.profiler.trace(\"logs%d\" % rank):", "if True:");
    assert_ne!(plain, JAX_JOB);
    let job = room.file("plain.py", &plain).display().to_string();
    let found = reported(&room, &["-n", "2", "--profile", "steps=2@2", "--", &python, &job]);
    check(&room, &["rank-0.xplane.pb", "rank-1.xplane.pb"], &found);
}

#[test]
fn jax_in_two_processes() {
    let Some(python) = given(Need::Jax) else { return };
    let python = python.display().to_string();
    let room = Room::new();
    let job = room.file("train.py", JAX_JOB).display().to_string();
    let found = reported(&room, &["-n", "2", "--", &python, &job]);
    check(&room, &["rank-0.xplane.pb", "rank-1.xplane.pb"], &found);
}
