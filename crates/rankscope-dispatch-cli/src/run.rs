//! `rankscope dispatch run`: the exchanges of a plan between real ranks. What is executed and how it is compared is in
//! `rankscope-transport`; here a backend is chosen, and what it took is told.

mod backend;
mod report;

use std::path::PathBuf;

use anyhow::Context;
use clap::ValueEnum;
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_dispatch::Rows;
use rankscope_dispatch::movement::ElementType;
use rankscope_transport::execute::{ExecuteError, Trial};

use self::report::Report;
use super::pass_arg::{PassArg, exchanges};
use super::paths;
use super::row_args::elements;
use super::simulate_bytes::{element_type, fits, merging};

/// Execute a plan and compare every byte with the simulator
///
/// Moves queries, keys and values to where their attention is computed, outputs back, gradients of the outputs out and all
/// gradients back, between real ranks. Exits with 3 when a byte is not what the simulator says.
///
/// Under MPI every process runs this command and the first one answers: mpirun -n 8 rankscope dispatch run plan.json --backend mpi
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A plan, as JSON or in the compact form; - for the standard input
    #[arg(value_name = "PLAN")]
    input: PathBuf,
    /// Only the exchanges of this pass; a backward one by itself sends everything again. Without it the four of a layer
    #[arg(long, value_enum)]
    pass: Option<PassArg>,
    /// What the ranks run as
    #[arg(long, value_enum, default_value = "threads")]
    backend: Backend,
    /// How bytes are moved: threads have put, mpi has alltoallv and put, cuda has put and nccl [default: the first of these]
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// Type of the elements [default: the plan's size of an element, as floats]
    #[arg(long, value_name = "TYPE", value_parser = element_type)]
    dtype: Option<ElementType>,
    /// Elements of a query row in place of the plan's, to move less
    #[arg(long, value_name = "ELEMENTS", value_parser = elements())]
    hidden_q: Option<u32>,
    /// Elements of a key row in place of the plan's
    #[arg(long, value_name = "ELEMENTS", value_parser = elements())]
    hidden_kv: Option<u32>,
    /// Memory that all ranks together may use, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 32 << 30)]
    memory: u64,
    /// Number of times to execute each exchange, with different bytes each time
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Seed of the bytes
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// What the ranks run as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Backend {
    /// Threads of this process
    Threads,
    /// Processes under mpirun
    Mpi,
    /// GPUs of this machine, several ranks on a card if need be
    Cuda,
}

/// How bytes are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// One collective call; of the backend mpi
    Alltoallv,
    /// Into the receiver's buffer, followed by a signal; of every backend
    Put,
    /// Grouped sends and receives of NCCL; of the backend cuda
    Nccl,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mode = backend::mode(args.backend, args.mode)?;
    let plan = paths::load(&args.input)?;
    let element = args.dtype.map_or_else(|| of_size(plan.rows.element_bytes), Ok)?;
    let rows = Rows {
        hidden_q: args.hidden_q.unwrap_or(plan.rows.hidden_q),
        hidden_kv: args.hidden_kv.unwrap_or(plan.rows.hidden_kv),
        element_bytes: element.bytes() as u32,
        ..plan.rows
    };
    let rows = merging(&plan, rows);
    let directions = exchanges(args.pass);
    for &direction in &directions {
        let exchange = plan.assignment.exchange(&rows, direction)?;
        fits(&exchange, direction, args.memory).with_context(|| args.input.display().to_string())?;
    }
    let trial = Trial::of(&plan.assignment, &rows, element, &directions, args.repeat, args.seed)?;
    let (outcome, exit) = match backend::run(args.backend, mode, &trial) {
        Ok(None) => return Ok(ExitCode::SUCCESS),
        Ok(Some(outcomes)) => (Ok(outcomes), ExitCode::SUCCESS),
        Err(backend::Failure::Execution(ExecuteError::Different(difference))) => (Err(difference), ExitCode::from(3)),
        Err(failure) => return Err(failure.into()),
    };
    let report = Report::new(args.backend, mode, &trial, element, &outcome);
    output::answer(&match args.format {
        Format::Json => serde_json::to_string_pretty(&report)?,
        Format::Table => report.table(),
    })?;
    Ok(exit)
}

/// What kernels use for elements of this size.
fn of_size(bytes: u32) -> anyhow::Result<ElementType> {
    match bytes {
        1 => Ok(ElementType::U8),
        2 => Ok(ElementType::Bf16),
        4 => Ok(ElementType::F32),
        8 => Ok(ElementType::F64),
        _ => anyhow::bail!("the plan's elements have {bytes} bytes, which is no type known here; give one with --dtype"),
    }
}
