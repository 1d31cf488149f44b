//! `rankscope dispatch run`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;

/// Execute a plan and compare every byte with the simulator
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A plan
    input: PathBuf,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    bail!("{}: `dispatch run` is not in this build yet", args.input.display())
}
