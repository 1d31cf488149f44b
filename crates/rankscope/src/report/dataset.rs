//! `rankscope report --parquet`: the job as a dataset. A build without the feature `parquet` takes the option and says what it lacks.

use std::path::PathBuf;

use anyhow::Result;
use rankscope_document::Document;
use rankscope_formats::ArgsPolicy;
use rankscope_pipeline::{Judged, Progress};

use super::named::Named;

/// What of a job becomes a dataset.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct DatasetArgs {
    /// Also write events, collectives, steps, kernels and clocks as Parquet files for DuckDB, Spark, Polars and pandas into this folder,
    /// which may hold other runs (in builds with `--features parquet`)
    #[arg(long, value_name = "DIR", conflicts_with_all = ["step", "rank"])]
    parquet: Option<PathBuf>,
    /// Write all arguments of events there, too, as JSON: about twice the size
    #[arg(long, requires = "parquet", conflicts_with = "slim")]
    parquet_args: bool,
}

/// What a build says that cannot write it.
pub(crate) const NO_PARQUET: &str =
    "this build writes no Parquet files; build one that does: cargo install --path crates/rankscope --features parquet";

impl DatasetArgs {
    /// Why this cannot be done beside `named`, a table by itself, or by this build.
    pub(crate) fn misused(&self, named: Option<Named>) -> Option<&'static str> {
        match (&self.parquet, named) {
            (None, _) => None,
            (Some(_), Some(_)) => Some("--parquet is about the whole job; leave out the table's name"),
            (Some(_), None) if cfg!(feature = "parquet") => None,
            (Some(_), None) => Some(NO_PARQUET),
        }
    }

    /// What has to be read and kept for it.
    pub(crate) fn policy(&self) -> Option<ArgsPolicy> {
        self.parquet.as_ref().map(|_| if self.parquet_args { ArgsPolicy::All } else { ArgsPolicy::Analysis })
    }

    /// Writes what was `judged`, if that was asked for, and returns the list of what is there.
    #[cfg(feature = "parquet")]
    pub(crate) fn write(&self, judged: &Judged, document: &Document, progress: &dyn Progress) -> Result<Option<PathBuf>> {
        let Some(folder) = self.parquet.clone() else { return Ok(None) };
        let request = rankscope_pipeline::DatasetRequest { folder, arguments: self.parquet_args };
        let written = judged.write_dataset(&request, document, progress)?;
        if judged.parts.is_some() {
            rankscope_cli::output::remark(
                "events are not in the dataset: parts hold no events. `rankscope merge --parquet` and then `rankscope map --dataset` write them",
            );
        }
        Ok(Some(written))
    }

    /// Writes nothing, as nothing was asked for.
    #[cfg(not(feature = "parquet"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as where something is written")]
    pub(crate) fn write(&self, _: &Judged, _: &Document, _: &dyn Progress) -> Result<Option<PathBuf>> {
        Ok(None)
    }
}
