//! `rankscope dispatch`: communication plans for context-parallel attention. One file per verb; what is computed is computed in
//! `rankscope-dispatch`.

mod calibrate;
mod case_files;
mod check;
mod check_trace;
mod export;
mod metadata;
mod pass_arg;
mod paths;
mod plan;
mod predict;
mod row_args;
mod run;
mod simulate;
mod simulate_bytes;
mod simulate_events;
mod timeline;

use clap::Subcommand;
use rankscope_cli::ExitCode;

/// Plan which rank computes what, check, simulate, predict, run and export plans
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Plan(Box<plan::Args>),
    Check(Box<check::Args>),
    Simulate(Box<simulate::Args>),
    Predict(Box<predict::Args>),
    Calibrate(Box<calibrate::Args>),
    Run(run::Args),
    Export(export::Args),
    Metadata(metadata::Args),
}

/// Does what the verb says, and prints.
///
/// # Errors
/// What cannot be read, planned or written; the text says whose fault it is.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::Plan(args) => plan::run(&args),
        Verb::Check(args) => check::run(&args),
        Verb::Simulate(args) => simulate::run(&args),
        Verb::Predict(args) => predict::run(&args),
        Verb::Calibrate(args) => calibrate::run(&args),
        Verb::Run(args) => run::run(args),
        Verb::Export(args) => export::run(args),
        Verb::Metadata(args) => metadata::run(args),
    }
}
