//! Plans for context-parallel attention: which rank should hold which tokens of a batch, and which one computes their
//! attention.
//!
//! A loader asks once a batch and reads an array of shards. There is no handle: a plan is the caller's memory until it is given
//! back. What has no plan is refused with the reason.

use std::{ptr, slice};

use rankscope_dispatch::planner::bounded::{Options, bounded, loads, max_over_mean};
use rankscope_dispatch::planner::{Goal, Prices, Remote, choose, place_evenly, place_in_order};
use rankscope_dispatch::{Batch, Rows};

use crate::guard::{answered, guarded};
use crate::status::{Error, Status};
use crate::structures::{fill, sized};

/// What is to be planned. Set all to zero and `struct_size` first.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PlanRequest {
    /// `sizeof(rankscope_plan_request)`.
    pub struct_size: u32,
    /// How many ranks there are.
    pub ranks: u32,
    /// Tokens of each document, in order.
    pub lengths: *const u32,
    /// How many documents there are.
    pub documents: usize,
    /// How far above its share of the attention a rank may be; 0.05 is usual.
    pub eps: f64,
    /// Elements of a query row. If this, `hidden_kv` and `element_bytes` are all zero, rows are those of Llama 8B in bf16.
    pub hidden_q: u32,
    /// Elements of a key row, and of a value row.
    pub hidden_kv: u32,
    /// Bytes of an element.
    pub element_bytes: u32,
    /// Where documents lie: a `rankscope_layout`.
    pub layout: u32,
    /// Tokens that a rank holds at most. Zero spreads documents evenly in order, and lets a choice hold 1 % more than the mean.
    pub tokens_per_rank: u64,
}

const LEAST_REQUEST: u32 = 56;

/// Where documents lie before anything is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Layout {
    /// In order, from rank to rank.
    InOrder = 0,
    /// Wherever the plan moves the fewest bytes, for loaders that are free to decide.
    Choose = 1,
}

/// A run of consecutive tokens of one document. It never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PlanShard {
    /// Which document, by its place in the request.
    pub document: u32,
    /// The rank that should hold the tokens.
    pub holder: u32,
    /// The rank that computes the attention of their queries.
    pub computer: u32,
    /// How many there are. The next shard of the document begins behind them.
    pub tokens: u32,
}

/// A plan. Set `struct_size` first; it then says how much was filled in. Give it back with `rankscope_plan_free`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Plan {
    /// `sizeof(rankscope_plan)`.
    pub struct_size: u32,
    /// How many documents it is of.
    pub documents: u32,
    /// Its shards: by document, from the start of each to its end.
    pub shards: *mut PlanShard,
    /// How many there are.
    pub shard_count: usize,
    /// What ranks send each other in the forward pass of a layer: queries, keys and values out, outputs back.
    pub bytes: u64,
    /// The same of the plan for documents in order, where a layout was chosen.
    pub bytes_in_order: u64,
    /// Attention of the heaviest rank over the mean.
    pub max_over_mean: f64,
}

const LEAST_PLAN: u32 = 48;

/// Plans a batch: who holds and who computes what.
///
/// # Safety
/// `request` is null, or has as many bytes as it says and `lengths` as many numbers; `plan` is null or has as many bytes as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_plan_documents(request: *const PlanRequest, plan: *mut Plan) -> Status {
    answered(|| {
        // SAFETY: the caller says so; zeros are a request, for nobody.
        let request = unsafe { sized(request, "rankscope_plan_request", LEAST_REQUEST) }?;
        // SAFETY: the caller says so.
        let lengths = unsafe { lengths(&request) }?;
        let (planned, bytes_in_order, options) = planned(&request, lengths)?;
        let shards = shards(&planned);
        let ours = Plan {
            struct_size: size_of::<Plan>() as u32,
            documents: planned.len() as u32,
            shards: ptr::null_mut(),
            shard_count: shards.len(),
            bytes: Remote::of(&planned).bytes(options.prices),
            bytes_in_order,
            max_over_mean: max_over_mean(&loads(&planned, &options.work)?, &[]),
        };
        // SAFETY: the caller says so. Nothing is handed over before it is known that it can be.
        unsafe { fill(plan, &ours, "rankscope_plan", LEAST_PLAN) }?;
        // SAFETY: it was filled just now.
        unsafe { (&raw mut (*plan).shards).write(Box::into_raw(shards.into_boxed_slice()).cast()) };
        Ok(())
    })
}

/// Gives back what a plan holds. One that holds nothing any more, or null, is none.
///
/// # Safety
/// `plan` is null, or was filled by `rankscope_plan_documents` and its shards were not changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_plan_free(plan: *mut Plan) {
    guarded((), || {
        if plan.is_null() || !plan.is_aligned() {
            return;
        }
        // SAFETY: every plan that was filled has both.
        let (shards, count) = unsafe { (&mut (*plan).shards, &mut (*plan).shard_count) };
        let (shards, count) = (std::mem::replace(shards, ptr::null_mut()), std::mem::take(count));
        if !shards.is_null() {
            // SAFETY: they are a box of as many, which nobody has any more.
            drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(shards, count)) });
        }
    });
}

/// The lengths of the documents.
///
/// # Safety
/// There are as many as the request says.
unsafe fn lengths(request: &PlanRequest) -> Result<&[u32], Error> {
    let documents = request.documents;
    if documents == 0 {
        return Ok(&[]);
    }
    if request.lengths.is_null() || !request.lengths.is_aligned() {
        return Err(Error::Null { argument: "lengths" });
    }
    if documents > DOCUMENTS_MAX {
        return Err(Error::NoSuchNumber { argument: "documents", number: documents as u64 });
    }
    // SAFETY: the caller says that there are so many.
    Ok(unsafe { slice::from_raw_parts(request.lengths, documents) })
}

/// The plan, the bytes of that in order where another layout was chosen, and what was asked.
fn planned(request: &PlanRequest, lengths: &[u32]) -> Result<(Batch, u64, Options), Error> {
    let options = Options::new(request.eps, Prices::of(&rows(request)?));
    let room = Some(request.tokens_per_rank).filter(|room| *room > 0);
    let given = match room {
        Some(room) => place_in_order(lengths, request.ranks, room)?,
        None => place_evenly(lengths, request.ranks)?,
    };
    match request.layout {
        0 => Ok((bounded(&given, &options)?, 0, options)),
        1 => {
            let chosen = choose(&given, room, &options, Goal::FewestBytes)?;
            let in_order = chosen.given.map_or(0, |plan| Remote::of(&plan).bytes(options.prices));
            Ok((chosen.plan, in_order, options))
        }
        layout => Err(Error::NoSuchNumber { argument: "layout", number: layout.into() }),
    }
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

/// A batch of more is none.
const DOCUMENTS_MAX: usize = 1 << 28;
/// As plan files have it.
const ELEMENTS_MAX: u32 = 1 << 24;
/// As plan files have it.
const ELEMENT_BYTES_MAX: u32 = 16;
