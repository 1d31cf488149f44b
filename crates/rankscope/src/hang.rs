//! `rankscope hang`: why a job stands still. Translates; decides nothing.

use std::path::PathBuf;

use anyhow::Result;
use rankscope_document::HangKind;
use rankscope_pipeline::HangSources;

use crate::exit::ExitCode;
use crate::job::Bar;
use crate::output::{self, Format};

/// A rank is to blame, or several are.
const NAMED: u8 = 3;

/// Why a job stands still: who waits for whom, and who for nobody.
///
/// Reads what torch's flight recorder dumped on each rank, as pickles or JSON: files called like nccl_trace_rank_3, which torch writes when a
/// collective times out, or what torch._C._distributed_c10d._dump_fr_trace_json() returns. Nothing of a pickle is run. NCCL's RAS service
/// may be asked beside it: it names ranks that are dead, and confirms. Ends with 3 where ranks are to blame, 0 where no rank is in an
/// unfinished call, 1 where nobody can be blamed or nothing can be read.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Dumps, or folders of them
    #[arg(required_unless_present = "ras", value_name = "DUMPS")]
    paths: Vec<PathBuf>,
    /// Ask NCCL's RAS service, which every process of a job has [default address: localhost:28028]
    #[arg(long, value_name = "HOST:PORT", num_args = 0..=1, require_equals = true, default_missing_value = "localhost:28028")]
    ras: Option<String>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let sources = HangSources { paths: args.paths, ras: args.ras };
    let document = rankscope_pipeline::hang(&sources, &Bar::default())?;
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
