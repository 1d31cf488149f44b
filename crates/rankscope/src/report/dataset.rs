//! `rankscope report --parquet`: the job as a dataset.

use std::path::PathBuf;

use anyhow::Result;
use rankscope_document::Document;
use rankscope_formats::ArgsPolicy;
use rankscope_pipeline::{DatasetRequest, Judged, Progress};

use crate::output;

/// What of a job becomes a dataset.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct DatasetArgs {
    /// Also write events, collectives, steps, kernels and clocks as Parquet files for DuckDB, Spark, Polars and pandas into this folder,
    /// which may hold other runs
    #[arg(long, value_name = "DIR", conflicts_with_all = ["step", "rank"])]
    parquet: Option<PathBuf>,
    /// Write all arguments of events there, too, as JSON: about twice the size
    #[arg(long, requires = "parquet", conflicts_with = "slim")]
    parquet_args: bool,
}

impl DatasetArgs {
    /// What has to be read and kept for it.
    pub(crate) fn policy(&self) -> Option<ArgsPolicy> {
        self.parquet.as_ref().map(|_| if self.parquet_args { ArgsPolicy::All } else { ArgsPolicy::Analysis })
    }

    /// Writes what was `judged`, if that was asked for, and returns the list of what is there.
    pub(crate) fn write(&self, judged: &Judged, document: &Document, progress: &dyn Progress) -> Result<Option<PathBuf>> {
        let Some(folder) = self.parquet.clone() else { return Ok(None) };
        let request = DatasetRequest { folder, arguments: self.parquet_args };
        let written = judged.write_dataset(&request, document, progress)?;
        if judged.parts.is_some() {
            output::remark("events are not in the dataset: parts hold no events");
        }
        Ok(Some(written))
    }
}
