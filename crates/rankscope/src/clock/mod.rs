//! `rankscope clock`: synchronising the clocks of hosts, and looking at how well that went.

mod simulate;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Measure how the clocks of hosts differ.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Simulate(simulate::Args),
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    match args.verb {
        Verb::Simulate(args) => simulate::run(args),
    }
}
