//! Plans predicted, played and held against runs.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{failure, rankscope};
use serde_json::{Value, json};

/// Four ranks; documents over one and over two of them, computed where there is room.
fn plan(folder: &Path) -> String {
    let plan = json!({
        "schema": 1,
        "kind": "rankscope_dispatch_plan",
        "world_size": 4,
        "rows": {"hidden_q": 512, "hidden_kv": 128, "lse": 0, "element_bytes": 2},
        "documents": [
            [[0, 0, 512], [0, 1, 512], [0, 2, 640], [1, 3, 384]],
            [[1, 1, 1024], [1, 0, 256]],
            [[2, 2, 700], [2, 3, 964]],
            [[3, 3, 1664]],
        ],
    });
    let path = folder.join("plan.json");
    fs::write(&path, plan.to_string()).unwrap();
    path.display().to_string()
}

fn answer(args: &[&str]) -> Value {
    let output = rankscope(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn predicted(plan: &str, more: &[&str]) -> Value {
    answer(&[&["dispatch", "predict", plan, "--format", "json"], more].concat())
}

fn sum(list: &Value, key: &str) -> u64 {
    list.as_array().unwrap().iter().map(|one| one[key].as_u64().unwrap()).sum()
}

#[test]
fn a_prediction_accounts_for_every_byte_and_names_what_is_slowest() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path());
    let answer = predicted(&plan, &["--network", "h100-nvlink"]);
    let exchanges = answer["exchanges"].as_array().unwrap();
    let names: Vec<&str> = exchanges.iter().map(|one| one["exchange"].as_str().unwrap()).collect();
    assert_eq!(names, ["forward", "output", "output-gradient", "backward"]);
    for one in exchanges {
        let remote = one["remote_bytes"].as_u64().unwrap();
        assert_eq!((sum(&one["ranks"], "send_bytes"), sum(&one["ranks"], "receive_bytes")), (remote, remote));
        assert_eq!(sum(&one["links"], "bytes"), 2 * remote, "one port sends, one receives");
        let slowest = one["links"].as_array().unwrap().iter().map(|link| link["busy_ns"].as_u64()).max().unwrap();
        assert_eq!(one["total_ns"].as_u64(), slowest);
        assert!(one["bottleneck"].as_str().unwrap().starts_with("rank "), "{one}");
    }
    let total: u64 = exchanges.iter().map(|one| one["total_ns"].as_u64().unwrap()).sum();
    assert_eq!(answer["total_ns"].as_u64(), Some(total));
    // Outputs come back the way queries went.
    assert_eq!(exchanges[1]["total_ns"], exchanges[2]["total_ns"]);
    let table = rankscope(&["dispatch", "predict", &plan]);
    assert!(String::from_utf8_lossy(&table.stdout).contains("because of"));
}

#[test]
fn a_network_is_fitted_written_and_used() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path());
    let mut table = "# Collective test starting: alltoall_perf\n".to_owned();
    for rank in 0..4 {
        table.push_str(&format!("#  Rank  {rank} Group  0 Pid 9 on  box device  {rank} [0x1a] NVIDIA H100\n"));
    }
    table.push_str("# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n");
    for power in 20..30_u32 {
        // 30 us, and 75 GB/s of the buffer: 56.25 GB/s of a port.
        let micros = 30.0 + f64::from(1_u32 << power) / 75_000.0;
        table.push_str(&format!("{} 1 float none -1 {micros:.3} 0 0 0 {micros:.3} 0 0 N/A\n", 1_u64 << power));
    }
    let (measured, network) = (folder.path().join("alltoall.txt"), folder.path().join("network.json"));
    fs::write(&measured, &table).unwrap();
    let (measured, network) = (measured.display().to_string(), network.display().to_string());
    let fit = answer(&["dispatch", "calibrate", &measured, "-o", &network, "--format", "json"]);
    let level = &fit["levels"][0];
    assert_eq!(level["level"], "node");
    assert!((level["bytes_per_second"].as_f64().unwrap() / 56.25e9 - 1.0).abs() < 0.001, "{level}");
    assert!((level["alpha_ns"].as_f64().unwrap() / 10_000.0 - 1.0).abs() < 0.01, "{level}");
    assert!(level["fitted"]["worst"].as_f64().unwrap() < 0.001);
    let written = predicted(&plan, &["--network", &network]);
    let at_once = predicted(&plan, &["--network", "free", "--calibrate", &measured]);
    assert_eq!(written["exchanges"], at_once["exchanges"]);

    fs::write(&measured, table.replace("1048576 1 float none -1 43", "1048576 1 float none -1 x43")).unwrap();
    let said = failure(&["dispatch", "calibrate", &measured]);
    assert!(said.contains("alltoall.txt") && said.contains("line 7"), "{said}");
    let said = failure(&["dispatch", "predict", &plan, "--network", "h200"]);
    assert!(said.contains("h100-ib400"), "{said}");
}

