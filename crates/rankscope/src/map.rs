//! `rankscope map`: every trace by itself to a small part, here or on as many machines as there are.

use crate::exit::ExitCode;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_job::{Cards, TableSet};
use rankscope_pipeline::{Keep, MapRequest, MapSummary, Mapping, Reading, Shard, map_into};
use rankscope_run::{SideFile, listed, read_side, side_bytes};
use serde_json::json;

use crate::job::Bar;
use crate::output::{self, Format};
use crate::report::RulesArgs;

/// Reduce each trace to a small part that is enough to report on the job.
///
/// A part holds what a report needs of one rank: a few bytes a collective instead of the trace. Parts are written into a folder, one
/// file each; `rankscope merge` on that folder gives the same report as `rankscope report` on the traces. Work can be divided among
/// any number of machines that see the folder (--shard), and a mapper that was killed is simply run again: what is done is skipped.
/// Exits with 4 if an input changed meanwhile.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, directories, archives or patterns of the traces of one run
    #[arg(required_unless_present = "list", value_name = "TRACES")]
    paths: Vec<PathBuf>,
    /// Take inputs from this file, too, one a line (- for standard input); empty lines and lines that begin with # are ignored
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
    /// The folder of parts; made if it is not there
    #[arg(long, value_name = "DIR")]
    parts: PathBuf,
    /// Map only every K-th input from number I on, counted from 1
    #[arg(long, value_name = "I/K", default_value = "1/1", hide_default_value = true)]
    shard: ShardArg,
    /// Folder or run directory with clocks that agents measured [default: those of the run directory]
    #[arg(long, value_name = "DIR")]
    clocks: Option<PathBuf>,
    #[command(flatten)]
    rules: RulesArgs,
    /// Also run the checks of `rankscope validate` on each trace, so that it can take the parts
    #[arg(long, conflicts_with = "gpu_only")]
    checks: bool,
    /// Also make the tables of operators and kernels of each trace, so that `rankscope report --tables` can take the parts
    #[arg(long, conflicts_with = "gpu_only")]
    tables: bool,
    /// Leave out what answers are made of: why ranks are late, and what would help
    #[arg(long)]
    no_answers: bool,
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

/// `paths`, and those that the file `list` names.
fn inputs(mut paths: Vec<PathBuf>, list: Option<&Path>) -> Result<Vec<PathBuf>> {
    let Some(list) = list else { return Ok(paths) };
    let bytes = match list == Path::new("-") {
        true => side_bytes(Path::new("the standard input"), std::io::stdin().lock(), SideFile::List)?,
        false => read_side(list, SideFile::List)?,
    };
    let text = std::str::from_utf8(&bytes).with_context(|| list.display().to_string())?;
    paths.extend(listed(text));
    if paths.is_empty() {
        bail!("{}: this list names no input", list.display());
    }
    Ok(paths)
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let scope = if args.rules.gpu_only { Scope::Device } else { Scope::All };
    let reading = Reading { args: ArgsPolicy::Analysis, scope };
    let rules = args.rules.rules().with_checks(args.checks).with_tables(args.tables).with_answers(!args.no_answers);
    let request = MapRequest {
        mapping: Mapping { reading, rules, keep: Keep::Nothing, cards: Cards::known().clone(), tables: TableSet::ALL },
        paths: inputs(args.paths, args.list.as_deref())?,
        clocks: args.clocks,
        parts: args.parts,
        shard: args.shard.0,
    };
    let summary = map_into(&request, &Bar::default())?;
    let MapSummary { inputs, done_before, parts, unread, bytes, .. } = summary;
    output::answer(&match args.format {
        Format::Json => {
            json!({ "inputs": inputs, "done_before": done_before, "parts": parts, "unread": unread, "bytes": bytes })
                .to_string()
        }
        Format::Table => {
            let folder = request.parts.display();
            let before = if done_before > 0 { format!(", {done_before} of them done before") } else { String::new() };
            let unread = if unread > 0 { format!("; {unread} could not be read as traces") } else { String::new() };
            let size = rankscope_report::bytes(bytes);
            format!("{inputs} inputs{before}: {parts} parts, {size}, in {folder}{unread}\n")
        }
    })?;
    if args.format == Format::Table {
        output::remark_apart(&format!("next: rankscope merge {}", request.parts.display()));
    }
    Ok(ExitCode::SUCCESS)
}
