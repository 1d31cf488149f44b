//! `rankscope dispatch check`: a plan, or the answer to a case of `dispatch metadata`, whoever computed it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_conformance::Case;
use rankscope_conformance::check::{self, Findings, check_plan, is_case};
use serde_json::Value;

use super::case_files::CaseFiles;
use super::check_trace::{self, TraceArgs};
use super::paths;

/// Check every entry of a plan or of metadata; exit code 3 if one is wrong
///
/// Of a plan, the metadata that follow from it must have every property of a plan: conservation, packing, bijection, causality,
/// planes, lengths. Of an answer of `dispatch metadata` (a JSON object with `kind`, its arrays and its inputs), whoever computed
/// it, every entry must be what the specification says for these inputs; without inputs, the arrays must agree with each other.
/// With --trace, measured all-to-alls are compared with the plan instead.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A plan, or metadata as JSON; - reads them from the standard input
    input: PathBuf,
    #[command(flatten)]
    trace: TraceArgs,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if let Some(run) = &args.trace.trace {
        return check_trace::run(&args.input, run, &args.trace, args.format);
    }
    let findings = check(&args.input)?;
    output::answer(&match args.format {
        Format::Json => serde_json::to_string(&findings)?,
        Format::Table => check::table(&findings),
    })?;
    Ok(if findings.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(3) })
}

fn check(path: &Path) -> Result<Findings> {
    let bytes = paths::bytes(path)?;
    // What is no JSON is refused as the plan that it should be.
    let value: Option<Value> = serde_json::from_slice(&bytes).ok();
    match value.filter(is_case) {
        Some(value) => {
            let case = Case::new(value, CaseFiles::beside(path))?;
            check::check(&case).with_context(|| path.display().to_string())
        }
        None => check_plan(&paths::parse(path, &bytes)?.assignment).with_context(|| path.display().to_string()),
    }
}
