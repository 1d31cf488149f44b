//! `rankscope plan`: what is to be mapped, frozen before anybody maps it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_job::{Cards, TableSet};
use rankscope_pipeline::{Division, Frozen, Keep, MapRequest, Mapping, Reading, Shard, freeze};
use rankscope_run::{SideFile, listed, read_side, side_bytes};
use serde_json::json;

use crate::report::RulesArgs;

/// Freeze what `rankscope map` is to map: the list of traces and the options.
///
/// Writes plan.json into the folder of parts. From then on `rankscope map --parts DIR --shard I/K` works on any machine that sees the
/// traces and the folder, by that list and those options, and lists nothing itself. Says how many tasks are sensible. A plan is never
/// changed: other traces or options want another folder (exit code 4).
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    wanted: PartsArgs,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Which parts are made of what, how, and where.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PartsArgs {
    /// Files, directories, archives or patterns of the traces of one run
    #[arg(value_name = "TRACES")]
    paths: Vec<PathBuf>,
    /// Take inputs from this file, too, one a line (- for standard input); empty lines and lines that begin with # are ignored
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
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
    /// The folder of parts; made if it is not there
    #[arg(long, value_name = "DIR")]
    pub(crate) parts: PathBuf,
}

impl PartsArgs {
    /// The request to map the `shard` of what is named and listed.
    pub(crate) fn request(self, shard: Shard) -> Result<MapRequest> {
        let scope = if self.rules.gpu_only { Scope::Device } else { Scope::All };
        let reading = Reading { args: ArgsPolicy::Analysis, scope };
        let rules = self.rules.rules().with_checks(self.checks).with_tables(self.tables).with_answers(!self.no_answers);
        let mapping = Mapping { reading, rules, keep: Keep::Nothing, cards: Cards::known().clone(), tables: TableSet::ALL };
        Ok(MapRequest { paths: named(self.paths, self.list)?, clocks: self.clocks, mapping, parts: self.parts, shard })
    }
}

/// `paths`, and those that the file `list` names.
fn named(mut paths: Vec<PathBuf>, list: Option<PathBuf>) -> Result<Vec<PathBuf>> {
    let Some(list) = list else { return Ok(paths) };
    let bytes = match list == Path::new("-") {
        true => side_bytes(Path::new("the standard input"), std::io::stdin().lock(), SideFile::List)?,
        false => read_side(&list, SideFile::List)?,
    };
    let text = std::str::from_utf8(&bytes).with_context(|| list.display().to_string())?;
    paths.extend(listed(text));
    if paths.is_empty() {
        bail!("{}: this list names no input", list.display());
    }
    Ok(paths)
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let request = args.wanted.request(Shard::default())?;
    if request.paths.is_empty() {
        return Ok(output::misused("name the traces, or a file that lists them with --list"));
    }
    let Frozen { path, division, .. } = freeze(&request)?;
    let next = next(&request.parts, division);
    output::answer(&match args.format {
        Format::Json => document(&path, division, &next).to_string(),
        Format::Table => {
            let Division { inputs, bytes, shards, memory_bytes, .. } = division;
            let (size, memory) = (rankscope_report::bytes(bytes), rankscope_report::bytes(memory_bytes));
            let tasks = if shards == 1 { "1 task".to_owned() } else { format!("{shards} tasks") };
            format!("{inputs} inputs, {size}, in {}: {tasks} of {memory} of memory and one thread each\n", path.display())
        }
    })?;
    if args.format == Format::Table {
        output::remark_apart(&format!("next: {next}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn next(parts: &Path, division: Division) -> String {
    let parts = parts.display().to_string();
    let mut words = vec!["rankscope", "map", "--parts", &parts];
    let shard = format!("1/{}", division.shards);
    if division.shards > 1 {
        words.extend(["--shard", &shard]);
    }
    output::command_line(words)
}

fn document(path: &Path, division: Division, next: &str) -> serde_json::Value {
    let Division { inputs, bytes, shards, memory_bytes, .. } = division;
    json!({
        "plan": path.display().to_string(),
        "inputs": inputs,
        "bytes": bytes,
        "shards": shards,
        "memory_bytes": memory_bytes,
        "next": next,
    })
}
