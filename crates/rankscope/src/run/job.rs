//! How a job is started and observed: the options that `run` and `sweep` share, each once.

use std::time::Duration;

/// Options of a job.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct JobArgs {
    /// Start this many local processes with RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT
    #[arg(short = 'n', long = "ranks", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=RANKS_MAX))]
    pub(crate) ranks: Option<u32>,
    /// Do not measure clocks
    #[arg(long)]
    pub(crate) no_clock: bool,
    /// Do not hook into Python programs; profiles that they export are not collected
    #[arg(long)]
    pub(crate) no_hooks: bool,
    /// Also collect files that match this pattern and are new or changed after the job (may be repeated)
    #[arg(long, value_name = "GLOB")]
    pub(crate) collect: Vec<String>,
    /// Seconds that ranks started by -n have to exit after one has failed or SIGTERM or SIGINT was forwarded; then they are killed
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    grace: u64,
    /// Seconds that aligning and reporting a run may take
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    finish_within: u64,
}

/// Processes of one host; more is a slip of the finger.
const RANKS_MAX: i64 = 4_096;

impl JobArgs {
    pub(crate) fn grace(&self) -> Duration {
        Duration::from_secs(self.grace)
    }

    pub(crate) fn finish_within(&self) -> Duration {
        Duration::from_secs(self.finish_within)
    }
}
