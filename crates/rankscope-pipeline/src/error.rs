//! What can go wrong on the way, and what class of failure it is for whoever started the process.

use std::path::PathBuf;

use rankscope_collectives::PatternError;
use rankscope_job::Conflict;

/// Why there is no answer. Messages say whose fault it is, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Files cannot be found, opened or written.
    #[error(transparent)]
    Run(#[from] rankscope_run::Error),
    /// The parts cannot be judged.
    #[error(transparent)]
    Job(#[from] rankscope_job::Error),
    /// A user's pattern is none.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// Parts do not belong together.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// Files of clock agents cannot be understood.
    #[error(transparent)]
    Clocks(#[from] rankscope_clock::solved::Unreadable),
    /// A file cannot be read as a trace where it must be.
    #[error("{file}")]
    Trace {
        /// The file, as a label.
        file: String,
        /// Why.
        source: rankscope_formats::Error,
    },
    /// The folder that was named for clocks is not there.
    #[error("--clocks {}: no such folder. Give the folder that clock agents wrote into, or the run directory", folder.display())]
    NoClockFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder that was named for clocks holds none.
    #[error(
        "--clocks {}: holds no clocks (windows-node<k>.jsonl or offsets.jsonl). Give the folder that clock agents wrote into, or \
         the run directory",
        folder.display()
    )]
    NoClocks {
        /// The folder.
        folder: PathBuf,
    },
    /// A trace that was mapped is another one now.
    #[error("{file}: the file changed while it was read. Run the command again")]
    Changed {
        /// The file, as a label.
        file: String,
    },
    /// The report's page cannot be drawn.
    #[error(transparent)]
    Page(#[from] rankscope_report::Error),
    /// The timeline cannot be written.
    #[error("timeline.pftrace")]
    Timeline(#[source] rankscope_formats::Error),
    /// A folder cannot be listed, or a file cannot be written.
    #[error("{}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Classes of failure, as exit codes tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExitClass {
    /// It failed; another try may not.
    Failed,
    /// It was asked for wrongly, and another try will fail as well.
    Usage,
    /// An input changed under it.
    InputChanged,
}

impl Error {
    /// What class of failure this is.
    pub fn class(&self) -> ExitClass {
        match self {
            Self::Pattern(_) | Self::NoClockFolder { .. } | Self::NoClocks { .. } => ExitClass::Usage,
            Self::Changed { .. } | Self::Conflict(Conflict::Twice { .. }) => ExitClass::InputChanged,
            _ => ExitClass::Failed,
        }
    }
}
