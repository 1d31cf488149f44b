//! `rankscope dispatch export`: a plan as the arguments of the library that executes it.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use rankscope_cli::ExitCode;
use rankscope_cli::output;
use rankscope_dispatch::export::UNIT_BYTES;
use rankscope_dispatch::{Direction, binary};
use rankscope_plan_files::exported::{self, ExportError};
use rankscope_plan_files::plan::{self, Plan};
use rankscope_time::Rank;

use super::paths;

/// Write a plan as the arguments of libraries and kernels
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A plan; - reads it from the standard input
    #[arg(value_name = "PLAN")]
    input: PathBuf,
    /// The form to write
    #[arg(long = "as", value_enum, value_name = "FORM")]
    form: Form,
    /// Only this rank's part
    #[arg(long, value_name = "R")]
    rank: Option<u32>,
    /// The exchange of the layer
    #[arg(long, value_enum, default_value_t = Which::Forward)]
    direction: Which,
    /// Unit of alltoallv counts: 1, or 16 where bytes do not fit 32 bits and a datatype of 16 bytes is used
    #[arg(long, value_name = "BYTES", value_parser = unit)]
    unit: Option<u64>,
    /// Where to write; a compact plan needs it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Counts and displacements in bytes, for MPI_Alltoallv
    Alltoallv,
    /// Sends and receives of one group, for NCCL
    Nccl,
    /// Puts with signals, for NVSHMEM or MPI windows
    Puts,
    /// cu_seqlens of the tasks, for varlen attention kernels
    CuSeqlens,
    /// The plan as JSON
    Json,
    /// The plan in compact form
    Binary,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    /// Queries, keys and values to their attention
    Forward,
    /// Their gradients back
    Backward,
    /// Outputs back
    Output,
    /// Gradients of outputs to their attention
    OutputGradient,
    /// All that a backward pass needs, when it keeps nothing
    Resend,
}

fn unit(text: &str) -> Result<u64, String> {
    let unit = text.parse().ok().filter(|unit| [1, UNIT_BYTES].contains(unit));
    unit.ok_or_else(|| format!("the units are 1 and {UNIT_BYTES}"))
}

impl From<Which> for Direction {
    fn from(which: Which) -> Self {
        match which {
            Which::Forward => Self::Forward,
            Which::Backward => Self::Backward,
            Which::Output => Self::Output,
            Which::OutputGradient => Self::OutputGradient,
            Which::Resend => Self::Resend,
        }
    }
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let loaded = paths::load(&args.input)?;
    let bytes = match (args.form, args.rank) {
        (Form::Json | Form::Binary, Some(_)) => bail!("--rank: every rank takes the whole plan and derives its own part"),
        (Form::Json, None) => plan::json(&loaded.assignment, &loaded.rows).into_bytes(),
        (Form::Binary, None) => binary::encode(&loaded.assignment, &loaded.rows),
        (Form::Alltoallv, _) => arguments(&loaded, &args, exported::Form::Alltoallv { unit_bytes: args.unit })?,
        (Form::Nccl, _) => arguments(&loaded, &args, exported::Form::Nccl)?,
        (Form::Puts, _) => arguments(&loaded, &args, exported::Form::Puts)?,
        (Form::CuSeqlens, _) => arguments(&loaded, &args, exported::Form::CuSeqlens)?,
    };
    match &args.output {
        Some(path) => paths::write(path, &bytes)?,
        None => output::answer(std::str::from_utf8(&bytes).context("a compact plan is no text; name a file with -o")?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The arguments of one rank, or of all, as JSON.
fn arguments(plan: &Plan, args: &Args, form: exported::Form) -> Result<Vec<u8>> {
    let (place, world_size) = (|| args.input.display().to_string(), plan.assignment.world_size());
    if let Some(rank) = args.rank.filter(|rank| *rank >= world_size) {
        return Err(anyhow!("--rank {rank}: the plan has ranks 0 to {}", world_size - 1)).with_context(place);
    }
    let arguments = exported::arguments(plan, form, args.direction.into(), args.rank.map(Rank)).map_err(|error| match error {
        ExportError::TooMany { .. } => anyhow!("{error} with --rank"),
        error => error.into(),
    });
    Ok(serde_json::to_vec(&arguments.with_context(place)?)?)
}
