//! `rankscope clock`: what the clock agents measured, and what becomes of it.

mod document;
mod read;
mod show;
mod solve;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Subcommand, ValueEnum};

/// Clocks of all nodes: solve recorded windows, show offsets over time.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Solve(solve::Args),
    Show(show::Args),
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    match args.verb {
        Verb::Solve(args) => solve::run(args),
        Verb::Show(args) => show::run(args),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Table,
    /// One JSON document
    Json,
}
