//! `rankscope hang`: why a job stands still. Translates; decides nothing.

use std::path::PathBuf;

use anyhow::Result;
use rankscope_document::HangKind;

use crate::exit::ExitCode;
use crate::job::Bar;
use crate::output::{self, Format};

/// A rank is to blame, or several are.
const NAMED: u8 = 3;

/// Why a job stands still: who waits for whom, and who for nobody.
///
/// Reads what torch's flight recorder dumped on each rank, as pickles or JSON: files called like nccl_trace_rank_3, which torch writes when a
/// collective times out, or what torch._C._distributed_c10d._dump_fr_trace_json() returns. Nothing of a pickle is run. Ends with 3 where
/// ranks are to blame, 0 where no rank is in an unfinished call, 1 where nobody can be blamed or nothing can be read.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Dumps, or folders of them
    #[arg(required = true, value_name = "DUMPS")]
    paths: Vec<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let document = rankscope_pipeline::hang(&args.paths, &Bar::default())?;
    match args.format {
        Format::Json => output::answer(&serde_json::to_string_pretty(&document)?)?,
        Format::Table => output::answer(&rankscope_report::hang_terminal(&document, output::style()))?,
    }
    Ok(match document.verdict.kind {
        HangKind::Healthy => ExitCode::SUCCESS,
        _ if document.verdict.roots.is_empty() => ExitCode::FAILURE,
        _ => ExitCode::from(NAMED),
    })
}
