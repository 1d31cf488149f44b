//! A plan as the arguments of the library that executes it: the document of `dispatch export`.

use rankscope_dispatch::export::{Alltoallv, GroupCall, Put, PutList, TaskLengths, UNIT_BYTES, group_calls};
use rankscope_dispatch::{Direction, RankExchange, SplitTask};
use rankscope_time::Rank;
use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;

use crate::plan::{self, Plan};

/// What the arguments are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Form {
    /// Counts and displacements in units of so many bytes; of one byte where that is not given.
    Alltoallv {
        /// 1 or [`UNIT_BYTES`].
        #[serde(skip)]
        unit_bytes: Option<u64>,
    },
    /// Sends and receives of one group, for NCCL.
    Nccl,
    /// Puts with signals, for NVSHMEM or MPI windows.
    Puts,
    /// cu_seqlens of the tasks, for varlen attention kernels.
    CuSeqlens,
}

impl Form {
    /// Its name in documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alltoallv { .. } => "alltoallv",
            Self::Nccl => "nccl",
            Self::Puts => "puts",
            Self::CuSeqlens => "cu-seqlens",
        }
    }
}

/// Why a plan has no such arguments.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// Counts of all ranks for all ranks would fill the memory.
    #[error("counts of {world_size} ranks for each other are too many to print together; take one rank")]
    TooMany {
        /// Ranks of the plan.
        world_size: u32,
    },
    /// Arguments of one rank that do not fit their integers.
    #[error("rank {}: {source}", rank.0)]
    Rank {
        /// Whose.
        rank: Rank,
        /// What does not fit.
        source: rankscope_dispatch::Error,
    },
    /// Counts of one rank that do not fit their integers.
    #[error("rank {}: with --unit {UNIT_BYTES} counts are in units of {UNIT_BYTES} bytes: {source}", rank.0)]
    Counts {
        /// Whose.
        rank: Rank,
        /// What does not fit.
        source: rankscope_dispatch::Error,
    },
    /// The plan has no exchange, or not this rank.
    #[error(transparent)]
    Plan(#[from] rankscope_dispatch::Error),
}

/// Of more, the square of dense counts fills the memory.
const RANKS_TOGETHER: u32 = 2048;

/// The arguments of one rank, or of all.
///
/// # Errors
/// [`ExportError`]: too many ranks together, or numbers that do not fit the integers of the library.
pub fn arguments(plan: &Plan, form: Form, direction: Direction, only: Option<Rank>) -> Result<Value, ExportError> {
    let world_size = plan.assignment.world_size();
    let mut answer = json!({
        "schema": 1,
        "kind": "rankscope_dispatch_export",
        "as": form.as_str(),
        "plan_hash": plan::hash(&plan.assignment, &plan.rows),
        "world_size": world_size,
    });
    if form == Form::CuSeqlens {
        let split = plan.assignment.split();
        answer["alignment"] = match split {
            None => "causal, queries aligned to the end of their keys".into(),
            Some(_) => {
                "where causal is true, queries are aligned to the end of their keys; elsewhere every query sees all keys".into()
            }
        };
        let ranks = TaskLengths::of_ranks(&plan.assignment).into_iter().zip((0..).map(Rank));
        let ranks = ranks.filter(|(_, rank)| only.is_none_or(|only| only == *rank));
        let of_rank = |(tasks, rank)| {
            let mut lengths = cu_seqlens(&tasks, rank)?;
            if let Some(split) = split {
                let own = split.tasks().iter().filter(|task| task.rank == rank);
                lengths["causal"] = own.map(SplitTask::is_causal).collect();
            }
            Ok(lengths)
        };
        answer["ranks"] = ranks.map(of_rank).collect::<Result<_, ExportError>>()?;
        return Ok(answer);
    }
    answer["direction"] = direction.as_str().into();
    if let Form::Alltoallv { unit_bytes } = form {
        if only.is_none() && world_size > RANKS_TOGETHER {
            return Err(ExportError::TooMany { world_size });
        }
        answer["unit_bytes"] = unit_bytes.unwrap_or(1).into();
    }
    let parts = match only {
        Some(rank) => vec![plan.assignment.rank_exchange(&plan.rows, direction, rank)?],
        None => plan.assignment.exchange(&plan.rows, direction)?.ranks,
    };
    let of_rank = |part: &RankExchange| match form {
        Form::Nccl => Ok(nccl(part, world_size)),
        Form::Puts => Ok(puts(part)),
        Form::Alltoallv { unit_bytes } => alltoallv(part, world_size, unit_bytes.unwrap_or(1)),
        Form::CuSeqlens => Ok(Value::Null),
    };
    answer["ranks"] = parts.iter().map(of_rank).collect::<Result<_, _>>()?;
    Ok(answer)
}

fn alltoallv(part: &RankExchange, world_size: u32, unit_bytes: u64) -> Result<Value, ExportError> {
    let row = Alltoallv::new(part, world_size).narrowed(unit_bytes);
    let row = row.map_err(|source| ExportError::Counts { rank: part.rank, source })?;
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
    let put = |put: &Put| {
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

fn cu_seqlens(tasks: &TaskLengths, rank: Rank) -> Result<Value, ExportError> {
    let tasks = tasks.narrowed().map_err(|source| ExportError::Rank { rank, source })?;
    Ok(json!({
        "rank": rank.0,
        "cu_seqlens_q": tasks.cu_seqlens_q,
        "cu_seqlens_k": tasks.cu_seqlens_kv,
        "max_seqlen_q": tasks.max_seqlen_q,
        "max_seqlen_k": tasks.max_seqlen_kv,
    }))
}
