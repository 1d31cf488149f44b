//! The rows that need real agents: runs of `cargo xtask rig`, each in a process of its own.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::row::{Row, rounded};
use crate::cargo;

const ACCURACY_GOAL: &str = "error p99 <= 80 ns, max <= 150 ns; every bound holds";
const FAULT_GOAL: &str = "survivors write every window, none stalls for more than one; every bound holds";
const COST_GOAL: &str = "at most 1 % of a core and 1 Mbit/s";

/// G7, G11, and the accuracy of real agents with chrony beside them where there are two.
pub(super) fn rows(binary: Option<&Path>) -> Result<Vec<Row>> {
    let built;
    let binary = match binary {
        Some(binary) => binary,
        None => {
            built = cargo::release_binary(&cargo::metadata()?.target_directory)?;
            &built
        }
    };
    let idle = verdict(binary, &["--nodes", "2", "--load", "0", "--chrony"]);
    let loaded = verdict(binary, &["--nodes", "2", "--load", "0.8", "--chrony"]);
    let eight = verdict(binary, &["--nodes", "8", "--load", "0.4"]);
    let killed = verdict(binary, &["--nodes", "3", "--fault", "kill-master"]);
    let dropped = verdict(binary, &["--nodes", "3", "--fault", "drop-control"]);
    let row = |id, what: &str, goal| Row::new(id, format!("rig: {what}"), goal);
    Ok(vec![
        measured(row("G1", "2 agents, idle", ACCURACY_GOAL), &idle, accuracy),
        measured(row("G1", "2 agents, 80 % load", ACCURACY_GOAL), &loaded, accuracy),
        measured(row("G3", "8 agents, 40 % load", ACCURACY_GOAL), &eight, accuracy),
        measured(row("G7", "master killed with -9", FAULT_GOAL), &killed, |row, verdict| fault(row, verdict, 1)),
        measured(row("G7", "30 % of control packets dropped", FAULT_GOAL), &dropped, |row, verdict| fault(row, verdict, 0)),
        measured(row("G11", "2 agents, idle", COST_GOAL), &idle, cost),
    ])
}

/// A rig that cannot run here makes a row without figures, not the end of the table.
fn measured(row: Row, verdict: &Result<Value>, judge: impl Fn(Row, &Value) -> Row) -> Row {
    match verdict {
        Ok(verdict) => judge(row, verdict),
        Err(error) => row.skipped(format!("{error:#}")),
    }
}

fn verdict(binary: &Path, args: &[&str]) -> Result<Value> {
    eprintln!("running the rig: {}", args.join(" "));
    let mut command = Command::new(crate::cargo::myself()?);
    command.args(["rig", "--format", "json"]).args(args).arg("--binary").arg(binary).stderr(Stdio::inherit());
    let output = command.output().context("failed to start the rig")?;
    if !output.status.success() {
        bail!("the rig failed ({})", output.status);
    }
    serde_json::from_slice(&output.stdout).context("the rig's verdict is no JSON")
}

fn accuracy(row: Row, verdict: &Value) -> Row {
    let error_ns = &verdict["error_ns"];
    let within = |value: &Value, most| value.as_i64().is_some_and(|value| value <= most);
    let row = row
        .figure("rounds", verdict["rounds"].clone())
        .figure("p50_ns", error_ns["p50"].clone())
        .figure("p99_ns", error_ns["p99"].clone())
        .figure("max_ns", error_ns["max"].clone())
        .figure("mean_ns", verdict["bias_ns"].clone())
        .figure("coverage", verdict["bound_coverage"].clone())
        .figure("width_p50_ns", verdict["bound_width_ns"]["p50"].clone())
        .holds(within(&error_ns["p99"], 80) && within(&error_ns["max"], 150) && verdict["bound_coverage"] == 1.0);
    match &verdict["chrony_error_ns"] {
        Value::Null => row,
        chrony => row.figure("chrony_p50_ns", chrony["p50"].clone()).figure("chrony_p99_ns", chrony["p99"].clone()),
    }
}

/// The first `victims` nodes are not expected to write to the end.
fn fault(row: Row, verdict: &Value, victims: usize) -> Row {
    let windows: Vec<u64> = verdict["windows"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    let survivors = windows.get(victims..).unwrap_or_default();
    let (least, most) = (survivors.iter().min().copied().unwrap_or(0), survivors.iter().max().copied().unwrap_or(0));
    let gap = verdict["longest_gap_windows"].as_f64().unwrap_or(f64::INFINITY);
    row.figure("windows", windows)
        .figure("longest_gap_windows", rounded(gap))
        .figure("rounds", verdict["rounds"].clone())
        .figure("p99_ns", verdict["error_ns"]["p99"].clone())
        .figure("coverage", verdict["bound_coverage"].clone())
        .holds(least > 0 && most - least <= 1 && gap <= 2.0 && verdict["bound_coverage"] == 1.0)
}

fn cost(row: Row, verdict: &Value) -> Row {
    let [cores, bits_per_s, stop_seconds] = ["cores_max", "bits_per_s_max", "stop_seconds"].map(|name| verdict[name].as_f64());
    row.figure("cores", cores.map(rounded))
        .figure("bits_per_s", bits_per_s.map(f64::round))
        .figure("stop_seconds", stop_seconds.map(rounded))
        .holds(cores.is_some_and(|cores| cores <= 0.01) && bits_per_s.is_some_and(|bits| bits <= 1e6))
}
