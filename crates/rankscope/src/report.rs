//! `rankscope report`: traces in; a summary, `report.json`, `report.html` and `timeline.pftrace` out.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use rankscope_align::ClockEstimate;
use rankscope_analyze::{ClassMode, Classes, Job, JobInput, RankInput, RankReport, analyze};
use rankscope_collectives::{CommPatterns, Matched, RankCollectives, extract, match_ranks};
use rankscope_formats::perfetto::{RankView, SpanOfRank, Timeline};
use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_report::{Document, Layout, Style};
use rankscope_run::{Completeness, Outputs, completeness, settle_ranks};
use rankscope_time::{ClockMap, Rank, RankClock, ReferenceClock, Span};
use rankscope_trace::Trace;
use rayon::prelude::*;

use crate::document::{Source, document};
use crate::load::{Loaded, load};
use crate::output::{self, Format};

/// Report on one run: where the time goes, who is late, what is exposed.
///
/// Reads Kineto/Chrome JSON, XSpace and Perfetto traces, plain, .gz, .zst, or a .zip/.tar of ranks. Writes report.json,
/// report.html and timeline.pftrace into --out. Inputs are never written to.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, directories, archives or patterns of the traces of one run
    #[arg(required = true, value_name = "TRACES")]
    paths: Vec<PathBuf>,
    /// Directory for the report's files [default: rankscope-report; with --format json nothing is written unless given]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Keep device work, launches and annotations only: less memory, no host operators in the timeline
    #[arg(long)]
    gpu_only: bool,
    /// Report on this step alone
    #[arg(long, value_name = "N")]
    step: Option<i64>,
    /// Report on this rank alone (collectives are still matched across all)
    #[arg(long, value_name = "N")]
    rank: Option<u32>,
    /// How device work is classed
    #[arg(long, value_enum, default_value_t = ClassesArg::Default)]
    classes: ClassesArg,
    /// Kernels whose names match this regular expression communicate, too (may be repeated)
    #[arg(long, value_name = "REGEX")]
    comm_pattern: Vec<String>,
    /// Report even if ranks are missing or files cannot be read
    #[arg(long)]
    partial: bool,
    /// Do not write timeline.pftrace
    #[arg(long)]
    no_timeline: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ClassesArg {
    /// Fills are memory work; every known library communicates
    Default,
    /// As TraceLens classes: fills compute; nccl, rccl and cross_device_reduce communicate
    Tracelens,
}

type Map = ClockMap<RankClock, ReferenceClock>;

/// Everything the report is drawn from.
struct Analysed {
    loaded: Loaded,
    completeness: Completeness,
    collectives: Vec<RankCollectives>,
    matched: Matched,
    clocks: ClockEstimate,
    maps: Vec<Map>,
    job: Job,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let classes = classes(&args)?;
    let scope = if args.gpu_only { Scope::Device } else { Scope::All };
    let mut loaded = load(&args.paths, ArgsPolicy::Analysis, scope, args.partial)?;
    settle_ranks(&mut loaded.traces)?;
    let completeness = completeness(&loaded.traces);
    check_complete(&completeness, &args)?;
    let analysed = analyse(loaded, completeness, &classes, args.step)?;
    let title = args.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ");
    let mut document = document(&source(&analysed, &title, &classes));
    select(&mut document, &args)?;
    let directory = match (&args.out, args.format) {
        (Some(out), _) => Some(out.clone()),
        (None, Format::Json) => None,
        (None, Format::Table) => Some(PathBuf::from("rankscope-report")),
    };
    let written = directory.map(|directory| write(&directory, &document, &analysed, !args.no_timeline)).transpose()?;
    say(&document, args.format, written.unwrap_or_default())?;
    // The process ends here: giving back memory piece by piece would only take time.
    std::mem::forget(analysed);
    Ok(ExitCode::SUCCESS)
}

fn classes(args: &Args) -> Result<Classes> {
    Ok(match args.classes {
        ClassesArg::Default => Classes { mode: ClassMode::Default, patterns: CommPatterns::with_user(&args.comm_pattern)? },
        ClassesArg::Tracelens => Classes { mode: ClassMode::Tracelens, patterns: CommPatterns::tracelens() },
    })
}

fn check_complete(completeness: &Completeness, args: &Args) -> Result<()> {
    if !completeness.accidental || args.partial {
        return Ok(());
    }
    let paths = args.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ");
    bail!(
        "{paths}: the job has {} ranks, and there is no trace of rank {}. Add the missing {}, or pass --partial to report on \
         the ranks that are there",
        completeness.world_size.unwrap_or(0),
        list(&completeness.missing),
        if completeness.missing.len() == 1 { "file" } else { "files" }
    )
}

