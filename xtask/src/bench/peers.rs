//! The other tools people use on such traces, on the same inputs, as children measured the same way.
//!
//! Each is run as its users run it, through the python the environment names. One that is not there is left out, and stderr
//! says why. Beware of names: AMD's TraceLens is installed from its repository; `tracelens` on PyPI is another project.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::child::{self, Cost};
use super::inputs::Input;

/// What each of `peers` that is installed, and succeeds, takes for `input`.
pub(crate) fn measure(peers: &[Peer], input: &Input, folder: &Path) -> Result<BTreeMap<&'static str, Cost>> {
    let mut costs = BTreeMap::new();
    for peer in peers {
        match cost(peer, input, folder)? {
            Ok(cost) => {
                costs.insert(peer.name, cost);
            }
            Err(reason) => eprintln!("{} left out for {}: {reason}", peer.name, input.name),
        }
    }
    Ok(costs)
}

/// A program that people use on such traces.
pub(crate) struct Peer {
    name: &'static str,
    /// Environment variable that names its python.
    variable: &'static str,
    /// What that python must be able to import.
    module: &'static str,
    command: fn(&Path, &Input, &Path) -> Command,
}

/// Those that report on where time goes.
pub(crate) const REPORTS: [Peer; 2] = [TRACELENS, HTA];

/// The same for tables of operators and kernels: TraceLens makes them in any case.
pub(crate) const TABLES: [Peer; 2] = [TRACELENS, Peer { command: hta_tables, ..HTA }];

/// Those that compare two runs, whose traces are given one run after the other: HTA says how often and how long each operator and kernel
/// ran in the first step of both.
pub(crate) const COMPARISONS: [Peer; 1] = [Peer { module: "hta.trace_diff", command: hta_difference, ..HTA }];

const TRACELENS: Peer =
    Peer { name: "tracelens", variable: "RANKSCOPE_PEERS_TRACELENS", module: "TraceLens.PerfModel", command: tracelens };
const HTA: Peer = Peer { name: "hta", variable: "RANKSCOPE_PEERS_HTA", module: "hta.trace_analysis", command: hta };

fn cost(peer: &Peer, input: &Input, folder: &Path) -> Result<Result<Cost, String>> {
    let Some(python) = std::env::var_os(peer.variable).map(PathBuf::from) else {
        return Ok(Err(format!("{} is not set", peer.variable)));
    };
    let import = format!("import {}", peer.module);
    let probe = Command::new(&python).args(["-c", &import]).output();
    match probe {
        Err(error) => return Ok(Err(format!("{}: {error}", python.display()))),
        Ok(output) if !output.status.success() => {
            return Ok(Err(format!("{} cannot `{import}`", python.display())));
        }
        Ok(_) => {}
    }
    let out = folder.join(peer.name);
    fs::create_dir_all(&out).with_context(|| format!("failed to create {}", out.display()))?;
    let log = out.join("log");
    let mut command = (peer.command)(&python, input, &out);
    command.stdout(File::create(&log)?).stderr(File::options().append(true).open(&log)?);
    let (cost, code) = child::run(&mut command)?;
    Ok(if code == 0 { Ok(cost) } else { Err(format!("exit code {code}; see {}", log.display())) })
}

/// One rank: its performance report. Several: its collective report, the one of its commands that takes them together.
fn tracelens(python: &Path, input: &Input, out: &Path) -> Command {
    let beside = |name: &str| python.with_file_name(name);
    if let [trace] = &input.ranks[..] {
        let mut command = Command::new(beside("TraceLens_generate_perf_report_pytorch"));
        command.arg("--profile_json_path").arg(trace).arg("--output_csvs_dir").arg(out.join("csv"));
        return command;
    }
    let mut command = Command::new(beside("TraceLens_generate_multi_rank_collective_report_pytorch"));
    command.arg("--trace_pattern").arg(input.path.join("rank*.json.gz"));
    command.arg("--world_size").arg(input.ranks.len().to_string()).arg("--output_csvs_dir").arg(out.join("csv"));
    command
}

/// What HTA offers of the same answers: breakdown by kind, by kernel, and overlap of communication with computation.
fn hta(python: &Path, input: &Input, _: &Path) -> Command {
    hta_script(python, input, HTA_REPORT)
}

/// Its analyses of kernels, launches, queues, copies and annotations, too.
fn hta_tables(python: &Path, input: &Input, _: &Path) -> Command {
    hta_script(python, input, &format!("{HTA_REPORT}{HTA_TABLES}"))
}

fn hta_difference(python: &Path, input: &Input, _: &Path) -> Command {
    hta_script(python, input, HTA_DIFFERENCE)
}

fn hta_script(python: &Path, input: &Input, script: &str) -> Command {
    let mut command = Command::new(python);
    command.arg("-c").arg(script).args(&input.ranks);
    command
}

const HTA_REPORT: &str = r#"
import sys
from hta.trace_analysis import TraceAnalysis

if __name__ == "__main__":
    files = dict(enumerate(sys.argv[1:]))
    analysis = TraceAnalysis(trace_files=files, trace_dir="/")
    print(analysis.get_temporal_breakdown(visualize=False))
    print(analysis.get_gpu_kernel_breakdown(visualize=False))
    print(analysis.get_comm_comp_overlap(visualize=False))
"#;

const HTA_TABLES: &str = r#"
    print(analysis.get_idle_time_breakdown(ranks=list(files), visualize=False))
    print(analysis.get_cuda_kernel_launch_stats(ranks=list(files), visualize=False))
    print(analysis.get_queue_length_summary(ranks=list(files)))
    print(analysis.get_memory_bw_summary(ranks=list(files)))
"#;

const HTA_DIFFERENCE: &str = r#"
import sys
from hta.common.trace import Trace
from hta.trace_diff import LabeledTrace, TraceDiff

if __name__ == "__main__":
    half = (len(sys.argv) - 1) // 2
    sides = [dict(enumerate(files)) for files in (sys.argv[1 : 1 + half], sys.argv[1 + half :])]
    base, test = (LabeledTrace(label, Trace(trace_files=files, trace_dir="/")) for label, files in zip(("base", "test"), sides))
    ranks = list(range(half))
    print(TraceDiff.compare_traces(base, test, control_rank=ranks, test_rank=ranks))
"#;
