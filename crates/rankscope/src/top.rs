//! `rankscope top`: where a running job is. Translates; decides nothing.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use rankscope_document::LiveDocument;
use rankscope_pipeline::{LiveJob, live};

use crate::exit::ExitCode;
use crate::output::{self, Format};
use crate::pace::pause;

/// Between looks, at least.
const EVERY: Duration = Duration::from_secs(1);

/// To the upper left corner, and nothing below it.
const CLEARED: &str = "\x1b[H\x1b[J";

/// A job that runs, from outside: which rank comes late now, and what each is in.
///
/// Reads the live pages that ranks keep in the run directory while they record themselves, and the clocks that agents measured. How
/// late a rank comes is what its own work adds, a step, beside the rank in the middle, with how far clocks may be off. Looks again
/// every second, where ranks are thousands every few, until Ctrl-C or until the last rank has ended. Changes nothing about the job.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run directory
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Look once and end
    #[arg(long)]
    once: bool,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.once {
        show(args, &live(&args.run)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    // Looks time and again, and so sees alarms by itself.
    let mut job = LiveJob::new(&args.run);
    let mut began = Instant::now();
    look(args, &mut job)?;
    loop {
        thread::sleep(pause(EVERY, began.elapsed()));
        began = Instant::now();
        match look(args, &mut job) {
            // The last rank has ended, and its page with it.
            Err(error) if matches!(error.downcast_ref(), Some(rankscope_pipeline::Error::NoPages { .. })) => {
                return Ok(ExitCode::SUCCESS);
            }
            looked => looked?,
        }
    }
}

fn look(args: &Args, job: &mut LiveJob) -> Result<()> {
    show(args, &job.look()?.document)
}

/// One document a line, or one picture in the place of the one before.
fn show(args: &Args, document: &LiveDocument) -> Result<()> {
    let text = match args.format {
        Format::Json => serde_json::to_string(document)?,
        Format::Table => rankscope_report::live_terminal(document, output::style()),
    };
    let is_drawn_over = !args.once && args.format == Format::Table && std::io::stdout().is_terminal();
    Ok(output::answer(&if is_drawn_over { format!("{CLEARED}{text}") } else { text })?)
}
