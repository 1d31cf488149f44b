//! `rankscope dispatch simulate`.

use std::path::PathBuf;

use rankscope_cli::ExitCode;
use rankscope_cli::output::Format;

use super::pass_arg::PassArg;
use super::simulate_bytes::{self, BytesArgs};
use super::simulate_events::{self, EventArgs};

/// Move a plan's bytes in memory, and play its steps in time
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A plan; - reads it from the standard input
    #[arg(value_name = "PLAN")]
    input: PathBuf,
    /// Only this pass of a layer; a backward one by itself has everything sent again. Without it both, of which the backward one keeps what the
    /// forward one had
    #[arg(long, value_enum)]
    pass: Option<PassArg>,
    #[command(flatten)]
    bytes: BytesArgs,
    #[command(flatten)]
    events: EventArgs,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.events.events {
        return simulate_events::run(&args.input, &args.events, args.pass, args.format);
    }
    simulate_bytes::run(&args.input, &args.bytes, args.pass, args.format)
}
