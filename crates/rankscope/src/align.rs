//! `rankscope align`: every rank on one clock.

mod from_traces;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use rankscope_collectives::CommPatterns;
use rankscope_formats::{ArgsPolicy, Scope};

use crate::job::{ClockArgs, ClockChoice, Job, JobOptions};
use crate::output::{self, Format};

/// Find out how the clocks of the ranks stand.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, directories, archives or patterns of the traces of one run
    #[arg(required = true, value_name = "TRACES")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    clocks: ClockArgs,
    /// Go on though ranks are missing or files cannot be read
    #[arg(long)]
    partial: bool,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    if args.clocks.choice() != ClockChoice::FromTraces {
        bail!("so far only --from-traces is there");
    }
    let options = JobOptions {
        args: ArgsPolicy::Analysis,
        scope: Scope::All,
        partial: args.partial,
        patterns: CommPatterns::default(),
        clocks: args.clocks.choice(),
        measured: args.clocks.measured,
    };
    let document = from_traces::document(&Job::read(&args.paths, &options)?);
    match args.format {
        Format::Json => output::answer(&serde_json::to_string(&document)?)?,
        Format::Table => output::answer(&document.table())?,
    }
    Ok(ExitCode::SUCCESS)
}
