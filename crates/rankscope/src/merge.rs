//! `rankscope merge`: parts judged, as `report` judges the traces that they were made of.

use std::path::PathBuf;

use anyhow::Result;
use rankscope_cli::ExitCode;
use rankscope_cli::ending;
use rankscope_cli::job::{ClockArgs, MemoryArgs, WindowArgs, judging};
use rankscope_cli::output::{self, Format};
use rankscope_cli::progress::ProgressArgs;
use rankscope_document::Document;
use rankscope_job::{Cards, ChosenTables, Rules, TableChoice, select_tables};
use rankscope_pipeline::{Drawn, Judged, Places, Progress, analysed, judged_parts, told, write_clocks, write_report};

use crate::report::dataset::NO_PARQUET;
use crate::report::{ShownArgs, say};

/// Report on the parts that `rankscope map` wrote.
///
/// Says what `rankscope report` says of the traces, to the byte. Opens no trace, so there is no timeline. Inputs of the plan that
/// nobody has mapped yet are named; --partial goes on without them. Writes the ranks' clocks beside the parts, for `rankscope map
/// --timelines`; with --parquet also what `rankscope map --dataset` wants.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder of parts
    #[arg(value_name = "PARTS")]
    parts: PathBuf,
    /// Directory for the report's files [default: rankscope-report; with --format json nothing is written unless given]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    shown: ShownArgs,
    #[command(flatten)]
    window: WindowArgs,
    /// Report even if inputs are not mapped or files could not be read
    #[arg(long)]
    partial: bool,
    #[command(flatten)]
    clocks: ClockArgs,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    progress: ProgressArgs,
    /// Add tables to report.json: all, or names such as straggler_summary and, of parts that `map --tables` made, ops_summary
    #[arg(long, value_name = "all|NAME,...", value_delimiter = ',', conflicts_with = "step")]
    tables: Vec<TableChoice>,
    /// Also write collectives, steps, kernels, clocks and ranks as Parquet files into this folder, which may hold other runs; `rankscope map
    /// --dataset` adds the events (in builds with `--features parquet`)
    #[arg(long, value_name = "DIR", conflicts_with_all = ["step", "rank"])]
    parquet: Option<PathBuf>,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    ending::leave_nothing_unfinished()?;
    if args.parquet.is_some() && cfg!(not(feature = "parquet")) {
        return Ok(output::misused(NO_PARQUET));
    }
    args.memory.bound_rows();
    let places = match (&args.out, args.format) {
        (Some(out), _) => Some(Places::beside(out)),
        (None, Format::Json) => None,
        (None, Format::Table) => Some(Places::beside(&PathBuf::from("rankscope-report"))),
    };
    let mut judging = judging(args.partial, args.clocks.measured(), args.clocks.choice());
    judging.window = args.window.window;
    let tables = ChosenTables::of(&args.tables);
    let wanted = Rules::default().with_tables(!tables.of_ranks.is_empty());
    let (judged, document, written) = args.progress.told(|progress| {
        let judged = judged_parts(&args.parts, &wanted, Cards::known(), args.clocks.measured().folder(), judging, progress)?;
        let drawn = Drawn { draws: args.parquet.is_some(), answers: true };
        let (judged, mut document) = analysed(judged, args.shown.shown(), drawn, &tables.of_job, progress)?;
        select_tables(&mut document, &tables.of_ranks, &tables.of_job);
        let mut written =
            places.map(|places| write_report(&places, &document, None, progress)).transpose()?.unwrap_or_default();
        // Parts may lie where nobody may write, and answer all the same.
        let clocks = write_clocks(&args.parts, &judged.job);
        if let Err(error) = &clocks {
            output::remark(&format!("neither timelines nor events of a dataset can be mapped: {}", told(error)));
        }
        written.extend(dataset(args.parquet, clocks.is_ok(), &judged, &document, progress)?);
        Ok((judged, document, written))
    })?;
    say(&document, args.format, written, Some(&judged))?;
    std::mem::forget(judged);
    Ok(ExitCode::SUCCESS)
}

/// Writes what was `judged` into the dataset in `folder`, where one was asked for, but for its events; where those can be mapped, what that wants as
/// well. Returns the list of what is there.
#[cfg(feature = "parquet")]
fn dataset(
    folder: Option<PathBuf>,
    can_be_mapped: bool,
    judged: &Judged,
    document: &Document,
    progress: &dyn Progress,
) -> Result<Option<PathBuf>> {
    let Some(folder) = folder else { return Ok(None) };
    let request = rankscope_pipeline::DatasetRequest { folder, arguments: false };
    Ok(Some(match can_be_mapped {
        true => judged.write_dataset_of_parts(&request, document, progress)?,
        false => judged.write_dataset(&request, document, progress)?,
    }))
}

/// Writes nothing, as nothing was asked for.
#[cfg(not(feature = "parquet"))]
#[expect(clippy::unnecessary_wraps, reason = "as where something is written")]
fn dataset(_: Option<PathBuf>, _: bool, _: &Judged, _: &Document, _: &dyn Progress) -> Result<Option<PathBuf>> {
    Ok(None)
}
