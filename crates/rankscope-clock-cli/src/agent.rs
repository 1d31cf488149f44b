//! `rankscope agent`: the clock agent of one node, when something else starts the job. Its arguments, and what it prints;
//! `rankscope-launch` meets the other nodes, `rankscope-probe` measures.

use std::time::Duration;

use anyhow::Result;
use rankscope_cli::ExitCode;
use rankscope_cli::output;
use rankscope_cli::settings::{SettingsArgs, clock_settings};
use rankscope_launch::agent::{self, AgentRequest, Progress};

use crate::words;

/// Measure this node's clock while a job runs (one agent per node).
///
/// Runs until a signal stops it. The number of this node, the number of nodes and the rendezvous come from flags, settings or the
/// launcher (torchrun, srun, mpirun, a Kubernetes job). Windows are appended to windows-nodeK.jsonl as they close; the leading
/// node also appends the clocks of all nodes to offsets.jsonl.
///
/// Nodes on different hosts need a shared key, in RANKSCOPE_KEY or in the file that the setting key-file names.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of this node, from 0
    #[arg(long, alias = "node-id", alias = "node_id")]
    rank: Option<u32>,
    /// Number of nodes
    #[arg(long, alias = "num_nodes")]
    num_nodes: Option<u32>,
    /// Rendezvous of the nodes: tcp://HOST:PORT (node 0 hosts it), file:///SHARED/FOLDER, etcd://HOST:PORT or torch://HOST:PORT (TCPStore of torch)
    #[arg(long, value_name = "PLACE")]
    rendezvous: Option<String>,
    /// Folder for windows and offsets
    #[arg(long, short, value_name = "DIR")]
    out: Option<String>,
    /// Stop after this many seconds
    #[arg(long, alias = "duration_sec", value_name = "SECONDS")]
    duration_sec: Option<u64>,
    /// Run without a key even though other hosts can reach this node
    #[arg(long)]
    insecure: bool,
    /// Be the daemon that torch's processes on this host ask whether to profile (KINETO_USE_DAEMON=1), for `rankscope trigger --in`
    #[arg(long)]
    on_demand: bool,
    /// Leave minutes-nodeK.json behind also after a clean end: whoever started this agent removes it
    #[arg(long, hide = true)]
    keep_minutes: bool,
    /// Say in the run directory which of its ranks are on this host while they run: whoever started this agent does not see them
    #[arg(long, hide = true)]
    tell_ranks: bool,
    #[command(flatten)]
    from: SettingsArgs,
}

/// Measures until it is stopped.
///
/// # Errors
/// Settings that leave nothing to measure, and a rendezvous that does not come about.
pub fn run(args: Args) -> Result<ExitCode> {
    let flags = [
        ("rank", args.rank.map(|rank| rank.to_string())),
        ("num-nodes", args.num_nodes.map(|nodes| nodes.to_string())),
        ("output-dir", args.out),
        ("insecure", args.insecure.then(|| "true".to_owned())),
    ];
    let request = AgentRequest {
        settings: clock_settings(args.from, flags)?,
        rendezvous: args.rendezvous,
        duration: args.duration_sec.map(Duration::from_secs),
        keep_minutes: args.keep_minutes,
        on_demand: args.on_demand,
        tell_ranks: args.tell_ranks,
    };
    agent::run(request, &mut say)?;
    Ok(ExitCode::SUCCESS)
}

fn say(progress: Progress<'_>) {
    if let Some(line) = words::line(&progress) {
        output::remark(&line);
    }
}
