//! Why a sweep cannot be begun or gone on with.

use std::io;
use std::path::PathBuf;

use crate::error::{Error, ExitClass};

/// A sweep that does not begin, or cannot keep what it measures.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// There is nothing to go on with.
    #[error("{path}: no sweep to go on with: there is no sweep.json here", path = .path.display())]
    NoSweep {
        /// The directory.
        path: PathBuf,
    },
    /// What lies there cannot be gone on with, or is another sweep.
    #[error("{path}: {reason}", path = .path.display())]
    Plan {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        reason: rankscope_sweep::Error,
    },
    /// Somebody starts this process once for each rank or node.
    #[error(
        "a sweep is one process that starts every job from here, but this command or its launcher describes one process a node or rank. \
         Run `rankscope sweep` once, and put srun or mpirun into its command"
    )]
    ManyProcesses,
    /// The file system refuses something.
    #[error("{path}: {reason}", path = .path.display())]
    Io {
        /// Of which file.
        path: PathBuf,
        /// What it says.
        #[source]
        reason: io::Error,
    },
    /// A run cannot be begun.
    #[error(transparent)]
    Run(#[from] Error),
    /// What belongs to the sweep or a run cannot be kept.
    #[error(transparent)]
    Folder(#[from] rankscope_run::Error),
}

impl SweepError {
    /// How a process that ends with this error should end.
    pub fn exit_class(&self) -> ExitClass {
        match self {
            Self::NoSweep { .. } | Self::Plan { .. } | Self::ManyProcesses => ExitClass::UsedWrongly,
            Self::Run(error) => error.exit_class(),
            _ => ExitClass::Failed,
        }
    }
}
