//! `rankscope clock`: how the clocks of the nodes differ: measured, solved, simulated, shown.

#[cfg(feature = "clock")]
mod doctor;
mod fit;
pub(crate) mod read;
mod show;
mod simulate;
pub(crate) mod solve;
#[cfg(feature = "clock")]
mod standalone;
#[cfg(feature = "clock")]
pub(crate) mod words;

use crate::exit::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Measure, fit, solve, simulate and show the clocks of all nodes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    #[cfg(feature = "clock")]
    Doctor(doctor::Args),
    Fit(fit::Args),
    Show(show::Args),
    Simulate(simulate::Args),
    Solve(solve::Args),
    #[cfg(feature = "clock")]
    Standalone(standalone::Args),
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    match args.verb {
        #[cfg(feature = "clock")]
        Verb::Doctor(args) => doctor::run(args),
        Verb::Fit(args) => fit::run(args),
        Verb::Show(args) => show::run(args),
        Verb::Simulate(args) => simulate::run(args),
        Verb::Solve(args) => solve::run(args),
        #[cfg(feature = "clock")]
        Verb::Standalone(args) => standalone::run(args),
    }
}
