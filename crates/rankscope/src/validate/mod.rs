//! `rankscope validate`: can what the traces show have happened, and will a viewer show all of it?

mod document;
mod table;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use clap::ValueEnum;
use rankscope_align::RankMap;
use rankscope_align::validate::{Check, Meeting, Participants, check_trace, meet, write_csv};
use rankscope_analyze::ClassMode;
use rankscope_collectives::{CommPatterns, Matched, RankCollectives, collectives_alone, extract, match_nothing, match_ranks};
use rankscope_formats::ArgsPolicy;
use rankscope_job::{ClockChoice, JobRank, Place, Rules};
use rankscope_pipeline::{judged_visiting, run_directory};
use rankscope_run::write_file;
use rankscope_time::Rank;
use rankscope_trace::{RankSource, Trace};

pub(crate) use self::document::document;
pub(crate) use self::table::text;
use crate::job::{Bar, MeasuredArgs, request_by};
use crate::output::{self, Format};

/// Check traces for impossible or lost events: causality, torch's rules, nesting, flows.
///
/// Exits with 3 if anything impossible is found: a rank that left a collective before another entered it, a receive before its
/// send, a kernel before its launch. What a viewer would leave out or draw wrongly (overlapping spans, flows without a start) is
/// counted separately and fails only with --strict, because profilers do write such files. Data that older profilers did not
/// record is a warning. Traces are checked as recorded unless --align puts the ranks on one clock first.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, directories, archives or patterns of the traces of one run
    #[arg(required = true, value_name = "TRACES")]
    paths: Vec<PathBuf>,
    /// The clocks on which collectives are checked [default: best for a run directory or with --clocks, none for plain traces]
    #[arg(long, value_enum)]
    align: Option<Align>,
    #[command(flatten)]
    measured: MeasuredArgs,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Write the JSON document to this file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write every matched collective to this file: starts, gap and correlation ids of all ranks
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Also exit with 3 for what a viewer would leave out
    #[arg(long)]
    strict: bool,
    /// Also count kernels whose names match this regular expression as communication (may be repeated)
    #[arg(long, value_name = "REGEX")]
    comm_pattern: Vec<String>,
    /// Continue without files that cannot be read
    #[arg(long)]
    partial: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Align {
    /// As recorded
    None,
    /// As the collectives of the traces suggest
    FromTraces,
    /// As measured where clocks were measured, else as the collectives suggest
    Best,
}

/// What there is to judge. Lists have one entry a trace.
pub(crate) struct Evidence {
    /// With their collectives at least.
    pub(crate) traces: Vec<Trace>,
    /// What is to be said of each by itself.
    pub(crate) checks: Vec<Vec<Check>>,
    pub(crate) collectives: Vec<RankCollectives>,
    /// To the clock they are judged on.
    pub(crate) maps: Vec<RankMap>,
    /// Which clocks these are, by and large.
    pub(crate) clocks: &'static str,
    pub(crate) notes: Vec<String>,
    pub(crate) missing_ranks: Vec<u32>,
    pub(crate) skipped: Vec<String>,
    /// Whether the traces may be those of one job.
    pub(crate) comparable: bool,
}

/// What was judged, and what came of it.
pub(crate) struct Judged {
    evidence: Evidence,
    participants: Participants,
    matched: Matched,
    meetings: Vec<Meeting>,
}

/// A broken rule, as the exit code tells it.
pub(crate) const BROKEN: u8 = 3;

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let judged = judge(&args)?;
    let document = document(&judged, &args.paths);
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
        Format::Table => output::answer(&text(&document))?,
    }
    let broken = document.violations > 0 || (args.strict && document.losses > 0);
    // The process ends here: giving back memory piece by piece would only take time.
    std::mem::forget(judged);
    Ok(if broken { ExitCode::from(BROKEN) } else { ExitCode::SUCCESS })
}

fn judge(args: &Args) -> Result<Judged> {
    let mut request = request_by(&args.paths, args.partial, &args.measured, args.clocks());
    request.mapping.reading.args = ArgsPolicy::All;
    request.mapping.rules = Rules::new(ClassMode::Default, args.comm_pattern.clone(), false);
    let patterns = CommPatterns::with_user(&args.comm_pattern)?;
    let seen: Mutex<BTreeMap<Place, Seen>> = Mutex::default();
    let visit = |place: Place, trace: &Trace| {
        let one = Seen { checks: check_trace(trace), collectives: collectives_alone(trace, &patterns) };
        seen.lock().unwrap_or_else(PoisonError::into_inner).insert(place, one);
    };
    let job = judged_visiting(&request, &visit, &Bar::default())?.job;
    let comparable = job.is_comparable();
    let mut seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    let of_rank = |rank: &JobRank| {
        let exports = rank.exports.iter().filter_map(|export| seen.remove(&export.place));
        let mut whole = exports.reduce(Seen::join).unwrap_or_default();
        whole.collectives.provenance.rank = Some((rank.rank, RankSource::Order));
        whole
    };
    let (checks, traces): (Vec<_>, Vec<_>) = job.ranks.iter().map(of_rank).map(|seen| (seen.checks, seen.collectives)).unzip();
    let evidence = Evidence {
        checks,
        clocks: job.clocks.method.name(),
        maps: job.clocks.ranks.into_iter().map(|rank| rank.map).collect(),
        notes: job.notes,
        missing_ranks: job.completeness.missing.iter().map(|rank| rank.0).collect(),
        skipped: job.skipped,
        collectives: traces.iter().map(|trace| extract(rank_of(trace), trace, &patterns)).collect(),
        traces,
        comparable,
    };
    Ok(Judged::of(evidence))
}

/// What is kept of one trace.
#[derive(Default)]
struct Seen {
    checks: Vec<Check>,
    /// Its collectives and what describes them.
    collectives: Trace,
}

impl Seen {
    /// Both, the other a later export of the same rank.
    fn join(mut self, later: Self) -> Self {
        self.checks.iter_mut().zip(later.checks).for_each(|(own, later)| own.join(later));
        self.collectives.join_export(later.collectives);
        self
    }
}

/// The rank of a trace whose rank is settled.
pub(crate) fn rank_of(trace: &Trace) -> Rank {
    trace.provenance.rank.map_or(Rank(0), |(rank, _)| rank)
}

impl Judged {
    /// Judges `evidence`.
    pub(crate) fn of(mut evidence: Evidence) -> Self {
        let participants = Participants::of(&evidence.traces, std::mem::take(&mut evidence.collectives));
        let by_trace = participants.list.len() == evidence.traces.len();
        let matches = if by_trace && !evidence.comparable { match_nothing } else { match_ranks };
        let matched = matches(&participants.collectives);
        let meetings = meet(&evidence.traces, &evidence.maps.iter().collect::<Vec<_>>(), &participants, &matched);
        Self { evidence, participants, matched, meetings }
    }
}

impl Args {
    fn clocks(&self) -> ClockChoice {
        let plain = self.measured.folder().is_none() && run_directory(&self.paths).is_none();
        match self.align {
            Some(Align::None) => ClockChoice::AsRecorded,
            Some(Align::FromTraces) => ClockChoice::FromTraces,
            Some(Align::Best) => ClockChoice::Best,
            None if plain => ClockChoice::AsRecorded,
            None => ClockChoice::Best,
        }
    }
}