#[test]
fn a_step_is_played_and_its_timeline_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path());
    let timeline = folder.path().join("step.pftrace").display().to_string();
    let played = answer(&[
        "dispatch",
        "simulate",
        &plan,
        "--events",
        "--overlap",
        "--layers",
        "3",
        "--stages",
        "2",
        "--microbatches",
        "3",
        "--timeline",
        &timeline,
        "--format",
        "json",
    ]);
    let makespan = |of: &str| played[of]["makespan_ns"].as_i64().unwrap();
    assert!(makespan("played") <= makespan("without_overlap"));
    let ranks = played["played"]["ranks"].as_array().unwrap();
    assert_eq!(ranks.len(), 8);
    for rank in ranks {
        let parts = ["computation_ns", "copies_ns", "exposed_ns", "idle_ns"];
        assert_eq!(parts.map(|key| rank[key].as_i64().unwrap()).iter().sum::<i64>(), makespan("played"), "{rank}");
    }
    let json = folder.path().join("step.json").display().to_string();
    let converted = rankscope(&["convert", &timeline, &json]);
    assert!(converted.status.success(), "{}", String::from_utf8_lossy(&converted.stderr));
    let events: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let spans = events["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X").count();
    // Nine operations for each rank, stage, microbatch, nano-batch, layer and pass.
    assert_eq!(spans, 9 * 4 * 2 * 3 * 2 * 3 * 2);
    let table = rankscope(&["dispatch", "simulate", &plan, "--events", "--flows"]);
    assert!(String::from_utf8_lossy(&table.stdout).contains("without a plan"));
    let prefix = folder.path().join("chakra/step");
    let words = ["--events", "--stages", "2", "--chakra", &prefix.display().to_string()];
    let written = rankscope(&[&["dispatch", "simulate", &plan], &words[..]].concat());
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    for npu in 0..8 {
        let file = fs::read(folder.path().join(format!("chakra/step.{npu}.et"))).unwrap();
        // The first message of each file is its version.
        assert_eq!(file.get(..8), Some(b"\x07\x0a\x050.0.4".as_slice()), "{npu}");
    }
    assert_eq!(fs::read_dir(folder.path().join("chakra")).unwrap().count(), 8);
}

/// Traces of a job that runs every exchange of `prediction` in `steps` steps on NCCL. Rank 2 comes 3 ms late to everything; what
/// remains then takes `slower` times what was predicted. Lists of splits are cut behind `entries`.
fn write_run(folder: &Path, prediction: &Value, steps: usize, slower: i64, entries: usize) -> PathBuf {
    let run = folder.join("run");
    fs::create_dir_all(&run).unwrap();
    for rank in 0..4_u64 {
        let mut events = Vec::new();
        let mut at_us = 1_000_000_i64;
        for (sequence, one) in prediction["exchanges"].as_array().unwrap().iter().cycle().take(4 * steps).enumerate() {
            let bytes = |end: usize, peer: u64| {
                let other = 1 - end;
                let is = |pair: &&Value| pair[end].as_u64() == Some(rank) && pair[other].as_u64() == Some(peer);
                one["pairs"].as_array().unwrap().iter().find(is).map_or(0, |pair| pair[2].as_u64().unwrap())
            };
            let list = |end: usize| -> Vec<u64> { (0..4).map(|peer| bytes(end, peer)).collect() };
            let text = |list: &[u64]| {
                let shown: Vec<String> = list.iter().take(entries).map(|bytes| (bytes / 2).to_string()).collect();
                format!("[{}{}]", shown.join(", "), if entries < list.len() { ", ..." } else { "" })
            };
            let late_us = if rank == 2 { 0 } else { 3_000 };
            let stay_us = slower * one["total_ns"].as_i64().unwrap() / 1_000 + late_us;
            let (sends, receives) = (list(0), list(1));
            events.push(json!({
                "ph": "X", "cat": "kernel", "name": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
                "pid": 0, "tid": 20, "ts": at_us - late_us, "dur": stay_us,
                "args": {
                    "device": 0, "stream": 20, "correlation": sequence + 1, "Collective name": "all_to_allv", "dtype": "BFloat16",
                    "In msg nelems": sends.iter().sum::<u64>() / 2, "Out msg nelems": receives.iter().sum::<u64>() / 2,
                    "In split size": text(&sends), "Out split size": text(&receives), "Group size": 4,
                    "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1, 2, 3]",
                    "Seq": sequence,
                },
            }));
            at_us += 50_000;
        }
        let trace = json!({
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}],
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 4},
            "traceEvents": events,
        });
        fs::write(run.join(format!("rank{rank}.json")), trace.to_string()).unwrap();
    }
    run
}

