//! What can go wrong with a query, and whose fault it is.

use std::path::PathBuf;

use datafusion::error::DataFusionError;
use rankscope_dataset::ManifestError;

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
    /// The text is no query that these tables can answer.
    #[error("the query")]
    Query(#[source] DataFusionError),
    /// Reading failed half way.
    #[error("reading the dataset")]
    Reading(#[source] DataFusionError),
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
    pub const fn is_misuse(&self) -> bool {
        matches!(self, Self::Query(_))
    }
}
