//! `rankscope validate`: can what the traces show have happened, and will a viewer show all of it?

mod document;
mod table;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;
use rankscope_align::RankClocks;
use rankscope_align::validate::{Check, Meeting, Participants, check_trace, meet, write_csv};
use rankscope_collectives::{CommPatterns, Matched, RankCollectives, extract, match_ranks};
use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_run::{Completeness, completeness, settle_ranks, write_file};
use rankscope_time::{ClockMap, Rank, RankClock, ReferenceClock, Span};
use rankscope_trace::Trace;
use rayon::prelude::*;

use self::document::Document;
use crate::load::{Loaded, load};
use crate::output::{self, Format};

/// Check traces: causality across ranks, torch's six rules, nesting, flows, losses.
///
/// Exit code 3 if anything is found that cannot have happened: a rank that left a collective before another entered it, a
/// receive before its send, or a broken rule of torch's own validator. What a viewer would leave out (overlapping spans,
/// arrows without a beginning) is counted beside it, and fails with --strict only: profilers write such files. Traces are
/// judged as they are unless --align puts the ranks on one clock first.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, directories, archives or patterns of the traces of one run
    #[arg(required = true, value_name = "TRACES")]
    paths: Vec<PathBuf>,
    /// On which clocks collectives are judged
    #[arg(long, value_enum, default_value_t = Align::None)]
    align: Align,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Write the JSON document to this file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write every matched collective to this file: starts, gap and correlation ids of all ranks
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Exit with 3 for what a viewer would leave out, too
    #[arg(long)]
    strict: bool,
    /// Kernels whose names match this regular expression communicate, too (may be repeated)
    #[arg(long, value_name = "REGEX")]
    comm_pattern: Vec<String>,
    /// Pass over files that cannot be read
    #[arg(long)]
    partial: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Align {
    /// As recorded
    None,
    /// As the collectives of the traces allow
    FromTraces,
}

type Map = ClockMap<RankClock, ReferenceClock>;

/// What the verb judged, and what came of it.
struct Judged {
    loaded: Loaded,
    completeness: Completeness,
    participants: Participants,
    matched: Matched,
    meetings: Vec<Meeting>,
    /// By trace.
    checks: Vec<Vec<Check>>,
    /// What clocks it was judged on, as a word.
    clocks: &'static str,
}

/// A broken rule, as the exit code tells it.
const BROKEN: u8 = 3;

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let judged = judge(&args)?;
    let document = Document::of(&judged, &args.paths);
    if let Some(path) = &args.csv {
        write_file(path, |file| Ok::<_, anyhow::Error>(write_csv(file, &judged.meetings, judged.participants.list.len())?))?;
    }
    let json = || serde_json::to_string_pretty(&document);
    if let Some(path) = &args.output {
        let text = json()?;
        write_file(path, |file| Ok::<_, anyhow::Error>(file.write_all(text.as_bytes())?))?;
    }
    match args.format {
        Format::Json => output::answer(&json()?)?,
        Format::Table => output::answer(&table::text(&document))?,
    }
    let broken = document.violations > 0 || (args.strict && document.losses > 0);
    // The process ends here: giving back memory piece by piece would only take time.
    std::mem::forget(judged);
    Ok(if broken { ExitCode::from(BROKEN) } else { ExitCode::SUCCESS })
}

fn judge(args: &Args) -> Result<Judged> {
    let patterns = CommPatterns::with_user(&args.comm_pattern)?;
    let mut loaded = load(&args.paths, ArgsPolicy::All, Scope::All, args.partial)?;
    settle_ranks(&mut loaded.traces)?;
    let traces = &loaded.traces;
    let rank_of = |trace: &Trace| trace.provenance.rank.map_or(Rank(0), |(rank, _)| rank);
    let found: Vec<(RankCollectives, Vec<Check>)> =
        traces.par_iter().map(|trace| (extract(rank_of(trace), trace, &patterns), check_trace(trace))).collect();
    let (collectives, checks): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    let (maps, clocks) = clocks(args.align, traces, &collectives);
    let participants = Participants::of(traces, collectives);
    let matched = match_ranks(&participants.collectives);
    let meetings = meet(traces, &maps.iter().collect::<Vec<_>>(), &participants, &matched);
    let completeness = completeness(traces);
    Ok(Judged { completeness, participants, matched, meetings, checks, clocks, loaded })
}

/// The way from every trace's clock to the one all are judged on, and what that one is.
fn clocks(align: Align, traces: &[Trace], collectives: &[RankCollectives]) -> (Vec<Map>, &'static str) {
    match align {
        Align::None => (vec![Map::identity(); traces.len()], "as_recorded"),
        Align::FromTraces => {
            let hosts: Vec<_> = traces.iter().map(|trace| trace.provenance.host.as_deref()).collect();
            let estimate = rankscope_align::estimate(collectives, &match_ranks(collectives), &hosts);
            let map = |clock: &RankClocks| {
                let half_width = clock.bound.width_ns().map_or(0, |width| width.unsigned_abs() / 2);
                Map::from_offset(Span::from_nanos(-clock.offset_ns), half_width)
            };
            (estimate.clocks.iter().map(map).collect(), "from_traces")
        }
    }
}
