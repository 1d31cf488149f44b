//! `rankscope report`: traces in; a summary, `report.json`, `report.html` and `timeline.pftrace` out.

pub(crate) mod dataset;
mod markdown;
pub(crate) mod named;
mod snapshot;
mod tables;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ValueEnum;
use rankscope_analyze::ClassMode;
use rankscope_cli::ExitCode;
use rankscope_cli::job::{Bar, ClockArgs, MemoryArgs, WindowArgs, request};
use rankscope_cli::output::{self, Format};
use rankscope_document::Document;
use rankscope_formats::ArgsPolicy;
use rankscope_job::Rules;
use rankscope_pipeline::{Judged, Places, ReportRequest, Reported, Shown, Workbooks, report, run_directory};
use rankscope_report::Layout;
use rankscope_run::is_stored;
use rankscope_time::Rank;

use crate::report::named::Named;
use crate::report::tables::TableArgs;

/// Report on one run: where the time goes, who is late, and what limits it.
///
/// Reads Kineto/Chrome JSON, XSpace and Perfetto traces and rocprofv3's JSON, plain, .gz, .zst, or a .zip/.tar of ranks; and the
/// databases of rocprofv3 (rocpd) and of `nsys export --type sqlite`. Writes report.json, report.html and timeline.pftrace
/// into --out, and with --xlsx or --layout Excel workbooks. Never changes its inputs.
#[derive(Debug, clap::Args)]
#[command(override_usage = "rankscope report [OPTIONS] [TABLE] <TRACES>...")]
pub(crate) struct Args {
    /// Files, directories, archives or patterns of the traces of one run, or the folder of parts that `rankscope map` made of them; the
    /// name of a TABLE before them prints that table: ops, kernels, args, categories, gemm, conv, attention, idle, collectives, stragglers,
    /// groups, sizes, all2allv, memory and more; a memory snapshot of torch's (.pickle) in their place is read, too
    #[arg(required = true, value_name = "TRACES")]
    paths: Vec<PathBuf>,
    /// Directory for the report's files [default: the run directory itself, else rankscope-report; with --format json nothing is written unless given]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Also write the report as Markdown, for a pull request or a chat; - prints it in place of the summary
    #[arg(long, visible_alias = "md", value_name = "FILE")]
    markdown: Option<PathBuf>,
    #[command(flatten)]
    shown: ShownArgs,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    rules: RulesArgs,
    /// Report even if ranks are missing or files cannot be read
    #[arg(long)]
    partial: bool,
    #[command(flatten)]
    workbooks: WorkbookArgs,
    #[command(flatten)]
    dataset: dataset::DatasetArgs,
    /// Do not answer why ranks are late and what would help; takes less time and memory
    #[arg(long)]
    no_answers: bool,
    /// Do not write timeline.pftrace
    #[arg(long)]
    no_timeline: bool,
    #[command(flatten)]
    timeline: TimelineArgs,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    clocks: ClockArgs,
    #[command(flatten)]
    tables: TableArgs,
}

/// How traces are reduced to what a report is made of.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RulesArgs {
    /// Keep device work, launches and annotations only: less memory, no host operators in the timeline
    #[arg(long)]
    pub(crate) gpu_only: bool,
    /// How device work is classified
    #[arg(long, value_enum, default_value_t = ClassesArg::Default)]
    classes: ClassesArg,
    /// Also count kernels whose names match this regular expression as communication (may be repeated)
    #[arg(long, value_name = "REGEX")]
    comm_pattern: Vec<String>,
}

impl RulesArgs {
    pub(crate) fn rules(&self) -> Rules {
        let classes = match self.classes {
            ClassesArg::Default => ClassMode::Default,
            ClassesArg::Tracelens => ClassMode::Tracelens,
        };
        Rules::new(classes, self.comm_pattern.clone(), self.gpu_only)
    }
}

/// What of a job is shown.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct ShownArgs {
    /// Report on this step only
    #[arg(long, value_name = "N")]
    step: Option<i64>,
    /// Report on this rank only (collectives are still matched across all)
    #[arg(long, value_name = "N")]
    rank: Option<u32>,
}

impl ShownArgs {
    pub(crate) fn shown(self) -> Shown {
        Shown { step: self.step, rank: self.rank.map(Rank) }
    }
}