fn checked(plan: &str, run: &Path, code: i32) -> Value {
    let run = run.display().to_string();
    let output = rankscope(&["dispatch", "check", plan, "--trace", &run, "--as-recorded", "--format", "json"]);
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_run_is_matched_with_its_plan_and_lateness_is_no_transfer() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path());
    let prediction = predicted(&plan, &[]);
    for entries in [4, 2] {
        let found = checked(&plan, &write_run(folder.path(), &prediction, 3, 2, entries), 0);
        let exchanges = found["exchanges"].as_array().unwrap();
        let names: Vec<&str> = exchanges.iter().map(|one| one["exchange"].as_str().unwrap()).collect();
        assert_eq!(names, ["forward", "output", "output-gradient", "backward"].repeat(3));
        for one in exchanges {
            // Stamps of the trace are whole microseconds.
            let short = one["predicted_ns"].as_f64().unwrap() * 2.0 - one["transfer_ns"].as_f64().unwrap();
            assert!((0.0..=2_000.0).contains(&short), "{one}");
            assert_eq!((&one["arrival_skew_ns"], &one["last_rank"]), (&json!(3_000_000), &json!(2)));
            assert_eq!((&one["counted_ranks"], &one["ranks"][0]["wait_ns"]), (&json!(4), &json!(3_000_000)));
            assert!(!one["links"].as_array().unwrap().is_empty() && one["slowest_pair"].is_array());
        }
    }
}

#[test]
fn counts_that_contradict_the_plan_fail_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path());
    let mut prediction = predicted(&plan, &[]);
    let pair = prediction["exchanges"][0]["pairs"].as_array_mut().unwrap().iter_mut().find(|pair| pair[0] != pair[1]).unwrap();
    pair[2] = json!(pair[2].as_u64().unwrap() + 64);
    let said = checked(&plan, &write_run(folder.path(), &prediction, 1, 1, 4), 3);
    assert_eq!(said["contradicted"], true);
    let told = said["exchanges"][0]["contradictions"][0].as_str().unwrap().to_owned();
    assert!(told.contains("by the plan"), "{told}");
    assert!(said["exchanges"][1]["contradictions"].as_array().unwrap().is_empty());
}

/// A real job, where RANKSCOPE_TORCH_PYTHON names an interpreter with torch: its bytes arrive, and its trace agrees with the plan.
#[test]
fn torch_executes_a_plan_and_its_trace_agrees() {
    let Some(python) = rankscope_testkit::given(rankscope_testkit::Need::Torch) else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path());
    let prediction = folder.path().join("prediction.json");
    fs::write(&prediction, predicted(&plan, &[]).to_string()).unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/dispatch/torch_exchanges.py");
    let output = Command::new(python)
        .args(["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "4"])
        .args([&script, &prediction, &run])
        .env("OMP_NUM_THREADS", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = checked(&plan, &run, 0);
    let exchanges = found["exchanges"].as_array().unwrap();
    assert_eq!(exchanges.len(), 12);
    assert!(exchanges.iter().all(|one| one["counted_ranks"] == 4 && one["transfer_ns"].as_i64().unwrap() > 0), "{found}");
}
