//! Launchers of MPI. They number processes, not nodes, so nodes are counted by dividing, which holds where ranks are dealt node by
//! node, as is the default of all of them.

use rankscope_clock::NodeId;

use super::env::Env;
use super::{Launch, LaunchError, Source, derived_port};
use crate::rendezvous::Place;

pub(super) fn open_mpi(env: &Env<'_>) -> Result<Option<Launch>, LaunchError> {
    let world = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
    let Some((node, num_nodes)) = env.node_of(world, "OMPI_COMM_WORLD_LOCAL_SIZE")? else { return Ok(None) };
    let hnp = env.text(HNP).map(|uri| head_node(&uri).ok_or(LaunchError::Form { variable: HNP, value: uri, form: HNP_FORM }));
    let (job, host) = hnp.transpose()?.unzip();
    let run_id = env.text("PMIX_NAMESPACE").or(job).unwrap_or_else(|| "mpi".to_owned());
    let place = host.map(|host| Place::Tcp { host, port: derived_port(&run_id, None) });
    Ok(Some(Launch {
        node: NodeId(node),
        num_nodes,
        local_rank: env.number("OMPI_COMM_WORLD_LOCAL_RANK")?.unwrap_or(0),
        place,
        run_id,
        restart: 0,
        source: Source::OpenMpi,
    }))
}

const HNP: &str = "OMPI_MCA_orte_hnp_uri";
const HNP_FORM: &str = "job.0;tcp://address,address:port";

/// The job and the first address of the host that mpirun runs on, which by default is node 0's.
fn head_node(uri: &str) -> Option<(String, String)> {
    let (name, rest) = uri.split_once(';')?;
    let (job, _) = name.split_once('.')?;
    let addresses = rest.split(';').find_map(|uri| uri.strip_prefix("tcp://").or_else(|| uri.strip_prefix("tcp6://")))?;
    let (addresses, _) = addresses.rsplit_once(':')?;
    let first = addresses.split(',').next().map(|address| address.trim_matches(['[', ']'])).filter(|it| !it.is_empty())?;
    Some((job.to_owned(), first.to_owned()))
}

/// MPICH, Intel MPI and others, whose launcher is Hydra; it does not say where node 0 is.
pub(super) fn pmi(env: &Env<'_>) -> Result<Option<Launch>, LaunchError> {
    // Slurm sets these too, and knows more.
    if env.text("SLURM_PROCID").is_some() {
        return Ok(None);
    }
    let Some((node, num_nodes)) = env.node_of(("PMI_RANK", "PMI_SIZE"), "MPI_LOCALNRANKS")? else { return Ok(None) };
    Ok(Some(Launch {
        node: NodeId(node),
        num_nodes,
        local_rank: env.number("MPI_LOCALRANKID")?.unwrap_or(0),
        place: None,
        run_id: "mpi".to_owned(),
        restart: 0,
        source: Source::Pmi,
    }))
}
