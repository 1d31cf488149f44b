//! `rankscope clock`: how the clocks of the nodes differ: measured, solved, simulated, shown.

mod doctor;
mod document;
mod fit;
mod read;
pub(crate) mod setup;
mod show;
mod simulate;
mod solve;
mod standalone;
pub(crate) mod watch;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Clocks of all nodes: measure, fit, solve, simulate, show.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Doctor(doctor::Args),
    Fit(fit::Args),
    Show(show::Args),
    Simulate(simulate::Args),
    Solve(solve::Args),
    Standalone(standalone::Args),
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    match args.verb {
        Verb::Doctor(args) => doctor::run(args),
        Verb::Fit(args) => fit::run(args),
        Verb::Show(args) => show::run(args),
        Verb::Simulate(args) => simulate::run(args),
        Verb::Solve(args) => solve::run(args),
        Verb::Standalone(args) => standalone::run(args),
    }
}
