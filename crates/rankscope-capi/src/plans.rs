//! Plans for context-parallel attention: which rank should hold which tokens of a batch, and which one computes their
//! attention.
//!
//! A loader asks once a batch and reads an array of shards. There is no handle: a plan is the caller's memory until it is given
//! back. What has no plan is refused with the reason.

use std::mem::offset_of;
use std::{ptr, slice};

use crate::guard::{answered, guarded};
use crate::planned::{Found, found};
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
    /// What the plan is for: a `rankscope_pass`.
    pub pass: u32,
    /// Groups that heads are split into, so that ranks may compute a document for some of its heads. Zero and one are the same. Both kinds
    /// of rows divide by it, and there are at most as many groups as key heads.
    pub head_groups: u32,
    /// Not zero where ranks may share the keys of the same queries, if that moves less: then the plan has tasks.
    pub split_kv: u32,
    /// Heads of a query row, of all groups together; each has a log-sum-exp where outputs are merged. Zero stands for one for every 128
    /// elements.
    pub heads: u32,
    /// The most bytes that a rank may send, per layer and pass. Zero is no cap.
    pub cap_send_bytes: u64,
    /// The most that it may receive.
    pub cap_receive_bytes: u64,
    /// The most that it may hold at once of queries and context, its own included.
    pub cap_buffer_bytes: u64,
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

/// What a plan is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Pass {
    /// Queries, keys and values out, outputs back.
    Forward = 0,
    /// A backward pass that keeps nothing of the forward one: all it needs goes out again, and gradients come back.
    Backward = 1,
}

/// A run of consecutive tokens of one document. It never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PlanShard {
    /// Which document, by its place in the request. Where heads are in groups, those of the second group come behind all of the first, and
    /// so on.
    pub document: u32,
    /// The rank that should hold the tokens.
    pub holder: u32,
    /// The rank that computes the attention of their queries. Where keys may be split, that is for tasks to say, and here is the holder.
    pub computer: u32,
    /// How many there are. The next shard of the document begins behind them.
    pub tokens: u32,
}

/// Queries of one document and the keys they attend to, on one rank. Either all keys come before all queries, or they end with the
/// queries, each of which attends to those up to itself. It never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PlanTask {
    /// Which document, as in shards.
    pub document: u32,
    /// The rank that computes it.
    pub computer: u32,
    /// Position of the first query in the document.
    pub query_start: u32,
    /// Of the one behind the last.
    pub query_end: u32,
    /// Position of the first key.
    pub key_start: u32,
    /// Of the one behind the last.
    pub key_end: u32,
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
    /// What ranks send each other in the pass of a layer: queries, keys and values out, outputs back; or gradients.
    pub bytes: u64,
    /// The same of the plan for documents in order, where a layout was chosen.
    pub bytes_in_order: u64,
    /// Attention of the heaviest rank over the mean.
    pub max_over_mean: f64,
    /// Where keys may be split, what ranks compute: by document, query and key. Null elsewhere, for then shards say it.
    pub tasks: *mut PlanTask,
    /// How many there are.
    pub task_count: usize,
    /// Groups that heads are split into, at least one.
    pub head_groups: u32,
    /// Not zero where outputs of some queries come in parts, to be merged by their log-sum-exps.
    pub merges: u32,
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
        let Found { shards, tasks, bytes, bytes_in_order, max_over_mean, merges } = found(&request, lengths)?;
        // SAFETY: the caller says so.
        unsafe { has_room(plan, tasks.is_some()) }?;
        let ours = Plan {
            struct_size: size_of::<Plan>() as u32,
            documents: lengths.len() as u32,
            shards: ptr::null_mut(),
            shard_count: shards.len(),
            bytes,
            bytes_in_order,
            max_over_mean,
            tasks: ptr::null_mut(),
            task_count: tasks.as_ref().map_or(0, Vec::len),
            head_groups: request.head_groups.max(1),
            merges: merges.into(),
        };
        // SAFETY: the caller says so. Nothing is handed over before it is known that it can be.
        unsafe { fill(plan, &ours, "rankscope_plan", LEAST_PLAN) }?;
        // SAFETY: it was filled just now; there is room for tasks where there are some.
        unsafe {
            (&raw mut (*plan).shards).write(Box::into_raw(shards.into_boxed_slice()).cast());
            if let Some(tasks) = tasks {
                (&raw mut (*plan).tasks).write(Box::into_raw(tasks.into_boxed_slice()).cast());
            }
        }
        Ok(())
    })
}

/// Whether a plan has room for tasks, if it is to have some.
///
/// # Safety
/// `plan` is null or has as many bytes as it says.
unsafe fn has_room(plan: *const Plan, with_tasks: bool) -> Result<(), Error> {
    // SAFETY: the caller says so; zeros are a plan.
    let found = unsafe { sized(plan, "rankscope_plan", LEAST_PLAN) }?.struct_size;
    match with_tasks && (found as usize) < TASKS_END {
        true => Err(Error::Outgrown { structure: "rankscope_plan", found, field: "tasks", needed: TASKS_END }),
        false => Ok(()),
    }
}

/// Where the tasks and their count end.
const TASKS_END: usize = offset_of!(Plan, task_count) + size_of::<usize>();

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
        // SAFETY: every plan that was filled has both, and says how far it was filled.
        unsafe {
            give_back(&mut (*plan).shards, &mut (*plan).shard_count);
            if (*plan).struct_size as usize >= TASKS_END {
                give_back(&mut (*plan).tasks, &mut (*plan).task_count);
            }
        }
    });
}

/// Drops what was handed over, if it was not given back before.
///
/// # Safety
/// They are the place and the length of a box that nobody else has, or null.
unsafe fn give_back<T>(entries: &mut *mut T, count: &mut usize) {
    let (entries, count) = (std::mem::replace(entries, ptr::null_mut()), std::mem::take(count));
    if !entries.is_null() {
        // SAFETY: the caller says so.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(entries, count)) });
    }
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

/// A batch of more is none.
const DOCUMENTS_MAX: usize = 1 << 28;
