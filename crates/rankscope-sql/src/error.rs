//! What can go wrong with a query, and whose fault it is.

use std::path::PathBuf;

use datafusion::error::DataFusionError;
use rankscope_dataset::ManifestError;
use rankscope_run::StoreFault;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder is no dataset.
    #[error("{}: no dataset, as it has no {}. `rankscope report RUN --parquet DIR` writes one", .0.display(), rankscope_dataset::Manifest::NAME)]
    NoDataset(PathBuf),
    /// Its list cannot be read.
    #[error("{}", .path.display())]
    Unreadable {
        /// The list.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Its list is none of ours.
    #[error("{}", .path.display())]
    Manifest {
        /// The list.
        path: PathBuf,
        /// Why.
        source: ManifestError,
    },
    /// A file that the list names is not there.
    #[error("{}: the dataset's list names this file, and it is not there. Write the run again with `rankscope report --parquet`", .0.display())]
    Missing(PathBuf),
    /// A URL is given, and nobody speaks to stores.
    #[error(
        "{}: this SQL engine has no object stores. Install one that has (`cargo install --path crates/rankscope-sql`), or copy the dataset \
         here and give its folder", .0.display()
    )]
    NoStores(PathBuf),
    /// A store says no, or nothing; or the address is none.
    #[error(transparent)]
    Store(rankscope_run::Error),
    /// A file in a store is not the one that the list names.
    #[error(
        "{}: {bytes} bytes, where the dataset's list says {listed}. If the run is being written, ask again when it is done; if not, write it \
         again with `rankscope report --parquet`", .path.display()
    )]
    OtherLength {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
        /// That of the file that the list names.
        listed: u64,
    },
    /// The list names what can be no file of a dataset.
    #[error(
        "{}: the list names {file:?}, which is no place in a dataset. Write the run again with `rankscope report --parquet`", .list.display()
    )]
    Astray {
        /// The list.
        list: PathBuf,
        /// What it names.
        file: String,
    },
    /// The text is no query that these tables can answer.
    #[error("the query")]
    Query(#[source] DataFusionError),
    /// Reading failed half way.
    #[error("reading the dataset {}", .dataset.display())]
    Reading {
        /// Where it is.
        dataset: PathBuf,
        /// Why.
        source: DataFusionError,
    },
    /// The query cannot be read from standard input.
    #[error("reading the query from standard input")]
    Asking(#[source] std::io::Error),
    /// The engine's threads cannot be started.
    #[error("starting the engine")]
    Starting(#[source] std::io::Error),
    /// The answer cannot be written.
    #[error("writing the answer")]
    Writing(#[source] std::io::Error),
}

impl Error {
    /// Whether the question is at fault, and not the data.
    pub fn is_misuse(&self) -> bool {
        match self {
            Self::Query(_) | Self::NoStores(_) => true,
            Self::Store(rankscope_run::Error::Store { fault, .. }) => fault.is_misuse(),
            _ => false,
        }
    }

    /// Whether somebody wrote the data meanwhile.
    pub const fn is_change(&self) -> bool {
        matches!(self, Self::OtherLength { .. } | Self::Store(rankscope_run::Error::Store { fault: StoreFault::Changed, .. }))
    }
}

impl From<rankscope_run::Error> for Error {
    fn from(error: rankscope_run::Error) -> Self {
        match error {
            rankscope_run::Error::Url { path } => Self::NoStores(path),
            other => Self::Store(other),
        }
    }
}
