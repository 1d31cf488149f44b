//! `rankscope dispatch check`.

use std::path::PathBuf;
use std::process::ExitCode;

use super::check_plan;
use super::check_trace::{self, TraceArgs};
use crate::output::Format;

/// Put a plan through every property it must have; exit code 3 if one does not hold
///
/// Conservation, packing, bijection, causality, planes, lengths: for the metadata that follow from a plan file, or for those
/// that a case already contains (`fwd_q`, `rev_q`, ...), whoever computed them. With --trace, measured all-to-alls are held
/// against the plan instead.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A plan, or a case with metadata; - reads a plan from the standard input
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
    check_plan::run(&args.input, args.format)
}
