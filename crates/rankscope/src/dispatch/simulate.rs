//! `rankscope dispatch simulate`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;

/// Move a plan's bytes in memory, and play its steps in time
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A plan
    input: PathBuf,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    bail!("{}: `dispatch simulate` is not in this build yet", args.input.display())
}
