//! `rankscope dispatch check`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;

/// Put a plan through every property it must have
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A plan
    input: PathBuf,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    bail!("{}: `dispatch check` is not in this build yet", args.input.display())
}
