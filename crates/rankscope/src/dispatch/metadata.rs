//! `rankscope dispatch metadata`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;

/// The original's functions, by their names
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A plan
    input: PathBuf,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    bail!("{}: `dispatch metadata` is not in this build yet", args.input.display())
}
