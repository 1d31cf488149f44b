//! From a request in C to a plan: what [`plans`](crate::plans) hands over.

use rankscope_dispatch::planner::bounded::{Caps, Options, bounded, loads, max_over_mean};
use rankscope_dispatch::planner::split::{SplitPlan, split};
use rankscope_dispatch::planner::{Goal, HeadPlan, Prices, Remote, by_heads, choose, place_evenly, place_in_order};
use rankscope_dispatch::{Batch, HeadGroups, Pass, Rows};

use crate::plans::{PlanRequest, PlanShard, PlanTask};
use crate::status::Error;

/// A plan, and what is told of it.
pub(crate) struct Found {
    pub(crate) shards: Vec<PlanShard>,
    /// Where keys may be split.
    pub(crate) tasks: Option<Vec<PlanTask>>,
    pub(crate) bytes: u64,
    pub(crate) bytes_in_order: u64,
    pub(crate) max_over_mean: f64,
    pub(crate) merges: bool,
}

/// Plans documents of these lengths.
pub(crate) fn found(request: &PlanRequest, lengths: &[u32]) -> Result<Found, Error> {
    let (all_rows, groups) = (rows(request)?, groups(request)?);
    let (rows, pass) = (groups.rows(&all_rows)?, pass(request)?);
    let free = |rows: &Rows| Options::new(request.eps, Prices::of(rows)).of_pass(pass, rows);
    let options = Options { caps: caps(request), ..free(&rows) };
    let (layout, plan, bytes_in_order) = if groups == HeadGroups::ONE {
        placed(request, lengths, &options)?
    } else {
        // Where documents lie is a matter of all heads, and caps are of those that compute parts of them.
        let (layout, _, bytes_in_order) = placed(request, lengths, &free(&all_rows))?;
        let HeadPlan { layout, plan, .. } = by_heads(&layout, groups, &options, |all| bounded(all, &options))?;
        (layout, plan, bytes_in_order)
    };
    if request.split_kv == 0 {
        let loads = loads(&plan, &options.work)?;
        return Ok(Found {
            shards: shards(&plan),
            tasks: None,
            bytes: Remote::of(&plan).bytes(options.prices),
            bytes_in_order,
            max_over_mean: max_over_mean(&loads, &[]),
            merges: false,
        });
    }
    let heads = groups.heads_of(&rows, Some(request.heads).filter(|heads| *heads > 0))?;
    let lse_bytes = u64::from(heads) * u64::from(Rows::lse_bytes(rows.element_bytes));
    let SplitPlan { batch, bytes, .. } = split(&layout, &plan, &options, lse_bytes)?;
    let cells = batch.cells()?;
    let task = |task: &rankscope_dispatch::SplitTask| PlanTask {
        document: task.document as u32,
        computer: task.rank.0,
        query_start: task.queries.start,
        query_end: task.queries.end,
        key_start: task.keys.start,
        key_end: task.keys.end,
    };
    Ok(Found {
        shards: shards(batch.layout()),
        tasks: Some(batch.tasks().iter().map(task).collect()),
        bytes,
        bytes_in_order,
        max_over_mean: max_over_mean(&cells, &[]),
        merges: batch.merges(),
    })
}

/// Where documents lie, a plan for them, and the bytes of the plan in order where another layout was chosen.
fn placed(request: &PlanRequest, lengths: &[u32], options: &Options) -> Result<(Batch, Batch, u64), Error> {
    let room = Some(request.tokens_per_rank).filter(|room| *room > 0);
    let given = match room {
        Some(room) => place_in_order(lengths, request.ranks, room)?,
        None => place_evenly(lengths, request.ranks)?,
    };
    match request.layout {
        0 => {
            let plan = bounded(&given, options)?;
            Ok((given, plan, 0))
        }
        1 => {
            let chosen = choose(&given, room, options, Goal::FewestBytes)?;
            let bytes_in_order = chosen.given.map_or(0, |plan| Remote::of(&plan).bytes(options.prices));
            Ok((chosen.layout, chosen.plan, bytes_in_order))
        }
        layout => Err(Error::NoSuchNumber { argument: "layout", number: layout.into() }),
    }
}

fn pass(request: &PlanRequest) -> Result<Pass, Error> {
    match request.pass {
        0 => Ok(Pass::Forward),
        1 => Ok(Pass::Backward),
        pass => Err(Error::NoSuchNumber { argument: "pass", number: pass.into() }),
    }
}

fn groups(request: &PlanRequest) -> Result<HeadGroups, Error> {
    let groups = request.head_groups.max(1);
    let known = HeadGroups::new(groups).filter(|_| groups <= HEAD_GROUPS_MAX);
    known.ok_or(Error::NoSuchNumber { argument: "head_groups", number: groups.into() })
}

fn caps(request: &PlanRequest) -> Caps {
    let cap = |bytes: u64| Some(bytes).filter(|bytes| *bytes > 0);
    let PlanRequest { cap_send_bytes, cap_receive_bytes, cap_buffer_bytes, .. } = *request;
    Caps { send_bytes: cap(cap_send_bytes), receive_bytes: cap(cap_receive_bytes), buffer_bytes: cap(cap_buffer_bytes) }
}

fn rows(request: &PlanRequest) -> Result<Rows, Error> {
    let PlanRequest { hidden_q, hidden_kv, element_bytes, .. } = *request;
    if (hidden_q, hidden_kv, element_bytes) == (0, 0, 0) {
        return Ok(Rows::LLAMA_8B);
    }
    for (argument, number, most) in [
        ("hidden_q", hidden_q, ELEMENTS_MAX),
        ("hidden_kv", hidden_kv, ELEMENTS_MAX),
        ("element_bytes", element_bytes, ELEMENT_BYTES_MAX),
    ] {
        if number == 0 || number > most {
            return Err(Error::NoSuchNumber { argument, number: number.into() });
        }
    }
    Ok(Rows { hidden_q, hidden_kv, lse: 0, element_bytes })
}

fn shards(plan: &Batch) -> Vec<PlanShard> {
    let mut shards = Vec::with_capacity(plan.shards().len());
    for (document, own) in (0..).zip(plan.documents()) {
        shards.extend(own.iter().map(|shard| PlanShard {
            document,
            holder: shard.linear.0,
            computer: shard.attention.0,
            tokens: shard.tokens,
        }));
    }
    shards
}

/// As plan files have it.
const ELEMENTS_MAX: u32 = 1 << 24;
/// As plan files have it.
const ELEMENT_BYTES_MAX: u32 = 16;
/// No model has more key heads.
const HEAD_GROUPS_MAX: u32 = 1 << 10;
