//! `rankscope report`: traces in; a summary, `report.json`, `report.html` and `timeline.pftrace` out.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use rankscope_align::RankMap;
use rankscope_analyze::{ClassMode, Classes, Job as Analysis, JobInput, RankInput, RankReport, analyze};
use rankscope_collectives::{CommPatterns, Matched, RankCollectives};
use rankscope_document::Document;
use rankscope_formats::perfetto::{RankView, SpanOfRank, Timeline};
use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_report::{Layout, Style};
use rankscope_run::Outputs;
use rankscope_time::{Instant, Rank};
use rayon::prelude::*;

use crate::document::{Source, document};
use crate::job::{ClockArgs, Job, JobOptions, WindowArgs, list, rank_of, run_directory};
use crate::output::{self, Format};

/// Report on one run: where the time goes, who is late, and what limits it.
///
/// Reads Kineto/Chrome JSON, XSpace and Perfetto traces, plain, .gz, .zst, or a .zip/.tar of ranks. Writes report.json,
/// report.html and timeline.pftrace into --out. Never changes its inputs.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, directories, archives or patterns of the traces of one run
    #[arg(required = true, value_name = "TRACES")]
    paths: Vec<PathBuf>,
    /// Directory for the report's files [default: the run directory itself, else rankscope-report; with --format json nothing is written unless given]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Keep device work, launches and annotations only: less memory, no host operators in the timeline
    #[arg(long)]
    gpu_only: bool,
    /// Report on this step only
    #[arg(long, value_name = "N")]
    step: Option<i64>,
    #[command(flatten)]
    window: WindowArgs,
    /// Report on this rank only (collectives are still matched across all)
    #[arg(long, value_name = "N")]
    rank: Option<u32>,
    /// How device work is classified
    #[arg(long, value_enum, default_value_t = ClassesArg::Default)]
    classes: ClassesArg,
    /// Also count kernels whose names match this regular expression as communication (may be repeated)
    #[arg(long, value_name = "REGEX")]
    comm_pattern: Vec<String>,
    /// Report even if ranks are missing or files cannot be read
    #[arg(long)]
    partial: bool,
    /// Do not write timeline.pftrace
    #[arg(long)]
    no_timeline: bool,
    #[command(flatten)]
    timeline: TimelineArgs,
    #[command(flatten)]
    clocks: ClockArgs,
}

/// What the timeline holds beside events.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct TimelineArgs {
    /// Leave arguments (shapes, bytes, process groups) and memory counters out of timeline.pftrace: about half the size
    #[arg(long, conflicts_with = "no_timeline")]
    slim: bool,
}

