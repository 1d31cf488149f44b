//! `rankscope dispatch export`: a plan as the arguments of the library that executes it.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use rankscope_dispatch::export::{Alltoallv, GroupCall, PutList, TaskLengths, UNIT_BYTES, group_calls};
use rankscope_dispatch::{Contexts, Direction, Exchange, RankExchange, binary};
use rankscope_plan_files::plan::{self, Plan};
use rankscope_time::Rank;
use serde_json::{Value, json};

use super::paths;
use crate::output;

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
        (Form::Json, None) => plan::json(&loaded.batch, &loaded.rows).into_bytes(),
        (Form::Binary, None) => binary::encode(&loaded.batch, &loaded.rows),
        _ => serde_json::to_vec(&arguments(&loaded, &args).with_context(|| args.input.display().to_string())?)?,
    };
    match &args.output {
        Some(path) => paths::write(path, &bytes)?,
        None => output::answer(std::str::from_utf8(&bytes).context("a compact plan is no text; name a file with -o")?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Of more, the square of dense counts fills the memory.
const RANKS_TOGETHER: u32 = 2048;

/// The arguments of one rank, or of all.
fn arguments(plan: &Plan, args: &Args) -> Result<Value> {
    let (direction, world_size) = (Direction::from(args.direction), plan.batch.world_size());
    if let Some(rank) = args.rank.filter(|rank| *rank >= world_size) {
        bail!("--rank {rank}: the plan has ranks 0 to {}", world_size - 1);
    }
    let mut answer = json!({
        "schema": 1,
        "kind": "rankscope_dispatch_export",
        "as": args.form.to_possible_value().map(|value| value.get_name().to_owned()),
        "plan_hash": plan::hash(&plan.batch, &plan.rows),
        "world_size": world_size,
    });
    if args.form == Form::CuSeqlens {
        answer["alignment"] = "causal, queries aligned to the end of their keys".into();
        let mut ranks = TaskLengths::of_ranks(&plan.batch).into_iter().zip(0_u32..).collect::<Vec<_>>();
        ranks.retain(|(_, rank)| args.rank.is_none_or(|only| only == *rank));
        answer["ranks"] = ranks.iter().map(|(tasks, rank)| cu_seqlens(tasks, *rank)).collect::<Result<_>>()?;
        return Ok(answer);
    }
    answer["direction"] = direction.as_str().into();
    if args.form == Form::Alltoallv && args.rank.is_none() && world_size > RANKS_TOGETHER {
        bail!("counts of {world_size} ranks for each other are too many to print together; take one rank with --rank");
    }
    let parts = match args.rank {
        Some(rank) => vec![RankExchange::new(&plan.batch, &plan.rows, direction, Contexts::PerTask, Rank(rank))?],
        None => Exchange::new(&plan.batch, &plan.rows, direction)?.ranks,
    };
    let of_rank = |part: &RankExchange| match args.form {
        Form::Nccl => Ok(nccl(part, world_size)),
        Form::Puts => Ok(puts(part)),
        _ => alltoallv(part, world_size, args.unit).with_context(|| format!("rank {}", part.rank.0)),
    };
    if args.form == Form::Alltoallv {
        answer["unit_bytes"] = args.unit.unwrap_or(1).into();
    }
    answer["ranks"] = parts.iter().map(of_rank).collect::<Result<_>>()?;
    Ok(answer)
}

fn alltoallv(part: &RankExchange, world_size: u32, unit: Option<u64>) -> Result<Value> {
    let row = Alltoallv::new(part, world_size).narrowed(unit.unwrap_or(1));
    let row = row.with_context(|| format!("with --unit {UNIT_BYTES} counts are in units of {UNIT_BYTES} bytes"))?;
    Ok(json!({
        "rank": part.rank.0,
        "sendcounts": row.send_counts,
        "sdispls": row.send_displacements,
        "recvcounts": row.receive_counts,
        "rdispls": row.receive_displacements,
    }))
}

fn nccl(part: &RankExchange, world_size: u32) -> Value {
    let call = |call: GroupCall| match call {
        GroupCall::Send { peer, at, bytes } => json!({"call": "send", "peer": peer.0, "offset": at, "bytes": bytes}),
        GroupCall::Receive { peer, at, bytes } => json!({"call": "recv", "peer": peer.0, "offset": at, "bytes": bytes}),
    };
    let calls: Vec<_> = group_calls(part, world_size).into_iter().map(call).collect();
    json!({"rank": part.rank.0, "send_buffer": part.send_bytes, "receive_buffer": part.receive_bytes, "group": calls})
}

fn puts(part: &RankExchange) -> Value {
    let list = PutList::new(part);
    let put = |put: &rankscope_dispatch::export::Put| {
        json!({
            "peer": put.peer.0,
            "local_offset": put.local_offset,
            "remote_offset": put.remote_offset,
            "bytes": put.bytes,
            "signal_value": put.signal_value,
        })
    };
    let waits = list.waits.iter().map(|wait| json!({"peer": wait.peer.0, "signal_value": wait.signal_value}));
    json!({
        "rank": part.rank.0,
        "send_buffer": part.send_bytes,
        "receive_buffer": part.receive_bytes,
        "puts": list.puts.iter().map(put).collect::<Vec<_>>(),
        "own": list.own.as_ref().map(put),
        "waits": waits.collect::<Vec<_>>(),
    })
}

fn cu_seqlens(tasks: &TaskLengths, rank: u32) -> Result<Value> {
    let tasks = tasks.narrowed().with_context(|| format!("rank {rank}"))?;
    Ok(json!({
        "rank": rank,
        "cu_seqlens_q": tasks.cu_seqlens_q,
        "cu_seqlens_k": tasks.cu_seqlens_kv,
        "max_seqlen_q": tasks.max_seqlen_q,
        "max_seqlen_k": tasks.max_seqlen_kv,
    }))
}
