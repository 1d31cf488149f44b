//! torchrun (torch elastic), and launchers that set the same variables for `init_method="env://"`.

use rankscope_clock::NodeId;

use super::env::Env;
use super::{Launch, LaunchError, Source, derived_port};
use crate::rendezvous::Place;

pub(super) fn torchrun(env: &Env<'_>) -> Result<Option<Launch>, LaunchError> {
    // `RANK` alone is a name that many things use.
    let (Some(_), Some(host)) = (env.text("RANK"), env.text("MASTER_ADDR")) else { return Ok(None) };
    let local_rank = env.number("LOCAL_RANK")?.unwrap_or(0);
    if local_rank > 0 {
        env.required("LOCAL_WORLD_SIZE", "LOCAL_RANK")?;
    }
    // A group is a node's processes; where groups are not told, ranks are dealt node by node.
    let by_group = env.text("GROUP_WORLD_SIZE").map_or(Ok(None), |_| env.place_among("GROUP_RANK", "GROUP_WORLD_SIZE"))?;
    let by_rank = match by_group {
        Some(group) => Some(group),
        None => env.node_of(("RANK", "WORLD_SIZE"), "LOCAL_WORLD_SIZE")?,
    };
    let Some((node, num_nodes)) = by_rank else { return Ok(None) };
    if let Some(group) = env.number("GROUP_RANK")?
        && group != node
    {
        return Err(env.conflict(
            "GROUP_RANK",
            "RANK",
            "with the same number of processes on each node, they name different nodes",
        ));
    }
    // The port itself is taken: torch's own store listens there.
    let taken = env.port("MASTER_PORT")?;
    let run_id = match (env.text("TORCHELASTIC_RUN_ID"), taken) {
        (Some(run_id), _) if run_id != "none" => run_id,
        (_, Some(port)) => format!("torch-{port}"),
        (_, None) => "torch".to_owned(),
    };
    let port = derived_port(&run_id, taken);
    Ok(Some(Launch {
        node: NodeId(node),
        num_nodes,
        local_rank,
        place: Some(Place::Tcp { host, port }),
        run_id,
        restart: env.number("TORCHELASTIC_RESTART_COUNT")?.unwrap_or(0),
        source: Source::Torchrun,
    }))
}
