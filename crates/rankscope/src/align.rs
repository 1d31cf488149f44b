//! `rankscope align`: every trace on to the reference clock.

mod from_traces;

use std::path::PathBuf;

use anyhow::Result;
use rankscope_cli::ExitCode;
use rankscope_cli::job::{Bar, ClockArgs, MemoryArgs, WindowArgs, request};
use rankscope_cli::output::{self, Format};
use rankscope_job::{ClockChoice, alignment};
use rankscope_pipeline::{judged, run_directory};
use rankscope_report::alignment_terminal;
use rankscope_run::Outputs;

use crate::report::{TimelineArgs, say_written};

/// Put every rank on one clock, with the source and error bound of each clock.
///
/// Writes timeline.pftrace and alignment.json. Uses the clocks in the run directory, or those of --clocks. Where no clock was
/// measured, it estimates them from the collectives in the traces, which is weaker, and says so. Never changes its inputs. Of a
/// folder of parts there is no timeline.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A run directory, or the traces of one run, or the folder of parts that `rankscope map` made of them
    #[arg(required = true, value_name = "RUN")]
    paths: Vec<PathBuf>,
    /// Directory for the files [default: the run directory itself, else rankscope-report; with --format json nothing is written
    /// unless given]
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Continue without files that cannot be read
    #[arg(long)]
    partial: bool,
    /// Do not write timeline.pftrace
    #[arg(long)]
    no_timeline: bool,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    timeline: TimelineArgs,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    clocks: ClockArgs,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    args.memory.bound_rows();
    let folder = match (&args.out, args.format) {
        (Some(out), _) => Some(out.clone()),
        (None, Format::Json) => None,
        (None, Format::Table) => {
            Some(run_directory(&args.paths).map_or_else(|| PathBuf::from("rankscope-report"), PathBuf::from))
        }
    };
    let mut request = request(&args.paths, args.partial, &args.clocks);
    request.judging.window = args.window.window;
    if folder.is_some() && !args.no_timeline {
        (request.mapping.reading.args, request.mapping.keep) = (args.timeline.policy(), args.memory.keep());
    }
    let bar = Bar::default();
    let judged = judged(&request, &bar)?;
    let job = &judged.job;
    // Who asks for nothing else wants to know what hangs on it, too.
    let weaker = (args.clocks.choice() == ClockChoice::FromTraces).then(|| rankscope_job::from_traces(job));
    let document = alignment(judged.title.clone(), job);
    match (args.format, weaker) {
        (Format::Json, Some(weaker)) => output::answer(&serde_json::to_string_pretty(&weaker)?)?,
        (Format::Table, Some(weaker)) => output::answer(&from_traces::table(&weaker))?,
        (Format::Json, None) => output::answer(&serde_json::to_string_pretty(&document)?)?,
        (Format::Table, None) => {
            output::answer(&alignment_terminal(&document, output::style()))?;
        }
    }
    if let Some(folder) = folder {
        let mut outputs = Outputs::into_directory(&folder)?;
        outputs.write("alignment.json", |file| serde_json::to_writer_pretty(file, &document).map_err(anyhow::Error::from))?;
        if !args.no_timeline && judged.parts.is_none() {
            outputs.write("timeline.pftrace", |file| judged.write_timeline(file, &bar))?;
        }
        say_written(&outputs.commit()?, Some(&judged).filter(|_| !args.no_timeline));
    }
    std::mem::forget(judged);
    Ok(ExitCode::SUCCESS)
}
