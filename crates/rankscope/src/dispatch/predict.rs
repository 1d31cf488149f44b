//! `rankscope dispatch predict`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;

/// What a plan's exchanges take on a network
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A plan
    input: PathBuf,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    bail!("{}: `dispatch predict` is not in this build yet", args.input.display())
}
