//! `rankscope merge`: parts judged, as `report` judges the traces that they were made of.

use crate::ending;
use crate::exit::ExitCode;
use std::path::PathBuf;

use anyhow::Result;
use rankscope_job::{Cards, ChosenTables, Rules, TableChoice, select_tables};
use rankscope_pipeline::{Drawn, Places, analysed, judged_parts, told, write_clocks, write_report};

use crate::job::{ClockArgs, MemoryArgs, WindowArgs, judging};
use crate::output::{self, Format};
use crate::progress::ProgressArgs;
use crate::report::{ShownArgs, say};

/// Report on the parts that `rankscope map` wrote.
///
/// Says what `rankscope report` says of the traces, to the byte. Opens no trace, so there is no timeline. Inputs of the plan that
/// nobody has mapped yet are named; --partial goes on without them. Writes the ranks' clocks beside the parts, for `rankscope map
/// --timelines`.
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
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    ending::leave_nothing_unfinished()?;
    args.memory.bound_rows();
    let places = match (&args.out, args.format) {
        (Some(out), _) => Some(Places::beside(out)),
        (None, Format::Json) => None,
        (None, Format::Table) => Some(Places::beside(&PathBuf::from("rankscope-report"))),
    };
    let mut judging = judging(args.partial, &args.clocks.measured, args.clocks.choice());
    judging.window = args.window.window;
    let tables = ChosenTables::of(&args.tables);
    let wanted = Rules::default().with_tables(!tables.of_ranks.is_empty());
    let (judged, document, written) = args.progress.told(|progress| {
        let judged = judged_parts(&args.parts, &wanted, Cards::known(), args.clocks.measured.folder(), judging, progress)?;
        let drawn = Drawn { draws: false, answers: true };
        let (judged, mut document) = analysed(judged, args.shown.shown(), drawn, &tables.of_job, progress)?;
        select_tables(&mut document, &tables.of_ranks, &tables.of_job);
        let written = places.map(|places| write_report(&places, &document, None, progress)).transpose()?;
        // Parts may lie where nobody may write, and answer all the same.
        if let Err(error) = write_clocks(&args.parts, &judged.job) {
            output::remark(&format!("no timelines can be mapped: {}", told(&error)));
        }
        Ok((judged, document, written))
    })?;
    say(&document, args.format, written.unwrap_or_default(), Some(&judged))?;
    std::mem::forget(judged);
    Ok(ExitCode::SUCCESS)
}
