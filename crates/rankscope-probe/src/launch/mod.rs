//! Which node this is, of how many, and where they meet: what the launcher of the job left in the environment.
//!
//! The variables of one launcher are taken together, those of rankscope itself first, and never mixed, but for two of ours that
//! hold under every launcher: `RANKSCOPE_RDZV`, where to meet, and `RANKSCOPE_RUN_ID`. A value that is no number, or that
//! contradicts another, is an error that names the variable; nothing is guessed around it.
//!
//! A pure function of a lookup: it reads no environment itself.

mod cluster;
pub mod command;
mod env;
mod hostlist;
mod mpi;
mod torchrun;

use rankscope_clock::NodeId;

use crate::rendezvous::{Place, PlaceError};
use env::Env;

/// How this process was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The node it is on.
    pub node: NodeId,
    /// How many there are.
    pub num_nodes: u32,
    /// Which of the node's processes it is. One agent is enough for a node: that of process 0.
    pub local_rank: u32,
    /// Where nodes meet; none where the launcher does not say.
    pub place: Option<Place>,
    /// Tells this run from others at the same place.
    pub run_id: String,
    /// How often the launcher has started it again.
    pub restart: u32,
    /// Whose variables these are.
    pub source: Source,
}

/// Launchers, in the order in which they are looked for: the inner one first, where one starts the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `RANKSCOPE_RANK` and the like, set by hand.
    Explicit,
    /// torchrun, or anything that sets `RANK`, `WORLD_SIZE` and `MASTER_ADDR`.
    Torchrun,
    /// Open MPI.
    OpenMpi,
    /// MPICH, Intel MPI and other launchers that speak PMI.
    Pmi,
    /// Slurm's srun.
    Slurm,
    /// Kubernetes: indexed jobs, job sets, Kubeflow.
    Kubernetes,
}

/// The environment does not say how this process was started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// No variable of a known launcher is set.
    #[error(
        "no known launcher started this process. Start it with torchrun, srun, mpirun or a Kubernetes job, or set \
         RANKSCOPE_RANK, RANKSCOPE_WORLD_SIZE and RANKSCOPE_RDZV"
    )]
    NoLauncher,
    /// A value is no number.
    #[error("{variable}={value} is not a valid number")]
    NotANumber {
        /// Which variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// A variable is missing beside another.
    #[error("{beside} is set but {variable} is not. Set both")]
    Missing {
        /// The one that is missing.
        variable: &'static str,
        /// The one that is there.
        beside: &'static str,
    },
    /// Two values cannot both be right.
    #[error("{variable}={value} and {other}={other_value} contradict each other: {why}")]
    Conflict {
        /// One variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The other variable.
        other: &'static str,
        /// Its value.
        other_value: String,
        /// What does not fit.
        why: &'static str,
    },
    /// A value names no store.
    #[error("{variable}: {source}")]
    Place {
        /// Which variable.
        variable: &'static str,
        /// What is wrong.
        source: PlaceError,
    },
    /// A value is not of the form it should have.
    #[error("{variable}={value} is not of the form {form}")]
    Form {
        /// Which variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The form.
        form: &'static str,
    },
}

/// What `get` says about how this process was started.
///
/// # Errors
/// [`LaunchError`] names the variable that is missing or wrong.
pub fn launch(get: impl Fn(&str) -> Option<String>) -> Result<Launch, LaunchError> {
    let env = Env::new(&get);
    let launchers = [explicit, torchrun::torchrun, mpi::open_mpi, mpi::pmi, cluster::slurm, cluster::kubernetes];
    let found = launchers.iter().find_map(|launcher| launcher(&env).transpose());
    let mut launch = found.ok_or(LaunchError::NoLauncher)??;
    if let Some(place) = env.text(RDZV) {
        let named = place.parse().map_err(|source| LaunchError::Place { variable: RDZV, source })?;
        launch.place = Some(named);
    }
    if let Some(run_id) = env.text("RANKSCOPE_RUN_ID") {
        launch.run_id = run_id;
    }
    Ok(launch)
}

const RDZV: &str = "RANKSCOPE_RDZV";

fn explicit(env: &Env<'_>) -> Result<Option<Launch>, LaunchError> {
    let Some((node, num_nodes)) = env.place_among("RANKSCOPE_RANK", "RANKSCOPE_WORLD_SIZE")? else { return Ok(None) };
    Ok(Some(Launch {
        node: NodeId(node),
        num_nodes,
        local_rank: 0,
        place: None,
        run_id: "default".to_owned(),
        restart: env.number("RANKSCOPE_RESTART")?.unwrap_or(0),
        source: Source::Explicit,
    }))
}

/// The port of our store beside a launcher that gives none: the same on all nodes, from what they all know. It lies between the
/// ports that Linux hands out (to 60999) and those that JAX takes under Slurm (from 61440), and it is not `taken`.
fn derived_port(run_id: &str, taken: Option<u16>) -> u16 {
    // FNV-1a, which needs no keys and will be the same in all versions.
    let hash =
        run_id.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let port = PORT_BASE + (hash % PORTS) as u16;
    if taken == Some(port) { port + 1 } else { port }
}

const PORT_BASE: u16 = 61_000;
const PORTS: u64 = 430;

#[cfg(test)]
mod tests;
