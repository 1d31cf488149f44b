//! `rankscope map`: every trace by itself to a small part, here or on as many machines as there are.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result};
use rankscope_cli::ExitCode;
use rankscope_cli::ending;
use rankscope_cli::output::{self, Format};
use rankscope_cli::progress::ProgressArgs;
use rankscope_formats::ArgsPolicy;
use rankscope_pipeline::{
    MapRequest, MapSummary, Shard, TimelinesRequest, TimelinesSummary, freeze_again, frozen_plan, map_into, write_timelines,
};
use rankscope_run::absolute;
use serde_json::json;

use crate::plan::PartsArgs;
use crate::report::dataset::NO_PARQUET;

/// Reduce each trace to a small part that is enough to report on the job.
///
/// A part holds what a report needs of one rank: a few bytes a collective instead of the trace. Parts are written into a folder, one
/// file each; `rankscope merge` on that folder gives the same report as `rankscope report` on the traces. Work can be divided among
/// any number of machines that see the folder (--shard), and a mapper that was killed is simply run again: what is done is skipped.
/// Without TRACES, those that `rankscope plan` listed are mapped, by its options; --plan takes such a plan from elsewhere, as from a web
/// server. Exits with 4 if an input changed meanwhile.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    wanted: PartsArgs,
    /// Go by the plan that `rankscope plan` made elsewhere: its plan.json, or the folder that has it, also as a URL. It is copied into the
    /// folder of parts
    #[arg(long, value_name = "PLAN", conflicts_with_all = ["paths", "list", "timelines"])]
    plan: Option<PathBuf>,
    /// Map only every K-th input from number I on, counted from 1
    #[arg(long, value_name = "I/K", default_value = "1/1", hide_default_value = true)]
    shard: ShardArg,
    /// Write the timeline of each rank into this folder instead, on the clocks that `rankscope merge` found; divided by --shard as well
    #[arg(long, value_name = "DIR", conflicts_with_all = ["paths", "list", "checks", "tables", "no_answers", "gpu_only", "classes", "comm_pattern", "clocks"])]
    timelines: Option<PathBuf>,
    /// Write the events of each rank into the dataset in this folder instead, which `rankscope merge --parquet` wrote but for them; divided by
    /// --shard as well (in builds with `--features parquet`)
    #[arg(long, value_name = "DIR", conflicts_with_all = ["timelines", "plan", "paths", "list", "checks", "tables", "no_answers", "gpu_only", "classes", "comm_pattern", "clocks"])]
    dataset: Option<PathBuf>,
    /// With --dataset: write all arguments of events, too, as JSON, about twice the size
    #[arg(long, requires = "dataset")]
    dataset_args: bool,
    #[command(flatten)]
    progress: ProgressArgs,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, Debug)]
struct ShardArg(Shard);

impl FromStr for ShardArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, of) = text.split_once('/').ok_or(SHARD)?;
        match (number.parse(), of.parse()) {
            (Ok(number), Ok(of)) if 0 < number && number <= of => Ok(Self(Shard { number, of })),
            _ => Err(SHARD),
        }
    }
}

const SHARD: &str = "give a shard as I/K, such as 3/8: the third of eight";

pub(crate) fn run(mut args: Args) -> Result<ExitCode> {
    ending::leave_nothing_unfinished()?;
    if args.dataset.is_some() && cfg!(not(feature = "parquet")) {
        return Ok(output::misused(NO_PARQUET));
    }
    let mut request = args.wanted.request(args.shard.0)?;
    let named = request.parts.clone();
    let shown = args.timelines.clone().unwrap_or_default();
    args.timelines = args.timelines.map(|out| absolute(&out)).transpose()?;
    args.dataset = args.dataset.map(|out| absolute(&out)).transpose()?;
    if let Some(plan) = &args.plan {
        freeze_again(plan, &request.parts)?;
    }
    if request.paths.is_empty() {
        stand_by_the_plan(&mut request)?;
    }
    if let Some(out) = args.timelines {
        return timelines(request, out, &shown, args.progress, args.format);
    }
    if let Some(dataset) = args.dataset {
        return events(request, dataset, args.dataset_args, args.progress, args.format);
    }
    let summary = args.progress.told(|progress| Ok(map_into(&request, progress)?))?;
    let MapSummary { inputs, done_before, parts, unread, bytes, .. } = summary;
    output::answer(&match args.format {
        Format::Json => {
            json!({ "inputs": inputs, "done_before": done_before, "parts": parts, "unread": unread, "bytes": bytes })
                .to_string()
        }
        Format::Table => {
            let folder = named.display();
            let before = if done_before > 0 { format!(", {done_before} of them done before") } else { String::new() };
            let unread = if unread > 0 { format!("; {unread} could not be read as traces") } else { String::new() };
            let size = rankscope_report::bytes(bytes);
            format!("{inputs} inputs{before}: {parts} parts, {size}, in {folder}{unread}\n")
        }
    })?;
    if args.format == Format::Table {
        output::remark_apart(&format!("next: rankscope merge {}", named.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn timelines(request: MapRequest, out: PathBuf, shown: &Path, told: ProgressArgs, format: Format) -> Result<ExitCode> {
    let MapRequest { parts, shard, .. } = request;
    let request = TimelinesRequest { parts, out, shard, args: ArgsPolicy::All };
    let TimelinesSummary { ranks, bytes, .. } = told.told(|progress| Ok(write_timelines(&request, progress)?))?;
    output::answer(&match format {
        Format::Json => json!({ "ranks": ranks, "bytes": bytes }).to_string(),
        Format::Table => format!("timelines of {ranks} ranks, {}, in {}\n", rankscope_report::bytes(bytes), shown.display()),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Writes events into the folder `dataset`.
#[cfg(feature = "parquet")]
fn events(request: MapRequest, dataset: PathBuf, arguments: bool, told: ProgressArgs, format: Format) -> Result<ExitCode> {
    use rankscope_pipeline::{EventsRequest, EventsSummary, write_events};

    let MapRequest { parts, shard, .. } = request;
    let request = EventsRequest { parts, dataset, shard, arguments };
    let summary = told.told(|progress| Ok(write_events(&request, progress)?))?;
    let EventsSummary { files, done_before, rows, bytes, missing, .. } = summary;
    output::answer(&match format {
        Format::Json => {
            json!({ "files": files, "done_before": done_before, "rows": rows, "bytes": bytes, "missing": missing }).to_string()
        }
        Format::Table => {
            let before = if done_before > 0 { format!(", {done_before} of them done before") } else { String::new() };
            let size = rankscope_report::bytes(bytes);
            let rest = match missing {
                0 => "the dataset is complete".to_owned(),
                missing => format!("{missing} files are not done yet, and the dataset does not list events before they are"),
            };
            format!("{rows} events in {files} files{before}, {size}; {rest}\n")
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Writes nothing: it was said before that this build cannot.
#[cfg(not(feature = "parquet"))]
#[expect(clippy::unnecessary_wraps, reason = "as where something is written")]
fn events(_: MapRequest, _: PathBuf, _: bool, _: ProgressArgs, _: Format) -> Result<ExitCode> {
    Ok(ExitCode::FAILURE)
}

/// Goes to where the relative paths of the plan start: files beside the traces are found by the same paths.
fn stand_by_the_plan(request: &mut MapRequest) -> Result<()> {
    if let Some(folder) = frozen_plan(&request.parts)?.elsewhere {
        request.parts = absolute(&request.parts)?;
        std::env::set_current_dir(&folder).with_context(|| folder.display().to_string())?;
    }
    Ok(())
}
