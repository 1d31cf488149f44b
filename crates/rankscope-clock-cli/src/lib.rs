//! `rankscope clock`: how the clocks of the nodes differ: measured, solved, simulated, shown.

#[cfg(feature = "measure")]
pub mod agent;
#[cfg(feature = "measure")]
mod doctor;
mod fit;
mod read;
mod show;
mod simulate;
mod solve;
#[cfg(feature = "measure")]
mod standalone;
#[cfg(feature = "measure")]
mod words;

use anyhow::Result;
use clap::Subcommand;
use rankscope_cli::ExitCode;

/// Measure, fit, solve, simulate and show the clocks of all nodes.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    #[cfg(feature = "measure")]
    Doctor(doctor::Args),
    Fit(fit::Args),
    Show(show::Args),
    Simulate(simulate::Args),
    Solve(solve::Args),
    #[cfg(feature = "measure")]
    Standalone(standalone::Args),
}

/// Does what the verb says, and prints.
///
/// # Errors
/// What cannot be read, solved or measured; the text says whose fault it is.
pub fn run(args: Args) -> Result<ExitCode> {
    match args.verb {
        #[cfg(feature = "measure")]
        Verb::Doctor(args) => doctor::run(args),
        Verb::Fit(args) => fit::run(args),
        Verb::Show(args) => show::run(args),
        Verb::Simulate(args) => simulate::run(args),
        Verb::Solve(args) => solve::run(args),
        #[cfg(feature = "measure")]
        Verb::Standalone(args) => standalone::run(args),
    }
}
