//! `rankscope counters`, which `run --counters` starts on each node: its arguments. `rankscope-counters` samples.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use rankscope_counters::{Hz, record_node};

use crate::ending::stop_switch;
use crate::exit::ExitCode;

/// Sample the counters of this node into HOST.rkr in FOLDER until a signal ends it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the recording goes
    folder: PathBuf,
    /// Samples a second, from 1 to 100
    #[arg(long, default_value_t)]
    hz: Hz,
}

/// Between looks at whether a signal came.
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let stop = stop_switch()?;
    record_node(&args.folder, args.hz, || {
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK_EVERY);
        }
    })?;
    Ok(ExitCode::SUCCESS)
}
