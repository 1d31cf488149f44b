//! Kinds that answer in bytes: the original's metadata of its fused all-to-all, from logical arrays and from a planner's output.

use rankscope_dispatch::alltoall::{FastAllToAll, GradientSums, LogicalShape, Offsets, PlannerOptions, SeqLens};
use rankscope_dispatch::draw::create_qkv_dispatch;
use rankscope_dispatch::export::TaskLengths;
use rankscope_dispatch::metadata::RawDispatch;
use rankscope_dispatch::{Batch, Rows, Shard};
use rankscope_time::Rank;
use serde::Deserialize;
use serde_json::json;

use super::error::{At, Error, Must, Place, Result};
use super::kinds::{ELEMENT, HIDDEN_KV, HIDDEN_Q, Input, LSE};
use super::whole::{draw, raw_object};
use super::{Case, Form, Object, Packed, Way, raw_of};
use rankscope_plan_files::plan;

/// `fa2a_from_logical`: the logical arrays are drawn from a seed, or given under `raw`.
pub(super) fn fa2a_from_logical(case: &Case, way: Way) -> Result<Object> {
    let raw = match case.find("seed") {
        Some(_) => way.raw(&draw(case, create_qkv_dispatch)?)?,
        None => given(case)?,
    };
    let step = way.logical_bytes(&raw, &rows(case)?)?;
    let tasks = Object::default()
        .with("cu_seqlens_q", json!(step.fa_params.cu_seqlens_q))
        .with("cu_seqlens_kv", json!(step.fa_params.cu_seqlens_kv))
        .with("max_seqlen_q", json!(step.fa_params.max_seqlen_q))
        .with("max_seqlen_kv", json!(step.fa_params.max_seqlen_kv));
    Ok(Object::of_kind(case.kind()?)
        .with("raw", raw_object(&raw, Form::Nested)?)
        .with("fa_params", tasks)
        .with("qkv_fwd", all_to_all(&step.qkv_fwd))
        .with("qkv_bwd", all_to_all(&step.qkv_bwd))
        .with("attn_out_fwd", all_to_all(&step.attn_out_fwd))
        .with("attn_out_bwd", all_to_all(&step.attn_out_bwd))
        .with("alltoallv_qkv_fwd", alltoallv(&step.qkv_fwd))
        .with("alltoallv_qkv_bwd", alltoallv(&step.qkv_bwd)))
}

/// `from_planner_output`: documents as shards `[linear rank, attention rank, position in the document, tokens]`.
pub(super) fn planner_output(case: &Case, way: Way) -> Result<Object> {
    let option = |key: &str| match case.find(key) {
        None => Ok(false),
        Some(value) => value.as_bool().ok_or_else(|| Error::value(key, value, Must::Flag)),
    };
    let options = PlannerOptions { is_pipeline_tick: option("is_pipeline_tick")?, is_resend_qkv: option("is_resend_qkv")? };
    let step = way.planner_bytes(&batch(documents(case)?, case.count("world_size")?)?, &rows(case)?, options)?;
    let tasks = |tasks: &TaskLengths| {
        Object::default()
            .with("cu_seqlens_q", json!(tasks.cu_seqlens_q))
            .with("cu_seqlens_kv", json!(tasks.cu_seqlens_kv))
            .with("max_seqlen_q", json!(tasks.max_seqlen_q))
            .with("max_seqlen_kv", json!(tasks.max_seqlen_kv))
    };
    Ok(Object::of_kind(case.kind()?)
        .with("qkv_linear_to_attn", all_to_all(&step.qkv_linear_to_attn))
        .with("qkv_grad_attn_to_linear", step.qkv_grad_attn_to_linear.as_ref().map(all_to_all))
        .with("out_attn_to_linear", all_to_all(&step.out_attn_to_linear))
        .with("out_grad_linear_to_attn", step.out_grad_linear_to_attn.as_ref().map(all_to_all))
        .with("attn", step.attn.iter().map(tasks).collect::<Vec<_>>())
        .with("alltoallv_qkv", alltoallv(&step.qkv_linear_to_attn)))
}

/// Adds the bytes of a big dispatch whose case gives the sizes of rows.
pub(super) fn extend(case: &Case, way: Way, raw: &RawDispatch, answer: &mut Object) -> Result<()> {
    let Some(sizes) = case.object("fa2a_inputs")? else { return Ok(()) };
    let step = way.logical_bytes(raw, &rows(&sizes)?)?;
    answer.push("fa2a_inputs", sizes.value().clone());
    answer.push("fa2a_qkv_fwd", digests(&step.qkv_fwd));
    answer.push("fa2a_attn_out_bwd", digests(&step.attn_out_bwd));
    Ok(())
}

/// Sizes of rows, which have several names.
fn rows(case: &Case) -> Result<Rows> {
    let named = |Input(names, _): Input| names.iter().copied().find(|name| case.find(name).is_some()).unwrap_or(names[0]);
    Ok(Rows {
        hidden_q: case.count(named(HIDDEN_Q))?,
        hidden_kv: case.count(named(HIDDEN_KV))?,
        lse: case.count_or(named(LSE), 0)?,
        element_bytes: case.count(named(ELEMENT))?,
    })
}

