//! `rankscope dispatch export`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;

/// A plan as the rows that libraries and kernels take
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A plan
    input: PathBuf,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    bail!("{}: `dispatch export` is not in this build yet", args.input.display())
}
