//! `rankscope counters`, which `run --counters` starts on each node: its arguments. `rankscope-counters` samples.

use std::path::PathBuf;

use anyhow::Result;
use rankscope_cli::ExitCode;
use rankscope_cli::ending::stop_awaited;
use rankscope_counters::{Hz, record_node};

/// Sample the counters of this node into HOST.rkr in FOLDER until a signal ends it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the recording goes
    folder: PathBuf,
    /// Samples a second, from 1 to 100
    #[arg(long, default_value_t)]
    hz: Hz,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    record_node(&args.folder, args.hz, stop_awaited()?)?;
    Ok(ExitCode::SUCCESS)
}
