//! `rankscope spans`: what each name of span costs, of any program, as a table or for the viewers of profiles.

mod csv;
mod export;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use rankscope_analyze::spans::{By, Order, Selection, SpanTable};
use rankscope_cli::ExitCode;
use rankscope_cli::job::Bar;
use rankscope_cli::output;
use rankscope_document::{SpansBy, SpansSort};
use rankscope_formats::ArgsPolicy;
use rankscope_pipeline::{ReadSpans, spans_document, title};
use rankscope_report::spans_terminal;
use regex_lite::Regex;

use export::{Export, Flame};

/// Where the time of any program goes: spans by name, with count, total, self and p99.
///
/// Reads recordings, live files (also those of a process that was killed), Kineto/Chrome JSON, XSpace and Perfetto traces. Several
/// files or a folder are several processes, added up. The self time of a span is its length less that of the spans inside it on
/// the same thread; the self times of a thread add up to the time that its spans cover. Asynchronous spans, which may wait, have
/// a table of their own. A percentile is one of the lengths, by nearest rank.
///
/// With --flame, --pprof or --otlp the spans are written for other tools instead; all weights are nanoseconds.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, directories, archives or patterns of traces
    #[arg(required = true, value_name = "FILE")]
    paths: Vec<PathBuf>,
    /// What has rows of its own; with --flame and --pprof, what the outermost frame is
    #[arg(long, value_enum, default_value_t = ByArg::Name)]
    by: ByArg,
    /// What comes first
    #[arg(long, value_enum, default_value_t = SortArg::Own)]
    sort: SortArg,
    /// Rows to show of each table [default: 25; all with --format json or csv]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Only rows whose name matches this regular expression
    #[arg(long, value_name = "REGEX", value_parser = pattern)]
    name: Option<Regex>,
    /// Only threads whose name matches this regular expression, as `--by thread` shows them
    #[arg(long, value_name = "REGEX", value_parser = pattern)]
    thread: Option<Regex>,
    /// What to print
    #[arg(long, value_enum, default_value_t = FormatArg::Table)]
    format: FormatArg,
    /// Write a flame graph: folded stacks for flamegraph.pl and inferno, or a file for speedscope
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = TABLE_ONLY)]
    flame: Option<Flame>,
    /// Write a profile for pprof: number of spans and self time by stack
    #[arg(long, conflicts_with_all = TABLE_ONLY, conflicts_with = "flame")]
    pprof: bool,
    /// Write the spans for OpenTelemetry, as OTLP/JSON
    #[arg(long, conflicts_with_all = TABLE_ONLY, conflicts_with_all = ["flame", "pprof", "by"])]
    otlp: bool,
    /// Where --flame, --pprof and --otlp write, compressed if the name ends in .gz or .zst [default: stdout, but for --pprof]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Continue without files that cannot be read
    #[arg(long)]
    partial: bool,
}

/// What only a table has.
const TABLE_ONLY: [&str; 4] = ["sort", "top", "name", "format"];

/// Rows that a screen has room for.
const TOP: usize = 25;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ByArg {
    /// Names, over all threads and processes
    Name,
    /// Names on each thread
    Thread,
    /// Names in each process
    #[value(alias = "rank")]
    Process,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SortArg {
    /// Most self time; async spans by their total
    #[value(name = "self")]
    Own,
    /// Most time in all
    Total,
    /// Most spans
    Count,
    /// The longest span
    Max,
    /// The highest 99th percentile
    P99,
    /// Alphabetically
    Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    /// Readable text
    #[value(alias = "text")]
    Table,
    /// One JSON document
    Json,
    /// Rows for a spreadsheet, async spans among them
    Csv,
}

fn pattern(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| error.to_string())
}

impl From<ByArg> for By {
    fn from(by: ByArg) -> Self {
        match by {
            ByArg::Name => Self::Name,
            ByArg::Thread => Self::Thread,
            ByArg::Process => Self::Process,
        }
    }
}

impl From<SortArg> for Order {
    fn from(sort: SortArg) -> Self {
        match sort {
            SortArg::Own => Self::Own,
            SortArg::Total => Self::Total,
            SortArg::Count => Self::Count,
            SortArg::Max => Self::Max,
            SortArg::P99 => Self::P99,
            SortArg::Name => Self::Name,
        }
    }
}

impl ByArg {
    fn word(self) -> SpansBy {
        match self {
            Self::Name => SpansBy::Name,
            Self::Thread => SpansBy::Thread,
            Self::Process => SpansBy::Process,
        }
    }
}

impl SortArg {
    fn word(self) -> SpansSort {
        match self {
            Self::Own => SpansSort::SelfTime,
            Self::Total => SpansSort::Total,
            Self::Count => SpansSort::Count,
            Self::Max => SpansSort::Max,
            Self::P99 => SpansSort::P99,
            Self::Name => SpansSort::Name,
        }
    }
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let export = match (args.flame, args.pprof, args.otlp) {
        (Some(flame), ..) => Some(Export::Flame(flame)),
        (_, true, _) => Some(Export::Pprof),
        (.., true) => Some(Export::Otlp),
        _ => None,
    };
    if let (None, Some(path)) = (export, &args.output) {
        bail!("{}: -o says where --flame, --pprof or --otlp write; redirect the table with >", path.display());
    }
    let policy = if export == Some(Export::Otlp) { ArgsPolicy::All } else { ArgsPolicy::Analysis };
    let read = ReadSpans::of(&args.paths, policy, args.partial, &Bar::default())?;
    let wanted = |pattern: &Option<Regex>, text: &str| pattern.as_ref().is_none_or(|pattern| pattern.is_match(text));
    let thread = |thread: &str| wanted(&args.thread, thread);
    let name = |name: &str| wanted(&args.name, name);
    let selection = Selection { thread: &thread, name: &name };
    match export {
        Some(export) => export::write(&read, export, args.by.into(), selection, &args.paths, args.output.as_deref())?,
        None => print(&read, &args, selection)?,
    }
    // The process ends here: giving back memory piece by piece would only take time.
    std::mem::forget(read);
    Ok(ExitCode::SUCCESS)
}

fn print(read: &ReadSpans, args: &Args, selection: Selection<'_>) -> Result<()> {
    let table = SpanTable::of(&read.spans(), args.by.into(), args.sort.into(), selection);
    let top = args.top.unwrap_or(if args.format == FormatArg::Table { TOP } else { usize::MAX });
    let document = spans_document(read, table, (args.by.word(), args.sort.word()), top, &title(&args.paths));
    let text = match args.format {
        FormatArg::Json => serde_json::to_string_pretty(&document)?,
        FormatArg::Csv => csv::text(&document),
        FormatArg::Table => spans_terminal(&document, output::style()),
    };
    Ok(output::answer(&text)?)
}