/// A planner's output as a plan; `None` where the case has none. Without `world_size`, ranks go up to the last that a shard names.
pub(super) fn planned(case: &Case) -> Result<Option<Batch>> {
    if case.input("docs").is_none() {
        return Ok(None);
    }
    let documents = documents(case)?;
    let last = documents.iter().flatten().flat_map(|shard| &shard[..2]).max();
    let world_size = match last.and_then(|last| last.checked_add(1)) {
        Some(named) => case.count_or("world_size", named)?,
        None => case.count("world_size")?,
    };
    // Where a plan is all that is looked at, rows need no sizes.
    let rows = match rows(case) {
        Err(Error::MissingInput { .. }) => Rows::LLAMA_8B,
        rows => rows?,
    };
    let batch = batch(documents, world_size)?;
    plan::within(&batch, &rows)?;
    Ok(Some(batch))
}

fn documents(case: &Case) -> Result<Vec<Vec<[u32; 4]>>> {
    let docs = case.input("docs").ok_or_else(|| Error::missing("docs"))?;
    Vec::deserialize(docs).at(|| Place::Input("docs".to_owned()))
}

fn batch(mut documents: Vec<Vec<[u32; 4]>>, world_size: u32) -> Result<Batch> {
    let mut batch = Batch::new(world_size)?;
    for document in &mut documents {
        document.sort_by_key(|shard| shard[2]);
        let shard =
            |&[linear, attention, _, tokens]: &[u32; 4]| Shard { linear: Rank(linear), attention: Rank(attention), tokens };
        batch.push(&document.iter().map(shard).collect::<Vec<_>>()).at(|| Place::Input("docs".to_owned()))?;
    }
    Ok(batch)
}

/// The logical arrays as the case spells them out.
fn given(case: &Case) -> Result<RawDispatch> {
    raw_of(&case.object("raw")?.ok_or_else(|| Error::missing("raw"))?)
}

fn all_to_all(it: &FastAllToAll) -> Object {
    let memcpy = |tensors: &Vec<Vec<Offsets>>| {
        let rank = |offsets: &Offsets| match offsets {
            Offsets::Shards(offsets) => json!(offsets),
            Offsets::Replicas(planes) => json!(planes),
        };
        tensors.iter().map(|ranks| ranks.iter().map(rank).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let lens = |SeqLens { send, recv }: &SeqLens| both(send, recv);
    let shapes = |LogicalShape { send, recv }: &LogicalShape| both(send, recv);
    let sums = |sums: &GradientSums| {
        Object::default()
            .with("num_copies", json!(sums.num_copies))
            .with("copy_start_id", json!(sums.copy_start_id))
            .with("main_copy_mask", json!(sums.main_copy_mask))
    };
    let answer = Object::default()
        .with("sender_send_disp", json!(it.sender_send_disp))
        .with("sender_transfer_sz", json!(it.sender_transfer_sz))
        .with("sender_recv_disp", json!(it.sender_recv_disp))
        .with("recver_transfer_sz", json!(it.recver_transfer_sz))
        .with("send_memcpy", memcpy(&it.send_memcpy))
        .with("recv_memcpy", memcpy(&it.recv_memcpy))
        .with("my_rank_send_offset", json!(it.my_rank_send_offset()))
        .with("my_rank_recv_offset", json!(it.my_rank_recv_offset()))
        .with("my_rank_send_sz", json!(it.my_rank_send_sz()))
        .with("seq_lens", it.seq_lens.iter().map(lens).collect::<Vec<_>>())
        .with("tensor_shape", it.tensor_shape.iter().map(shapes).collect::<Vec<_>>())
        .with("kv_replica_mask", json!(it.kv_replica_mask));
    match &it.kv_grad_send_dedup {
        Some(ranks) => answer.with("kv_grad_send_dedup", ranks.iter().map(sums).collect::<Vec<_>>()),
        None => answer,
    }
}

fn both(send: &[Vec<u64>], recv: &[Vec<u64>]) -> Object {
    Object::default().with("send", json!(send)).with("recv", json!(recv))
}

fn alltoallv(it: &FastAllToAll) -> Object {
    Object::default()
        .with("sendcounts", json!(it.sender_transfer_sz))
        .with("sdispls", json!(it.sender_send_disp))
        .with("recvcounts", json!(it.recver_transfer_sz))
        .with("rdispls", json!(it.receive_displacements()))
}

/// The matrices, and the offsets of all ranks one after another, as sums and hashes.
fn digests(it: &FastAllToAll) -> Object {
    let matrix = |matrix: &[Vec<u64>]| {
        let values: Vec<i64> = matrix.iter().flatten().map(|&bytes| bytes as i64).collect();
        Packed::digest(&[matrix.len(), matrix.len()], &values)
    };
    let concat = |tensors: &[Vec<Offsets>]| {
        let tensor = |ranks: &Vec<Offsets>| {
            let mut values = Vec::new();
            for offsets in ranks {
                match offsets {
                    Offsets::Shards(offsets) => values.extend_from_slice(offsets),
                    Offsets::Replicas(planes) => planes.iter().for_each(|offsets| values.extend_from_slice(offsets)),
                }
            }
            Packed::digest(&[values.len()], &values)
        };
        tensors.iter().map(tensor).collect::<Vec<_>>()
    };
    Object::default()
        .with("sender_send_disp", matrix(&it.sender_send_disp))
        .with("sender_transfer_sz", matrix(&it.sender_transfer_sz))
        .with("sender_recv_disp", matrix(&it.sender_recv_disp))
        .with("recver_transfer_sz", matrix(&it.recver_transfer_sz))
        .with("send_memcpy_concat", concat(&it.send_memcpy))
        .with("recv_memcpy_concat", concat(&it.recv_memcpy))
}
