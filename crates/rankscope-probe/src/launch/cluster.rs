//! Schedulers that start processes themselves: Slurm and Kubernetes.

use rankscope_clock::NodeId;

use super::env::Env;
use super::hostlist::first_host;
use super::{Launch, LaunchError, Source, derived_port};
use crate::rendezvous::Place;

pub(super) fn slurm(env: &Env<'_>) -> Result<Option<Launch>, LaunchError> {
    if env.number("SLURM_PROCID")?.is_none() {
        return Ok(None);
    }
    env.place_among("SLURM_PROCID", "SLURM_NTASKS")?;
    let Some((node, num_nodes)) = env.place_among("SLURM_NODEID", "SLURM_STEP_NUM_NODES")? else {
        return Err(LaunchError::Missing { variable: "SLURM_NODEID", beside: "SLURM_PROCID" });
    };
    let run_id = match (env.text("SLURM_JOB_ID"), env.text("SLURM_STEP_ID")) {
        (Some(job), Some(step)) => format!("slurm-{job}.{step}"),
        (Some(job), None) => format!("slurm-{job}"),
        (None, _) => return Err(LaunchError::Missing { variable: "SLURM_JOB_ID", beside: "SLURM_PROCID" }),
    };
    let place = match env.text(NODES) {
        None => None,
        Some(list) => {
            let form = "node[1-4,7],other";
            let host = first_host(&list).ok_or(LaunchError::Form { variable: NODES, value: list, form })?;
            Some(Place::Tcp { host, port: derived_port(&run_id, None) })
        }
    };
    Ok(Some(Launch {
        node: NodeId(node),
        num_nodes,
        local_rank: env.number("SLURM_LOCALID")?.unwrap_or(0),
        place,
        run_id,
        restart: env.number("SLURM_RESTART_COUNT")?.unwrap_or(0),
        source: Source::Slurm,
    }))
}

const NODES: &str = "SLURM_STEP_NODELIST";

/// Indexed jobs say which pod this is; only Kubeflow and our own variable say of how many.
pub(super) fn kubernetes(env: &Env<'_>) -> Result<Option<Launch>, LaunchError> {
    let kubeflow = env.place_among("PET_NODE_RANK", "PET_NNODES")?;
    let indexed = match kubeflow {
        Some(found) => Some(found),
        None => env.place_among("JOB_COMPLETION_INDEX", "RANKSCOPE_WORLD_SIZE")?,
    };
    let Some((node, num_nodes)) = indexed else { return Ok(None) };
    let run_id = match (env.text("PET_RDZV_ID"), env.text("JOBSET_NAME")) {
        (Some(id), _) => id,
        (None, Some(set)) => set,
        (None, None) => env.text("HOSTNAME").and_then(|host| base_of(&host)).unwrap_or_else(|| "job".to_owned()),
    };
    let endpoint = env.text("PET_RDZV_ENDPOINT").map(|endpoint| endpoint.split(':').next().unwrap_or_default().to_owned());
    let host = env.text("PET_MASTER_ADDR").or(endpoint).or_else(|| first_pod(env));
    let taken = env.port("PET_MASTER_PORT")?;
    let place = host.map(|host| Place::Tcp { host, port: derived_port(&run_id, taken) });
    Ok(Some(Launch {
        node: NodeId(node),
        num_nodes,
        local_rank: 0,
        place,
        run_id,
        restart: env.number("JOBSET_RESTART_ATTEMPT")?.unwrap_or(0),
        source: Source::Kubernetes,
    }))
}

/// The name of the first pod of an indexed job: its host name ends in the index. In a job set the headless service has the set's
/// name; elsewhere the pods' own search path must know it.
fn first_pod(env: &Env<'_>) -> Option<String> {
    let base = base_of(&env.text("HOSTNAME")?)?;
    Some(match env.text("JOBSET_NAME") {
        Some(service) => format!("{base}-0.{service}"),
        None => format!("{base}-0"),
    })
}

fn base_of(host: &str) -> Option<String> {
    let (base, index) = host.split('.').next()?.rsplit_once('-')?;
    index.parse::<u32>().ok().map(|_| base.to_owned())
}
