//! `cargo xtask rig`: real agents in network namespaces, with real queueing, clocks that are wrong in a known way, and faults.
//!
//! Every node is a namespace, all join a bridge whose ports towards the nodes are shaped by token buckets, and bursts of cross
//! traffic make the queues. All processes read one kernel clock; each agent bends it by a `SimClock`, so the truth of every
//! estimate is known to the nanosecond. Needs Linux, `ip`, `tc`, `nft` for faults, and either root or unprivileged user
//! namespaces; where something is missing it says what.

mod agents;
mod chrony;
mod fault;
mod judge;
mod network;
mod tools;
pub(crate) mod traffic;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::cargo;
use agents::Agents;
use fault::Fault;
use network::Network;

/// Options of `cargo xtask rig`.
#[derive(Clone, clap::Args)]
pub(crate) struct Args {
    /// How many agents, each in a namespace of its own.
    #[arg(long, default_value_t = 2)]
    nodes: u32,
    /// Cross traffic towards every node, as a part of the shaped rate.
    #[arg(long, default_value_t = 0.0)]
    load: f64,
    /// Shaped rate towards every node.
    #[arg(long, default_value_t = 100)]
    rate_mbit: u32,
    /// How long the agents run.
    #[arg(long, default_value_t = 26)]
    seconds: u64,
    /// Something to break after a third of the time.
    #[arg(long, value_enum, default_value_t = Fault::None)]
    fault: Fault,
    /// Instead of agents alone, run `rankscope demo` with a rank and an agent on every node: how far events are from the truth.
    #[arg(long)]
    demo: bool,
    /// Run chrony between nodes 0 and 1 at the same time, and judge it too.
    #[arg(long)]
    chrony: bool,
    /// Chooses clocks and traffic.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Further settings for every agent, as `key=value`.
    #[arg(long = "set")]
    settings: Vec<String>,
    /// `json` for one document on stdout.
    #[arg(long, default_value = "table")]
    format: String,
    /// Run this program instead of building target/release/rankscope.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Where the agents write; a new folder below the target directory by default.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Set by the rig for itself, once it has its namespaces.
    #[arg(long, hide = true)]
    inside: bool,
}

/// Runs the rig, in namespaces of its own.
pub(crate) fn run(args: &Args) -> Result<()> {
    if args.inside {
        return inside(args);
    }
    if args.nodes < 2 || args.nodes > 200 {
        bail!("--nodes must be from 2 to 200");
    }
    let more: Vec<&str> = args.fault.tool().into_iter().chain(args.chrony.then_some("chronyd")).collect();
    tools::check(&std::env::var_os("PATH").unwrap_or_default(), &more)?;
    let target = cargo::metadata()?.target_directory;
    let binary = match &args.binary {
        Some(binary) => binary.clone(),
        None => cargo::release_binary(&target)?,
    };
    let out = args.out.clone().unwrap_or_else(|| target.join("rig"));
    let myself = std::env::current_exe().context("failed to find this program")?;
    // Not root: a user namespace makes us root over the others that we create.
    let flags = if network::is_root() { "-nm" } else { "-Urnm" };
    let mut command = Command::new("unshare");
    command.arg(flags).arg("--").arg(myself).args(["rig", "--inside"]).args(["--format", &args.format]);
    command.arg("--binary").arg(binary).arg("--out").arg(out);
    for (flag, value) in [
        ("--nodes", args.nodes.to_string()),
        ("--load", args.load.to_string()),
        ("--rate-mbit", args.rate_mbit.to_string()),
        ("--seconds", args.seconds.to_string()),
        ("--fault", args.fault.name().to_owned()),
        ("--seed", args.seed.to_string()),
    ] {
        command.args([flag, &value]);
    }
    command.args(args.chrony.then_some("--chrony"));
    command.args(args.demo.then_some("--demo"));
    command.args(args.settings.iter().flat_map(|setting| ["--set", setting]));
    let status = command.status().context("failed to start unshare (util-linux)")?;
    if !status.success() {
        bail!("the rig failed ({status}); without root it needs unprivileged user namespaces: try `unshare -Urnm true`");
    }
    Ok(())
}

fn inside(args: &Args) -> Result<()> {
    let (Some(binary), Some(out)) = (&args.binary, &args.out) else { bail!("--inside is not for people") };
    let network = Network::build(args.nodes, args.rate_mbit)?;
    args.fault.try_out()?;
    let traffic = traffic::start(&network, args.load, args.rate_mbit, args.seed)?;
    if args.demo {
        return demo(args, &network, binary, out);
    }
    let mut agents = Agents::start(&network, binary, out, args.seed, &args.settings)?;
    let third = Duration::from_secs(args.seconds) / 3;
    let chrony = args.chrony.then(|| chrony::Chrony::start(out)).transpose()?;
    sleep(third);
    args.fault.strike(&network, &mut agents)?;
    sleep(third);
    args.fault.mend(&network, &mut agents)?;
    sleep(third);
    let costs = agents.costs()?;
    let stopping = Instant::now();
    agents.stop()?;
    let stop_seconds = stopping.elapsed().as_secs_f64();
    drop(traffic);
    let chrony_ns = chrony.map(|chrony| chrony.errors_ns()).transpose()?;
    let verdict = judge::judge(&agents, &costs, stop_seconds, chrony_ns)?;
    judge::print(&verdict, args.format == "json")
}

/// The product's own demo, with the network between its hosts; it prints its own verdict.
fn demo(args: &Args, network: &Network, binary: &Path, out: &Path) -> Result<()> {
    let mut command = Command::new(binary);
    command.args(["demo", "--ranks", &network.nodes.to_string(), "--seed", &args.seed.to_string()]);
    command.args(["--seconds", &args.seconds.to_string(), "--format", &args.format]).arg("--out").arg(out.join("demo"));
    for node in 0..network.nodes {
        command.args(["--host", &format!("node{node},eth0,{}", Network::address(node))]);
    }
    let status = command.status().with_context(|| format!("failed to start {}", binary.display()))?;
    if !status.success() {
        bail!("the demo failed ({status})");
    }
    Ok(())
}
