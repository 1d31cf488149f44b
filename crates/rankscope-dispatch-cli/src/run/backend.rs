//! The backends that this build has, and what to do about those that it has not.

use std::time::Duration;

use anyhow::{Result, bail};
use rankscope_transport::Threads;
use rankscope_transport::execute::{ExecuteError, Outcome, Trial};

use super::{Backend, Mode};

/// Why a backend came to no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The exchanges went wrong.
    Execution(ExecuteError),
    /// There is no such backend here.
    Missing(anyhow::Error),
}

/// The mode to use, if the backend has it.
pub(super) fn mode(backend: Backend, asked: Option<Mode>) -> Result<Mode> {
    let modes: &[Mode] = match backend {
        Backend::Threads => &[Mode::Put],
        Backend::Mpi => &[Mode::Alltoallv, Mode::Put],
        Backend::Cuda => &[Mode::Put, Mode::Nccl],
    };
    match asked {
        None => Ok(modes[0]),
        Some(mode) if modes.contains(&mode) => Ok(mode),
        Some(mode) => {
            let names: Vec<&str> = modes.iter().map(|mode| mode.as_str()).collect();
            let owner = match mode {
                Mode::Alltoallv => Backend::Mpi,
                Mode::Nccl => Backend::Cuda,
                Mode::Put => backend,
            };
            bail!(
                "--mode {} needs --backend {}; the backend {} only has {}",
                mode.as_str(),
                owner.as_str(),
                backend.as_str(),
                names.join(" and ")
            )
        }
    }
}

/// Runs the trial. Nothing comes back where another process answers.
pub(super) fn run(backend: Backend, mode: Mode, trial: &Trial) -> Result<Option<Vec<Outcome>>, Failure> {
    match backend {
        Backend::Threads => Ok(Some(trial.run_threads(Threads::job(trial.world_size(), PATIENCE))?)),
        Backend::Mpi => mpi(mode, trial),
        Backend::Cuda => cuda(mode, trial),
    }
}

#[cfg(feature = "mpi")]
fn mpi(mode: Mode, trial: &Trial) -> Result<Option<Vec<Outcome>>, Failure> {
    use rankscope_transport::mpi::{self, Mpi};
    use rankscope_transport::{Transport, TransportError};

    let mode = match mode {
        Mode::Put => mpi::Mode::Put,
        Mode::Alltoallv | Mode::Nccl => mpi::Mode::Alltoallv,
    };
    let mut end = Mpi::start(mode).map_err(ExecuteError::from)?;
    let is_first = end.rank().0 == 0;
    match trial.run_process(&mut end, Mpi::slowest) {
        Ok(outcomes) => Ok(is_first.then_some(outcomes)),
        // All processes find that out, so none is waiting and one may tell.
        Err(ExecuteError::Transport(TransportError::WorldSize { plan, backend, .. })) if is_first => {
            let advice = "start as many processes as the plan has ranks: mpirun -n";
            Err(Failure::Missing(anyhow::anyhow!("the plan is for {plan} ranks and mpirun started {backend}; {advice} {plan}")))
        }
        Err(ExecuteError::Transport(TransportError::WorldSize { .. })) => Ok(None),
        // The others may be waiting for this process.
        Err(error) => {
            let status = if matches!(error, ExecuteError::Different(_)) { 3 } else { 1 };
            rankscope_cli::output::fail(&error.into());
            end.abort(status)
        }
    }
}

#[cfg(not(feature = "mpi"))]
fn mpi(_: Mode, _: &Trial) -> Result<Option<Vec<Outcome>>, Failure> {
    Err(Failure::Missing(anyhow::anyhow!(
        "this rankscope was built without MPI; with libopenmpi-dev and libclang-dev installed, build one that has it: \
         cargo install --path crates/rankscope --features mpi"
    )))
}

#[cfg(feature = "cuda")]
fn cuda(mode: Mode, trial: &Trial) -> Result<Option<Vec<Outcome>>, Failure> {
    use rankscope_transport::cuda;

    let missing = |error: cuda::CudaError| Failure::Missing(error.into());
    let outcomes = match mode {
        Mode::Nccl => trial.run_threads(cuda::nccl_job(trial.world_size()).map_err(missing)?)?,
        Mode::Put | Mode::Alltoallv => trial.run_threads(cuda::job(trial.world_size(), PATIENCE).map_err(missing)?)?,
    };
    Ok(Some(outcomes))
}

#[cfg(not(feature = "cuda"))]
fn cuda(_: Mode, _: &Trial) -> Result<Option<Vec<Outcome>>, Failure> {
    Err(Failure::Missing(anyhow::anyhow!(
        "this rankscope was built without CUDA; building one that has it needs no CUDA installed: \
         cargo install --path crates/rankscope --features cuda"
    )))
}

impl Backend {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Mpi => "mpi",
            Self::Cuda => "cuda",
        }
    }
}

impl Mode {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Alltoallv => "alltoallv",
            Self::Put => "put",
            Self::Nccl => "nccl",
        }
    }
}

impl From<ExecuteError> for Failure {
    fn from(error: ExecuteError) -> Self {
        Self::Execution(error)
    }
}

impl From<Failure> for anyhow::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Execution(error) => error.into(),
            Failure::Missing(error) => error,
        }
    }
}

/// Longer than any exchange takes, shorter than a person waits.
const PATIENCE: Duration = Duration::from_secs(60);
