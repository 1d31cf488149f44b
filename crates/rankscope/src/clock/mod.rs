//! `rankscope clock`: synchronising the clocks of hosts, and looking at how well that went.

#[cfg(target_os = "linux")]
mod doctor;

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
    #[cfg(target_os = "linux")]
    Doctor(doctor::Args),
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    match args.verb {
        #[cfg(target_os = "linux")]
        Verb::Doctor(args) => doctor::run(args),
    }
}