/// Which workbooks are written.
#[derive(Clone, Debug, Default, clap::Args)]
struct WorkbookArgs {
    /// Also write the report as an Excel workbook, with every table on a sheet of its own
    #[arg(long, value_name = "FILE")]
    xlsx: Option<PathBuf>,
    /// Also write the folder of workbooks that other tools' scripts expect, into --out
    #[arg(long, value_name = "TOOL")]
    layout: Option<Tree>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tree {
    /// tracelens_analysis, as aorta leaves it: a workbook of TraceLens' sheets for each rank, one of collectives, two of the ranks'
    /// times
    Aorta,
}

impl WorkbookArgs {
    fn workbooks(&self) -> Workbooks {
        Workbooks { xlsx: self.xlsx.clone(), aorta: self.layout == Some(Tree::Aorta) }
    }
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

/// Where a report goes that belongs to no run directory.
const FOLDER: &str = "rankscope-report";

pub(crate) fn run(mut args: Args) -> Result<ExitCode> {
    args.memory.bound_rows();
    let named = Named::taken(&mut args.paths);
    if let Some(why) = Named::mistaken(&args.paths).filter(|_| named.is_none()) {
        anyhow::bail!(why);
    }
    if let Some(why) = args.tables.misused(named) {
        return Ok(output::misused(&why));
    }
    if let Some(why) = args.dataset.misused(named) {
        return Ok(output::misused(why));
    }
    if args.tables.json {
        args.format = Format::Json;
    }
    let markdown = match markdown::Destination::of(args.markdown.as_deref(), named, args.format) {
        Ok(destination) => destination,
        Err(why) => return Ok(output::misused(why)),
    };
    if let Some(path) = snapshot::named_snapshot(&args.paths, named) {
        if let Some(why) = args.tables.misused_for_snapshot() {
            return Ok(output::misused(&why));
        }
        if markdown.is_some() {
            return Ok(output::misused("--markdown is a report on a job, and this is a memory snapshot"));
        }
        return snapshot::print(path, args.tables.top, args.format);
    }
    // A bucket is written into only if it is named for that.
    let run = || Some(run_directory(&args.paths)?).filter(|run| !is_stored(run));
    let places = match (&args.out, args.format, run()) {
        _ if named.is_some() => None,
        (Some(out), ..) => Some(Places::beside(out)),
        (None, Format::Json, _) => None,
        (None, Format::Table, Some(run)) => Some(Places::in_run(run)),
        (None, Format::Table, None) => Some(Places::beside(Path::new(FOLDER))),
    };
    let mut job = request(&args.paths, args.partial, &args.clocks);
    job.judging.window = args.window.window;
    // A table by itself has no room for answers.
    job.mapping.rules = args.rules.rules().with_answers(!args.no_answers && named.is_none());
    let mut request = ReportRequest::of(job);
    let draws = places.is_some() && !args.no_timeline;
    request.timeline = draws.then(|| (args.timeline.policy(), args.memory.keep()));
    request.shown = args.shown.shown();
    request.tables = args.tables.chosen(named);
    request.cards = args.tables.cards()?;
    request.workbooks = args.workbooks.workbooks();
    request.dataset = args.dataset.policy().map(|policy| (policy, args.memory.keep()));
    let bar = Bar::default();
    let mut reported = report(&request, &bar)?;
    let folder = args.out.clone().or_else(|| Some(run()?.join("report")));
    let folder = folder.unwrap_or_else(|| PathBuf::from(FOLDER));
    // Before the timeline, which lets go of what was kept.
    let dataset = args.dataset.write(&reported.judged, &reported.document, &bar)?;
    let (written, remark) = reported.write(places.as_ref(), &folder, draws, &bar)?;
    let written = written.into_iter().chain(dataset).collect();
    remark.iter().for_each(|remark| output::remark(remark));
    let Reported { document, judged, .. } = reported;
    if let Some(table) = named {
        std::mem::forget(judged);
        return args.tables.print(&document, table, args.format);
    }
    match markdown {
        Some(destination) => destination.say(&document, args.format, written, Some(&judged).filter(|_| draws))?,
        None => say(&document, args.format, written, Some(&judged).filter(|_| draws))?,
    }
    // The process ends here: giving back memory piece by piece would only take time.
    std::mem::forget(judged);
    Ok(ExitCode::SUCCESS)
}

/// Reports on the run directory `run` into itself, with everything as it is by default, and says what it found.
#[cfg(feature = "clock")]
pub(crate) fn into_run(run: &Path) -> Result<(Document, Vec<PathBuf>)> {
    let mut job = request(&[run.to_owned()], true, &ClockArgs::default());
    job.mapping.rules.answers = true;
    let mut request = ReportRequest::of(job);
    request.timeline = Some((TimelineArgs::default().policy(), MemoryArgs::default().keep()));
    let bar = Bar::default();
    let Reported { document, judged, .. } = report(&request, &bar)?;
    let written = rankscope_pipeline::write_report(&Places::in_run(run), &document, Some(&judged), &bar)?;
    Ok((document, written))
}

/// Prints `document`, and what was `written`; what has no timeline is said where one was wanted of what was `judged`.
pub(crate) fn say(document: &Document, format: Format, written: Vec<PathBuf>, judged: Option<&Judged>) -> Result<()> {
    match format {
        Format::Json => output::answer_by(|to| rankscope_report::write_json(document, Layout::Pretty, to))?,
        Format::Table => {
            let style = output::style();
            output::answer(&rankscope_report::terminal(document, style))?;
        }
    }
    if !written.is_empty() {
        say_written(&written, judged);
    }
    Ok(())
}

/// The files that were `written`, and why there is no timeline where one was wanted of what was `judged`.
pub(crate) fn say_written(written: &[PathBuf], judged: Option<&Judged>) {
    let paths = written.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join("  ");
    output::remark_apart(&format!("written: {paths}"));
    if judged.is_some_and(|judged| judged.parts.is_some()) {
        output::remark("timeline.pftrace is not written: parts hold no events");
    }
}