/// The ranks as a list for people, cut where it gets long.
pub(crate) fn list(ranks: &[Rank]) -> String {
    let shown = ranks.iter().take(12).map(Rank::to_string).collect::<Vec<_>>().join(", ");
    match ranks.len().saturating_sub(12) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn analyse(loaded: Loaded, completeness: Completeness, classes: &Classes, step: Option<i64>) -> Result<Analysed> {
    let traces = &loaded.traces;
    let rank_of = |trace: &Trace| trace.provenance.rank.map_or(Rank(0), |(rank, _)| rank);
    let collectives: Vec<_> = traces.par_iter().map(|trace| extract(rank_of(trace), trace, &classes.patterns)).collect();
    let mut matched = match_ranks(&collectives);
    let hosts: Vec<_> = traces.iter().map(|trace| trace.provenance.host.as_deref()).collect();
    let clocks = rankscope_align::estimate(&collectives, &matched, &hosts);
    let maps: Vec<Map> = clocks
        .clocks
        .iter()
        .map(|clock| {
            let half_width = clock.bound.width_ns().map_or(0, |width| width.unsigned_abs() / 2);
            if clock.offset_ns == 0 {
                Map::identity()
            } else {
                Map::from_offset(Span::from_nanos(-clock.offset_ns), half_width)
            }
        })
        .collect();
    let reports: Vec<RankReport> = traces
        .par_iter()
        .zip(&maps)
        .map(|(trace, map)| RankReport::of(RankInput { rank: rank_of(trace), trace, map }, classes))
        .collect();
    if let Some(step) = step {
        keep_step(&mut matched, &collectives, &maps, &reports, step)?;
    }
    let input =
        JobInput { collectives: &collectives, matched: &matched, uncertainty_ns: clocks.agreement_ns.unwrap_or(i64::MAX) };
    let job = analyze(reports, &maps.iter().collect::<Vec<_>>(), input);
    Ok(Analysed { completeness, collectives, matched, clocks, maps, job, loaded })
}

/// Keeps the collectives that start within the step on the rank they are first found on.
fn keep_step(
    matched: &mut Matched,
    collectives: &[RankCollectives],
    maps: &[Map],
    reports: &[RankReport],
    step: i64,
) -> Result<()> {
    let windows: BTreeMap<usize, (i64, i64)> = reports
        .iter()
        .enumerate()
        .filter_map(|(at, report)| {
            let (window, _) = report.steps.iter().find(|(window, _)| window.number == step)?;
            Some((at, (window.start_ns, window.end_ns)))
        })
        .collect();
    if windows.is_empty() {
        let mut known: Vec<_> =
            reports.iter().flat_map(|report| report.steps.iter().map(|(window, _)| window.number)).collect();
        known.sort_unstable();
        known.dedup();
        match (known.first(), known.last()) {
            (Some(first), Some(last)) => bail!("there is no step {step}; the traces hold steps {first} to {last}"),
            _ => bail!("there is no step {step}: the traces mark no steps. Leave --step out to report on everything"),
        }
    }
    matched.instances.retain(|instance| {
        instance.members.iter().any(|member| {
            let start = collectives[member.rank].collectives[member.collective].start_ns;
            let start = maps[member.rank].map(rankscope_time::Instant::from_nanos_since_epoch(start)).nanos_since_epoch();
            windows.get(&member.rank).is_some_and(|(from, to)| (*from..*to).contains(&start))
        })
    });
    Ok(())
}

fn source<'a>(analysed: &'a Analysed, title: &'a str, classes: &Classes) -> Source<'a> {
    Source {
        title,
        classes: classes.mode,
        traces: &analysed.loaded.traces,
        skipped: &analysed.loaded.skipped,
        completeness: &analysed.completeness,
        clocks: &analysed.clocks,
        job: &analysed.job,
    }
}

/// Narrows the document to the step and rank asked for.
fn select(document: &mut Document, args: &Args) -> Result<()> {
    if let Some(step) = args.step {
        for rank in &mut document.ranks {
            rank.steps.retain(|known| known.step == step);
            let only = rank.steps.first();
            rank.time_ns = only.map_or_else(Default::default, |only| only.time_ns);
            rank.window_ns = only.map_or([0, 0], |only| only.window_ns);
        }
    }
    if let Some(rank) = args.rank {
        if document.ranks.iter().all(|known| known.rank != rank) {
            let known: Vec<_> = document.ranks.iter().map(|rank| Rank(rank.rank)).collect();
            bail!("{}: there is no trace of rank {rank}; there are ranks {}", document.title, list(&known));
        }
        document.ranks.retain(|known| known.rank == rank);
    }
    Ok(())
}

fn write(directory: &Path, document: &Document, analysed: &Analysed, timeline: bool) -> Result<Vec<PathBuf>> {
    let mut outputs = Outputs::into_directory(directory)?;
    let html = rankscope_report::html(document)?;
    let json = rankscope_report::json(document, Layout::Pretty);
    outputs.write("report.html", |file| Ok::<_, anyhow::Error>(file.write_all(html.as_bytes())?))?;
    outputs.write("report.json", |file| Ok::<_, anyhow::Error>(file.write_all(json.as_bytes())?))?;
    if timeline {
        outputs.write("timeline.pftrace", |file| write_timeline(file, analysed)).context("timeline.pftrace")?;
    }
    Ok(outputs.commit()?)
}

/// All ranks on one clock, with an arrow through every matched collective.
fn write_timeline(file: &mut impl Write, analysed: &Analysed) -> Result<()> {
    let mut timeline = Timeline::new(file);
    let complete = analysed.matched.instances.iter().filter(|instance| instance.complete && instance.members.len() > 1);
    timeline.connect(complete.map(|instance| {
        instance.members.iter().map(|member| SpanOfRank {
            rank: member.rank,
            span: analysed.collectives[member.rank].collectives[member.collective].span,
        })
    }));
    let views: Vec<_> = analysed
        .loaded
        .traces
        .iter()
        .zip(&analysed.maps)
        .map(|(trace, map)| RankView { trace, rank: trace.provenance.rank.map(|(rank, _)| rank), map })
        .collect();
    timeline.add(&views)?;
    timeline.finish()?;
    Ok(())
}

fn say(document: &Document, format: Format, written: Vec<PathBuf>) -> Result<()> {
    match format {
        Format::Json => output::answer(&rankscope_report::json(document, Layout::Pretty))?,
        Format::Table => {
            let style = Style { color: output::colored(), width: output::columns() };
            output::answer(&rankscope_report::terminal(document, style))?;
        }
    }
    if !written.is_empty() {
        let paths = written.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join("  ");
        output::remark(&format!("\nwritten: {paths}"));
    }
    Ok(())
}
