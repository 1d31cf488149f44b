//! `rankscope dispatch plan`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;

/// Decide which rank computes which piece of attention
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A plan
    input: PathBuf,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    bail!("{}: `dispatch plan` is not in this build yet", args.input.display())
}
