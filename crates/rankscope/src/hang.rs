//! `rankscope hang`: why a job stands still. Translates; decides nothing.

use std::path::PathBuf;

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use anyhow::Result;
use rankscope_cli::ExitCode;
use rankscope_cli::ending::stop_switch;
use rankscope_cli::job::Bar;
use rankscope_cli::output::{self, Format};
use rankscope_document::{HangDocument, HangKind};
use rankscope_pipeline::{FirstJudged, Followed, HangSources, OfRank, follow_ras};
use rankscope_report::hang_event_line;

/// A rank is to blame, or several are.
const NAMED: u8 = 3;

/// Why a job stands still: who waits for whom, and who for nobody.
///
/// Reads what torch's flight recorder dumped on each rank, as pickles or JSON: files called like nccl_trace_rank_3, which torch writes when a
/// collective times out, or what torch._C._distributed_c10d._dump_fr_trace_json() returns. Nothing of a pickle is run. Of a job that
/// still runs, the live pages of its run directory are read, and torch's worker servers, NCCL's RAS service and processes of this host can
/// be asked beside it or alone: what each tells is weighed. No process is stopped, and RAS names nobody but the dead. Ends with 3 where
/// ranks are to blame, 0 where the job runs or no rank is in an unfinished call, 1 where nobody can be blamed or nothing can be read.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Dumps, or folders of them; or the run directory of a job whose ranks keep live pages
    #[arg(required_unless_present_any = ["ras", "workers", "processes"], value_name = "DUMPS|RUN")]
    paths: Vec<PathBuf>,
    /// Ask NCCL's RAS service, which every process of a job has [default address: localhost:28028]
    #[arg(long, value_name = "HOST:PORT", num_args = 0..=1, require_equals = true, default_missing_value = "localhost:28028")]
    ras: Option<String>,
    /// Stay with the job and tell what NCCL's RAS service tells, a line each: processes that join or are given up. The job is judged at once and again when
    /// one was given up. Ends with the job, or with Ctrl-C; NCCL 2.29 and later tell
    #[arg(long, requires = "ras", conflicts_with_all = ["paths", "workers", "processes", "keep"])]
    follow: bool,
    /// With --follow: judge the job only once a process was given up. NCCL before 2.29, which tells nothing, may die of being asked while it begins
    #[arg(long, requires = "follow")]
    ask_later: bool,
    /// Ask the worker servers of torch's processes, in the order of their ranks unless a rank is given
    #[arg(long = "worker", value_name = "[RANK=]HOST:PORT", num_args = 1.., value_parser = worker)]
    workers: Vec<OfRank<String>>,
    /// Look at processes of this host: their states, and their stacks where py-spy is installed. Ranks are read from their environments
    #[arg(long = "pids", value_name = "[RANK=]PID", num_args = 1.., value_parser = process)]
    processes: Vec<OfRank<u32>>,
    /// Keep all that was told and the verdict in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    if let (true, Some(address)) = (args.follow, &args.ras) {
        let first = if args.ask_later { FirstJudged::OnceGivenUp } else { FirstJudged::AtOnce };
        return follow(address, first, args.format);
    }
    let sources =
        HangSources { paths: args.paths, ras: args.ras, workers: args.workers, processes: args.processes, keep: args.keep };
    let document = rankscope_pipeline::hang(&sources, &Bar::default())?;
    match args.format {
        Format::Json => output::answer(&serde_json::to_string_pretty(&document)?)?,
        Format::Table => output::answer(&rankscope_report::hang_terminal(&document, output::style()))?,
    }
    Ok(exit_code(&document))
}

fn exit_code(document: &HangDocument) -> ExitCode {
    match document.verdict.kind {
        HangKind::Healthy => ExitCode::SUCCESS,
        _ if document.verdict.roots.is_empty() => ExitCode::FAILURE,
        _ => ExitCode::from(NAMED),
    }
}

/// Ends as the last verdict does; a job that was not to be judged before anybody is given up, and of which nobody was, is well.
fn follow(address: &str, first: FirstJudged, format: Format) -> Result<ExitCode> {
    let stop = stop_switch()?;
    let unjudged = if first == FirstJudged::OnceGivenUp { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    let (mut code, mut told) = (unjudged, Ok(()));
    follow_ras(address, first, |news| {
        if let Some(Followed::Judged(document)) = &news {
            code = exit_code(document);
        }
        told = news.map_or(Ok(()), |news| say(&news, format));
        if told.is_err() || stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    told.map(|()| code)
}

/// With `--format json` each is a line.
fn say(news: &Followed, format: Format) -> Result<()> {
    output::answer(&match (news, format) {
        (Followed::Event(event), Format::Json) => serde_json::to_string(event)?,
        (Followed::Event(event), Format::Table) => hang_event_line(event),
        (Followed::Judged(document), Format::Json) => serde_json::to_string(document)?,
        (Followed::Judged(document), Format::Table) => rankscope_report::hang_terminal(document, output::style()),
        _ => return Ok(()),
    })?;
    Ok(())
}

/// `3=host:port`, `host:port`.
fn worker(text: &str) -> Result<OfRank<String>, &'static str> {
    let (rank, what) = of_rank(text)?;
    let is_address = what.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if is_address { Ok(OfRank { rank, what: what.to_owned() }) } else { Err("give HOST:PORT or RANK=HOST:PORT") }
}

/// `3=4711`, `4711`.
fn process(text: &str) -> Result<OfRank<u32>, &'static str> {
    let (rank, what) = of_rank(text)?;
    let what = what.parse().ok().filter(|pid| *pid > 0).ok_or("give PID or RANK=PID")?;
    Ok(OfRank { rank, what })
}

fn of_rank(text: &str) -> Result<(Option<u32>, &str), &'static str> {
    match text.split_once('=') {
        Some((rank, what)) => Ok((Some(rank.parse().map_err(|_| "before = there has to be a rank")?), what)),
        None => Ok((None, text)),
    }
}
