//! torchrun: one on each node, told by flags or by `PET_*` how many nodes there are and where its own store is.
//!
//! With the `c10d` rendezvous it numbers nodes only once they have met; then a number must come from elsewhere.

use rankscope_clock::NodeId;

use super::{Agents, Env, Flags, JobCommand, LaunchError, Launcher, World, launch};
use crate::launch::derived_port;
use crate::rendezvous::Place;

/// Flags of torchrun that take no value.
const SWITCHES: [&str; 9] = [
    "--standalone",
    "--no-python",
    "--module",
    "--run-path",
    "--use-env",
    "--virtual-local-rank",
    "--duplicate-stdout-filters-off",
    "-m",
    "-h",
];

/// Where the flags begin, if the words are `python -m torch.distributed.run`.
pub(super) fn module(words: &[String]) -> Option<usize> {
    let at = words.iter().position(|word| word == "-m")?;
    let launches = |name: &String| ["torch.distributed.run", "torch.distributed.launch"].contains(&name.as_str());
    let before_is_flags = words[1..at].iter().all(|word| word.starts_with('-'));
    (before_is_flags && words.get(at + 1).is_some_and(launches)).then_some(at + 2)
}

pub(super) fn torchrun(words: &[String], from: usize, world: &World<'_>, env: &Env<'_>) -> Result<JobCommand, LaunchError> {
    let flags = Flags::of(words, from, |flag| usize::from(!SWITCHES.contains(&flag.replace('_', "-").as_str())));
    let said = |names: &[&str], variable| flags.value(names).map(str::to_owned).or_else(|| env.text(variable));
    let standalone = flags.has(&["--standalone"]) || env.text("PET_STANDALONE").is_some_and(|value| value == "1");
    let nodes = said(&["--nnodes"], "PET_NNODES").filter(|_| !standalone).unwrap_or_else(|| "1".to_owned());
    let each = said(&["--nproc-per-node"], "PET_NPROC_PER_NODE").unwrap_or_else(|| "1".to_owned());
    let nodes = fixed(&nodes);
    let endpoint = said(&["--rdzv-endpoint"], "PET_RDZV_ENDPOINT").filter(|endpoint| !endpoint.is_empty());
    let (host, port) = match &endpoint {
        Some(endpoint) => host_and_port(endpoint),
        None => (said(&["--master-addr"], "PET_MASTER_ADDR"), said(&["--master-port"], "PET_MASTER_PORT")),
    };
    let taken = port.and_then(|port| port.parse().ok());
    let job = said(&["--rdzv-id"], "PET_RDZV_ID").filter(|id| id != "none").or_else(|| env.text("SLURM_JOB_ID"));
    let node = match said(&["--node-rank"], "PET_NODE_RANK").and_then(|node| node.parse().ok()) {
        Some(node) => Some(node),
        // A launcher of launchers, one torchrun a node, numbers the nodes just as well.
        None => launch(world.variable).ok().filter(|outer| Some(outer.num_nodes) == nodes).map(|outer| outer.node.0),
    };
    let key = job.clone().or_else(|| taken.map(|port: u16| format!("torch-{port}"))).unwrap_or_else(|| "torch".to_owned());
    let agents = match (nodes, node, host) {
        (Some(0 | 1), _, _) => Agents::ALONE,
        (None, _, _) => Agents::impossible("torchrun may change the number of nodes while the job runs (--nnodes=MIN:MAX)"),
        (Some(num_nodes), Some(node), Some(host)) if node < num_nodes => {
            let place = Some(Place::Tcp { host, port: derived_port(&key, taken) });
            Agents::Here { node: NodeId(node), num_nodes, local_rank: 0, place }
        }
        (_, Some(_), Some(_)) => Agents::impossible("--node-rank must be less than --nnodes"),
        (_, None, _) => Agents::impossible(
            "torchrun numbers nodes only at its rendezvous; give each its --node-rank, or set RANKSCOPE_RANK and \
             RANKSCOPE_WORLD_SIZE (both in nodes)",
        ),
        (_, _, None) => Agents::impossible("torchrun was given no rendezvous host (--rdzv-endpoint or --master-addr)"),
    };
    let ranks = nodes.and_then(|nodes| each.parse::<u32>().ok()?.checked_mul(nodes));
    Ok(JobCommand { launcher: Launcher::Torchrun, ranks, job, program: flags.program, agents })
}

/// The number of nodes; none if it may change.
fn fixed(nodes: &str) -> Option<u32> {
    match nodes.split_once(':') {
        Some((min, max)) if min == max => min.parse().ok(),
        Some(_) => None,
        None => nodes.parse().ok(),
    }
}

fn host_and_port(endpoint: &str) -> (Option<String>, Option<String>) {
    let (host, port) = match endpoint.rsplit_once(':') {
        Some((host, port)) if !host.ends_with(':') => (host, Some(port.to_owned())),
        _ => (endpoint, None),
    };
    (Some(host.trim_matches(['[', ']']).to_owned()), port)
}
