//! `rankscope query`: SQL over a run. The engine is a program of its own, `rankscope-sql`, several times as large as this one; here it is
//! found and given a dataset. Decides nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::ValueEnum;
use rankscope_cli::ExitCode;
use rankscope_cli::output;
use rankscope_run::{is_file, is_stored};

/// The engine's program, and the package that holds it.
const ENGINE: &str = "rankscope-sql";

/// The file that a folder has which `report --parquet` wrote.
const DATASET_HAS: &str = "_rankscope_manifest.json";

/// Ask a run with SQL.
///
/// Tables are events, collectives, steps, kernels, clock and ranks; `SHOW TABLES` lists them and the views, `DESCRIBE events` the columns.
/// Beside the usual functions there are union_ns(start, end), an aggregate that says how long the union of intervals is, and
/// overlap_ns(start, end, start, end). The engine is a program of its own, to be installed once: cargo install --path crates/rankscope-sql
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What `rankscope report --parquet` wrote, a folder or the URL of one; or a run directory or traces, of which the tables are then
    /// made for this query only (in builds with `--features parquet`)
    #[arg(value_name = "DATASET|RUN")]
    path: PathBuf,
    /// The query; - reads it from standard input
    #[arg(value_name = "SQL")]
    sql: String,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t = Shape::Table)]
    format: Shape,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shape {
    /// Readable text
    #[value(alias = "text")]
    Table,
    /// Comma-separated values, with a line of names
    Csv,
    /// A JSON array with an object for each row
    Json,
}

impl Shape {
    const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if is_dataset(&args.path)? {
        return ask(&args.path, args);
    }
    if cfg!(not(feature = "parquet")) {
        return Ok(output::misused(&format!(
            "{} is no dataset, and this build makes none; build one that does: cargo install --path crates/rankscope --features parquet",
            args.path.display()
        )));
    }
    let folder = tempfile::Builder::new().prefix("rankscope-query-").tempdir().context("a folder for the dataset")?;
    let made = make(&args.path, folder.path());
    // Of a store nobody sees what lies there: that no dataset does may be the news.
    if is_stored(&args.path) {
        made.with_context(|| format!("{}: no dataset, as it has no {DATASET_HAS}; read as a run", args.path.display()))?;
    } else {
        made?;
    }
    ask(folder.path(), args)
}

/// Whether the engine is asked about what lies at `path` as it is.
fn is_dataset(path: &Path) -> Result<bool> {
    // The engine has stores of its own, and a build that makes no dataset of a run there leaves it to say what there is instead.
    let makes_of_stored = cfg!(all(feature = "parquet", feature = "store"));
    Ok((is_stored(path) && !makes_of_stored) || is_file(&path.join(DATASET_HAS))?)
}

/// Starts the engine and passes on how it ended.
fn ask(dataset: &Path, args: &Args) -> Result<ExitCode> {
    let engine = engine();
    let status =
        Command::new(&engine).arg(format!("--format={}", args.format.name())).arg("--").arg(dataset).arg(&args.sql).status();
    match status {
        Ok(status) => Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => anyhow::bail!(
            "the SQL engine is not installed: {ENGINE} is neither beside this program nor on PATH. In a checkout of rankscope: cargo install --path crates/{ENGINE}"
        ),
        Err(error) => Err(error).with_context(|| engine.display().to_string()),
    }
}

/// Where the engine is: beside this program, else wherever PATH has it.
fn engine() -> PathBuf {
    let beside = std::env::current_exe().ok().and_then(|myself| Some(myself.parent()?.join(ENGINE)));
    beside.filter(|engine| engine.is_file()).unwrap_or_else(|| ENGINE.into())
}

/// Makes the dataset of `run` in `folder`.
#[cfg(feature = "parquet")]
fn make(run: &Path, folder: &Path) -> Result<()> {
    use rankscope_formats::ArgsPolicy;
    use rankscope_pipeline::{DatasetRequest, ReportRequest, Reported, report};

    use rankscope_cli::job::{Bar, ClockArgs, MemoryArgs, request};

    let bar = Bar::default();
    let mut job = request(&[run.to_owned()], false, &ClockArgs::default());
    job.mapping.rules = job.mapping.rules.with_answers(false);
    let mut wanted = ReportRequest::of(job);
    wanted.dataset = Some((ArgsPolicy::Analysis, MemoryArgs::default().keep()));
    let Reported { document, judged, .. } = report(&wanted, &bar)?;
    judged.write_dataset(&DatasetRequest { folder: folder.to_owned(), arguments: false }, &document, &bar)?;
    if judged.parts.is_some() {
        output::remark("there is no table of events: parts hold no events");
    }
    Ok(())
}

/// Makes nothing: [`run`] has said what this build lacks.
#[cfg(not(feature = "parquet"))]
fn make(_: &Path, _: &Path) -> Result<()> {
    Ok(())
}