impl TimelineArgs {
    /// What to read for it.
    pub(crate) fn policy(self) -> ArgsPolicy {
        if self.slim { ArgsPolicy::Analysis } else { ArgsPolicy::All }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ClassesArg {
    /// Fills count as memory work, kernels of every known library as communication
    Default,
    /// As TraceLens does: fills count as computation; nccl, rccl and cross_device_reduce as communication
    Tracelens,
}

/// Everything the report is drawn from.
struct Analysed {
    job: Job,
    analysis: Analysis,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let classes = classes(&args)?;
    let outputs = match (&args.out, args.format, run_directory(&args.paths)) {
        (Some(out), ..) => Some(Places::beside(out)),
        (None, Format::Json, _) => None,
        (None, Format::Table, Some(run)) => Some(Places::in_run(run)),
        (None, Format::Table, None) => Some(Places::beside(Path::new("rankscope-report"))),
    };
    let draws = outputs.is_some() && !args.no_timeline;
    let options = JobOptions {
        args: if draws { args.timeline.policy() } else { ArgsPolicy::Analysis },
        scope: if args.gpu_only { Scope::Device } else { Scope::All },
        partial: args.partial,
        patterns: classes.patterns.clone(),
        clocks: args.clocks.choice(),
        measured: args.clocks.measured.clone(),
        window: args.window.window,
    };
    let analysed = analyse(Job::read(&args.paths, &options)?, &classes, args.step)?;
    let title = args.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ");
    let mut document = document(&source(&analysed, &title, &classes));
    select(&mut document, &args)?;
    let written = outputs.map(|places| write(&places, &document, &analysed, !args.no_timeline)).transpose()?;
    say(&document, args.format, written.unwrap_or_default())?;
    // The process ends here: giving back memory piece by piece would only take time.
    std::mem::forget(analysed);
    Ok(ExitCode::SUCCESS)
}

/// Reports on the run directory `run` into itself, with everything as it is by default, and says what it found.
#[cfg(feature = "clock")]
pub(crate) fn into_run(run: &Path) -> Result<(Document, Vec<PathBuf>)> {
    let classes = Classes { mode: ClassMode::Default, patterns: CommPatterns::with_user(&[])? };
    let options =
        JobOptions { args: TimelineArgs::default().policy(), ..JobOptions::for_analysis(true, &ClockArgs::default())? };
    let analysed = analyse(Job::read(&[run.to_owned()], &options)?, &classes, None)?;
    let document = document(&source(&analysed, &run.display().to_string(), &classes));
    let written = write(&Places::in_run(run), &document, &analysed, true)?;
    Ok((document, written))
}

/// Where files go.
struct Places {
    report: PathBuf,
    timeline: PathBuf,
}

impl Places {
    fn beside(folder: &Path) -> Self {
        Self { report: folder.to_owned(), timeline: folder.to_owned() }
    }

    fn in_run(run: &Path) -> Self {
        Self { report: run.join("report"), timeline: run.to_owned() }
    }
}

fn classes(args: &Args) -> Result<Classes> {
    Ok(match args.classes {
        ClassesArg::Default => Classes { mode: ClassMode::Default, patterns: CommPatterns::with_user(&args.comm_pattern)? },
        ClassesArg::Tracelens => Classes { mode: ClassMode::Tracelens, patterns: CommPatterns::tracelens() },
    })
}

fn analyse(mut job: Job, classes: &Classes, step: Option<i64>) -> Result<Analysed> {
    let maps: Vec<&RankMap> = job.clocks.ranks.iter().map(|rank| &rank.map).collect();
    let reports: Vec<RankReport> = job
        .loaded
        .traces
        .par_iter()
        .zip(&maps)
        .map(|(trace, map)| RankReport::of(RankInput { rank: rank_of(trace), trace, map }, classes))
        .collect();
    if let Some(step) = step {
        keep_step(&mut job.matched, &job.collectives, &maps, &reports, step)?;
    }
    let input = JobInput {
        collectives: &job.collectives,
        matched: &job.matched,
        open_ns: job.open_between_ranks_ns(),
        comparable: job.doubts.is_empty(),
    };
    let mut analysis = analyze(reports, &maps, input);
    job.weigh(&mut analysis.verdict, analysis.windows.length_ns());
    Ok(Analysed { job, analysis })
}

/// Keeps the collectives that start within the step on the rank they are first found on.
fn keep_step(
    matched: &mut Matched,
    collectives: &[RankCollectives],
    maps: &[&RankMap],
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
            _ => bail!("there is no step {step}: no steps are marked in the traces. Leave out --step to report on everything"),
        }
    }
    matched.instances.retain(|instance| {
        instance.members.iter().any(|member| {
            let start = collectives[member.rank].collectives[member.collective].start_ns;
            let start = maps[member.rank].map(Instant::from_nanos_since_epoch(start)).nanos_since_epoch();
            windows.get(&member.rank).is_some_and(|(from, to)| (*from..*to).contains(&start))
        })
    });
    Ok(())
}

fn source<'a>(analysed: &'a Analysed, title: &'a str, classes: &Classes) -> Source<'a> {
    Source { title, classes: classes.mode, job: &analysed.job, analysis: &analysed.analysis }
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

fn write(places: &Places, document: &Document, analysed: &Analysed, timeline: bool) -> Result<Vec<PathBuf>> {
    let mut outputs = Outputs::into_directory(&places.report)?;
    let html = rankscope_report::html(document)?;
    let json = rankscope_report::json(document, Layout::Pretty);
    outputs.write("report.html", |file| Ok::<_, anyhow::Error>(file.write_all(html.as_bytes())?))?;
    outputs.write("report.json", |file| Ok::<_, anyhow::Error>(file.write_all(json.as_bytes())?))?;
    let mut drawn = Outputs::into_directory(&places.timeline)?;
    if timeline {
        drawn.write("timeline.pftrace", |file| write_timeline(file, &analysed.job)).context("timeline.pftrace")?;
    }
    let mut written = outputs.commit()?;
    written.extend(drawn.commit()?);
    Ok(written)
}

/// All ranks on one clock, with an arrow through every matched collective.
pub(crate) fn write_timeline(file: &mut impl Write, job: &Job) -> Result<()> {
    let mut timeline = Timeline::new(file);
    let complete = job.matched.instances.iter().filter(|instance| instance.complete && instance.members.len() > 1);
    timeline.connect(complete.map(|instance| {
        instance.members.iter().map(|member| SpanOfRank {
            rank: member.rank,
            span: job.collectives[member.rank].collectives[member.collective].span,
        })
    }));
    let traces = job.loaded.traces.iter().enumerate();
    let views: Vec<_> =
        traces.map(|(index, trace)| RankView { trace, rank: Some(rank_of(trace)), map: job.map(index) }).collect();
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
        output::remark_apart(&format!("written: {paths}"));
    }
    Ok(())
}
