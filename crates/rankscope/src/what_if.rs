//! `rankscope what-if`: what a step would take if something were different. Translates; decides nothing.

use std::path::PathBuf;

use anyhow::Result;
use rankscope_cli::ExitCode;
use rankscope_cli::job::{Bar, ClockArgs, WindowArgs, request};
use rankscope_cli::output::{self, Format};
use rankscope_formats::Scope;
use rankscope_job::{Changes, WhatIfError, what_if};
use rankscope_pipeline::judged;
use rankscope_report::what_if_terminal;

use crate::report::RulesArgs;

/// What would a step take if a rank, an operator, a collective or a link were faster?
///
/// Runs the recorded job again with the changes of --set, all of them together, and says what a step takes then, and what the replay
/// of the unchanged job is off by. Without --set it tries single changes and says which saves most. Writes nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A run directory, or the traces of one run, or the folder of parts that `rankscope map` made of them
    #[arg(required = true, value_name = "RUN")]
    paths: Vec<PathBuf>,
    /// A change (may be repeated): op:NAME=0.8x, kernel:NAME=0.8x, host:NAME=0.5x, within:NAME=0.5x, rank:N=median, rank:N=1.2x,
    /// collective:KIND=0, collective:KIND@GROUP=0.5x, link:inter=2x, link:intra=2x, link:0-1=2x, overlap=perfect, balance=perfect, wait=0, sync=0,
    /// launch=0 or idle=0. 0.8x takes 0.8 times as long, 0 no time; a link at 2x is twice as fast. Several values, as in op:aten::mm=0.5x,0.8x, are
    /// tried one after the other
    #[arg(long = "set", value_name = "TARGET=VALUE")]
    changes: Vec<String>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Rows of the ranking to print
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,
    /// Continue without files that cannot be read
    #[arg(long)]
    partial: bool,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    rules: RulesArgs,
    #[command(flatten)]
    clocks: ClockArgs,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let changes = match Changes::parse(&args.changes) {
        Ok(changes) => changes,
        Err(error) => return Ok(output::misused(&error.to_string())),
    };
    let mut request = request(&args.paths, args.partial, &args.clocks);
    request.judging.window = args.window.window;
    request.mapping.rules = args.rules.rules().with_answers(true);
    request.mapping.reading.scope = if args.rules.gpu_only { Scope::Device } else { Scope::All };
    let judged = judged(&request, &Bar::default())?;
    let mut document = match what_if(&judged.job, &judged.title, &changes) {
        Ok(document) => document,
        Err(error @ WhatIfError::Target(_)) => return Ok(output::misused(&error.to_string())),
        Err(error) => return Err(error.into()),
    };
    let top = usize::try_from(args.top).unwrap_or(usize::MAX);
    match args.format {
        Format::Json => {
            document.ranking.truncate(top);
            output::answer(&serde_json::to_string_pretty(&document)?)?;
        }
        Format::Table => output::answer(&what_if_terminal(&document, top, output::style()))?,
    }
    // The process ends here: giving back memory piece by piece would only take time.
    std::mem::forget(judged);
    Ok(ExitCode::SUCCESS)
}
