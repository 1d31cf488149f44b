//! `rankscope top`: where a running job is, or where one that has ended was. Takes the terminal, if there is one; what is shown there is
//! `rankscope-top`'s.

mod replay;
mod terminal;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_document::LiveDocument;
use rankscope_pipeline::{LiveJob, has_ended, live};
use rankscope_top::{Asked, Paint, Top};

use crate::pace::Pace;
use terminal::Screen;

/// Between looks, at least.
const EVERY: Duration = Duration::from_secs(1);

/// A job that runs, or that ran: which rank comes late now, and what each is in.
///
/// Reads the live pages that ranks keep in the run directory while they record themselves, and the clocks that agents measured. How
/// late a rank comes is what its own work adds, a step, beside the rank in the middle, with how far clocks may be off. Looks again
/// every second, where ranks are thousands every few. On a terminal it has views of ranks, groups, collectives, nodes and links (? shows
/// the keys, q quits); elsewhere it prints a table at each look until the last rank has ended. Of a run that has ended it replays the
/// recordings, step by step. Changes nothing about the job.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run directory
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Look once and end; of a run that has ended at its last step
    #[arg(long)]
    once: bool,
    /// How fast to replay a run that has ended: 1 is as fast as it was, 10 ten times as fast
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = replay::speed)]
    speed: f64,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.once {
        let Some(now) = unless_over(live(&args.run), &args.run)? else { return replay::run(args) };
        show(args, &now)?;
        return Ok(ExitCode::SUCCESS);
    }
    // Looks time and again, and so sees alarms by itself.
    let (mut job, began, pace) = (LiveJob::new(&args.run), Instant::now(), Pace::of(EVERY));
    // Before the screen is taken: what fails now is told where the command was typed.
    let looked = job.look().map(|look| look.document);
    let Some(now) = unless_over(looked, &args.run)? else { return replay::run(args) };
    if has_screen(args) { on_screen(job, now, began, pace) } else { printed(args, job, &now, pace) }
}

/// The first look; none of a run that has ended, which may have left pages of ranks that were killed. They tell of nobody.
fn unless_over(looked: Result<LiveDocument, rankscope_pipeline::Error>, run: &Path) -> Result<Option<LiveDocument>> {
    let tells_of_nobody = match &looked {
        Ok(document) => document.ranks.is_empty(),
        Err(error) => matches!(error, rankscope_pipeline::Error::NoPages { .. }),
    };
    if tells_of_nobody && has_ended(run)? { Ok(None) } else { Ok(Some(looked?)) }
}

/// Whether there is a terminal to be taken over.
fn has_screen(args: &Args) -> bool {
    args.format == Format::Table && std::io::stdout().is_terminal()
}

/// Prints look after look, one document or one table each, of which `now` is the first.
fn printed(args: &Args, mut job: LiveJob, now: &LiveDocument, mut pace: Pace) -> Result<ExitCode> {
    show(args, now)?;
    loop {
        thread::sleep(pace.pause());
        let Some(document) = until_the_end(job.look())? else { return Ok(ExitCode::SUCCESS) };
        show(args, &document)?;
    }
}

/// On a terminal, from `now`, looked for at `began`, until somebody quits. What was seen last stays there when the job has ended.
fn on_screen(mut job: LiveJob, now: LiveDocument, began: Instant, mut pace: Pace) -> Result<ExitCode> {
    let mut next = began + pace.pause();
    let mut top = Top::new(Paint { color: output::style().color });
    top.take(now);
    let mut screen = Screen::open()?;
    let mut has_ended = false;
    loop {
        screen.draw(&mut top)?;
        if screen.listen(&mut top, next)? == Asked::Quit {
            return Ok(ExitCode::SUCCESS);
        }
        let began = Instant::now();
        if began < next {
            continue;
        }
        if !has_ended {
            // Also while it is paused: alarms need every step.
            match until_the_end(job.look())? {
                Some(document) if !top.is_paused() => top.take(document),
                Some(_) => {}
                None => {
                    has_ended = true;
                    top.note("the job has ended, this is the last that was seen".to_owned());
                }
            }
        }
        next = began + pace.pause();
    }
}

/// A look; none once the last rank has ended, and its page with it.
fn until_the_end(looked: Result<rankscope_pipeline::LiveLook, rankscope_pipeline::Error>) -> Result<Option<LiveDocument>> {
    match looked {
        Err(rankscope_pipeline::Error::NoPages { .. }) => Ok(None),
        looked => Ok(Some(looked?.document)),
    }
}

/// One document a line, or one table after another.
fn show(args: &Args, document: &LiveDocument) -> Result<()> {
    Ok(output::answer(&match args.format {
        Format::Json => serde_json::to_string(document)?,
        Format::Table => rankscope_report::live_terminal(document, output::style()),
    })?)
}
