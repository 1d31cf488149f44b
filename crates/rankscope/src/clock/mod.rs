//! `rankscope clock`: the clocks of the nodes of a job, one file per verb.

mod fit;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// How the clocks of the nodes differ: measured, simulated, explained.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Fit(fit::Args),
}

pub(crate) fn run(verb: Verb) -> Result<ExitCode> {
    match verb {
        Verb::Fit(args) => fit::run(args),
    }
}
