//! `rankscope dispatch check`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;

use super::check_trace::{self, TraceArgs};
use crate::output::Format;

/// Put a plan through every property it must have
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A plan
    input: PathBuf,
    #[command(flatten)]
    trace: TraceArgs,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(run) = &args.trace.trace {
        return check_trace::run(&args.input, run, &args.trace, args.format);
    }
    bail!("{}: `dispatch check` is not in this build yet", args.input.display())
}
