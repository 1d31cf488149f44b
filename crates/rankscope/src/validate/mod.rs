//! `rankscope validate`: can what the traces show have happened, and will a viewer show all of it?

mod document;
mod table;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;
use rankscope_align::RankMap;
use rankscope_align::validate::{Meeting, Participants, RankEvidence, meet, write_csv};
use rankscope_analyze::ClassMode;
use rankscope_collectives::{Matched, RankCollectives, match_ranks};
use rankscope_job::{ClockChoice, Job, Rules};
use rankscope_pipeline::{clock_folder, judged};
use rankscope_run::write_file;
use rankscope_time::Rank;

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
    /// Files, directories, archives or patterns of the traces of one run, or the folder of parts that `rankscope map --checks` made of
    /// them
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

/// What there is to judge. Lists have one entry a rank.
pub(crate) struct Evidence {
    pub(crate) ranks: Vec<Origin>,
    /// What is to be said of each by itself.
    pub(crate) found: Vec<RankEvidence>,
    pub(crate) collectives: Vec<RankCollectives>,
    /// Which of those belong together, where anybody has looked already.
    pub(crate) matched: Option<Matched>,
    /// To the clock they are judged on.
    pub(crate) maps: Vec<RankMap>,
    /// Which clocks these are, by and large.
    pub(crate) clocks: &'static str,
    pub(crate) notes: Vec<String>,
    pub(crate) missing_ranks: Vec<u32>,
    pub(crate) skipped: Vec<String>,
}

/// Where what is said of a rank comes from.
pub(crate) struct Origin {
    pub(crate) rank: Rank,
    pub(crate) host: Option<String>,
    pub(crate) file: String,
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
    let (judged, title) = judge(&args)?;
    let document = document(&judged, title);
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

/// What is found, and what it is called.
fn judge(args: &Args) -> Result<(Judged, String)> {
    let mut request = request_by(&args.paths, args.partial, &args.measured, args.clocks()?);
    request.mapping.rules = Rules::new(ClassMode::Default, args.comm_pattern.clone(), false).with_checks(true);
    let judged = judged(&request, &Bar::default())?;
    Ok((Judged::of(Evidence::of(judged.job)), judged.title))
}

impl Evidence {
    fn of(job: Job) -> Self {
        let (ranks, found) = job
            .ranks
            .into_iter()
            .map(|rank| {
                let origin = Origin { rank: rank.rank, host: rank.about.host, file: rank.about.file };
                (origin, rank.evidence.unwrap_or_default())
            })
            .unzip();
        Self {
            ranks,
            found,
            collectives: job.collectives,
            matched: Some(job.matched),
            clocks: job.clocks.method.name(),
            maps: job.clocks.ranks.into_iter().map(|rank| rank.map).collect(),
            notes: job.notes,
            missing_ranks: job.completeness.missing.iter().map(|rank| rank.0).collect(),
            skipped: job.skipped,
        }
    }
}

impl Judged {
    /// Judges `evidence`.
    pub(crate) fn of(mut evidence: Evidence) -> Self {
        let participants = Participants::of(&evidence.found, std::mem::take(&mut evidence.collectives));
        let matched = evidence.matched.take().filter(|_| participants.are_ranks());
        let matched = matched.unwrap_or_else(|| match_ranks(&participants.collectives));
        let meetings = meet(&evidence.found, &evidence.maps.iter().collect::<Vec<_>>(), &participants, &matched);
        Self { evidence, participants, matched, meetings }
    }
}

impl Args {
    fn clocks(&self) -> Result<ClockChoice> {
        Ok(match self.align {
            Some(Align::None) => ClockChoice::AsRecorded,
            Some(Align::FromTraces) => ClockChoice::FromTraces,
            Some(Align::Best) => ClockChoice::Best,
            None if clock_folder(&self.paths, self.measured.folder())?.is_none() => ClockChoice::AsRecorded,
            None => ClockChoice::Best,
        })
    }
}
