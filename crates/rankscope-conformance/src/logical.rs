//! Kinds that answer with the metadata of queries, of keys and values, or of attention.

use rankscope_dispatch::Padded;
use rankscope_dispatch::metadata::{AttentionLayout, Metadata, RawDispatch, documented_attn_layout_seqlens};

use super::error::{Error, Result};
use super::simulated::{self, RULE_QUERIES, longest, moved, numbered, rows, widest};
use super::{Case, Form, Json, Object, Packed, Revision, Way};

/// Where shards go, and back.
pub(super) fn compute_metadata(case: &Case, way: Way) -> Result<Object> {
    let (lengths, dispatch) = (case.array("seq_len")?, case.array("dispatch")?);
    let (forward, reverse) = way.metadata(&lengths, &dispatch)?;
    let form = if case.is_big() { Form::Packed } else { Form::Nested };
    let mut answer = Object::of_kind(case.kind()?);
    answer.push("fwd", metadata_object(&forward, form)?);
    answer.push("rev", metadata_object(&reverse, form)?);
    if form == Form::Packed {
        return Ok(answer);
    }
    let input = numbered(&lengths)?;
    let there = moved(&input, &forward, widest(&forward))?;
    let planes = dispatch.shape().get(2).copied().unwrap_or(1);
    let back = moved(&rows(&there), &reverse, planes * longest(&input))?;
    answer.push("sim_input_rule", RULE_QUERIES);
    answer.push("sim_forward", there);
    // Planes side by side are called flat where keys and values come back; the name is given here, too.
    let flat = (dispatch.shape().len() == 3).then(|| back.clone());
    answer.push("sim_reverse", back);
    if let Some(flat) = flat {
        answer.push("sim_reverse_flat", flat);
    }
    Ok(answer)
}

/// Where the copies of keys and values go, and back.
pub(super) fn compute_metadata_kv(case: &Case, way: Way) -> Result<Object> {
    let raw = raw_of(case)?;
    let mapping = raw.key_value_mapping();
    let (forward, reverse) = way.key_values(&mapping)?;
    let answer = Object::of_kind("compute_metadata_kv").with("fwd", metadata_object(&forward, Form::Nested)?);
    Ok(answer.with("rev", metadata_object(&reverse, Form::Nested)?))
}

/// The cumulative lengths of every rank's tasks.
pub(super) fn compute_attn_layout_seqlens(case: &Case, way: Way) -> Result<Object> {
    let [lengths, sums, dispatch] = [case.array("shard_len")?, case.array("shard_cumsum")?, case.array("q_dispatch")?];
    let mut answer = Object::of_kind("compute_attn_layout_seqlens");
    answer.push("attn", attention_object(&way.attention(&lengths, &sums, &dispatch)?));
    if way.revision == Revision::Documented {
        answer.push("documented_attn_buggy", attention_object(&documented_attn_layout_seqlens(&lengths, &sums, &dispatch)?));
    }
    Ok(answer)
}

/// All fields, in the order of the golden files.
pub(super) fn metadata_object(metadata: &Metadata, form: Form) -> Result<Object> {
    let array = |array: &Padded| array_in(form, array);
    let optional = |array: &Option<Padded>| array.as_ref().map(|array| array_in(form, array)).transpose();
    let mut answer = Object::default()
        .with("dst_rank", array(&metadata.dst_rank)?)
        .with("dst_offset", array(&metadata.dst_offset)?)
        .with("seq_len", array(&metadata.seq_len)?)
        .with("num_recv_tokens", array(&metadata.num_recv_tokens)?)
        .with("seq_recv_mask", optional(&metadata.seq_recv_mask)?)
        .with("recv_seq_lens", optional(&metadata.recv_seq_lens)?)
        .with("num_seqs", array(&metadata.num_seqs)?);
    if form == Form::Nested {
        answer.push("world_size", metadata.world_size);
    }
    Ok(answer.with("num_total_recv_tokens", metadata.num_total_recv_tokens.clone().map(Padded::flat)))
}

/// An array, as this answer writes them.
pub(super) fn array_in(form: Form, array: &Padded) -> Result<Json> {
    Ok(match form {
        Form::Nested => array.clone().into(),
        Form::Packed => Packed::new(array)?.into(),
    })
}

/// All fields; rows have the lengths they have.
pub(super) fn attention_object(layout: &AttentionLayout) -> Object {
    let ragged = |rows: &[Vec<i64>]| rows.iter().map(|row| Json::from(Padded::flat(row.clone()))).collect::<Vec<_>>();
    Object::default()
        .with("cu_seqlens_q", ragged(&layout.cu_seqlens_q))
        .with("cu_seqlens_kv", ragged(&layout.cu_seqlens_kv))
        .with("max_seqlen_q", Padded::flat(layout.max_seqlen_q.clone()))
        .with("max_seqlen_kv", Padded::flat(layout.max_seqlen_kv.clone()))
        .with("num_local_seqs_recv", Padded::flat(layout.num_local_seqs_recv.clone()))
}

/// The same in a big answer: all rows in one, and no number of tasks, which follows.
pub(super) fn attention_packed(layout: &AttentionLayout) -> Result<Object> {
    Ok(Object::default()
        .with("cu_seqlens_q_concat", Packed::new(&Padded::flat(layout.cu_seqlens_q.concat()))?)
        .with("cu_seqlens_kv_concat", Packed::new(&Padded::flat(layout.cu_seqlens_kv.concat()))?)
        .with("max_seqlen_q", Padded::flat(layout.max_seqlen_q.clone()))
        .with("max_seqlen_kv", Padded::flat(layout.max_seqlen_kv.clone())))
}

/// A simulated buffer in a big answer; `None` when it is too large to be worth it.
pub(super) fn moved_packed(input: &[Vec<i64>], metadata: &Metadata) -> Result<Option<Packed>> {
    let width = widest(metadata);
    if !simulated::is_small(metadata.world_size, width) {
        return Ok(None);
    }
    let there = moved(input, metadata, width)?;
    Ok(Some(Packed::digest(there.shape(), there.values())))
}

/// The input arrays of a whole dispatch, which have two names each in part.
pub(crate) fn raw_of(case: &Case) -> Result<RawDispatch> {
    let either = |first: &str, second: &str| match case.array_if_any(first)? {
        Some(array) => Ok::<_, Error>(array),
        None => case.array(second),
    };
    Ok(RawDispatch {
        shard_len: either("seq_len", "shard_len")?,
        num_shards: either("num_seqs", "num_shards")?,
        q_dispatch: case.array("q_dispatch")?,
        kv_to_q_mapping: case.array("kv_to_q_mapping")?,
        kv_to_q_rank: case.array("kv_to_q_rank")?,
        kv_context_size: case.array("kv_context_size")?,
        q_to_num_kv_seq: case.array("q_to_num_kv_seq")?,
        q_to_num_kv_token: case.array("q_to_num_kv_token")?,
    })
}

/// Metadata as a case keeps them.
pub(crate) fn metadata_of(case: &Case) -> Result<Metadata> {
    let num_recv_tokens = case.array("num_recv_tokens")?;
    Ok(Metadata {
        dst_rank: case.array("dst_rank")?,
        dst_offset: case.array("dst_offset")?,
        seq_len: case.array("seq_len")?,
        seq_recv_mask: case.array_if_any("seq_recv_mask")?,
        recv_seq_lens: case.array_if_any("recv_seq_lens")?,
        num_seqs: case.array("num_seqs")?,
        world_size: num_recv_tokens.shape().first().copied().unwrap_or(0),
        num_total_recv_tokens: case.array_if_any("num_total_recv_tokens")?.map(|totals| totals.values().to_vec()),
        num_recv_tokens,
    })
}

/// The layout of attention as a case keeps it.
pub(crate) fn attention_of(case: &Case) -> Result<AttentionLayout> {
    let flat = |key: &str| Ok::<_, Error>(case.array(key)?.values().to_vec());
    Ok(AttentionLayout {
        cu_seqlens_q: case.rows("cu_seqlens_q")?,
        cu_seqlens_kv: case.rows("cu_seqlens_kv")?,
        max_seqlen_q: flat("max_seqlen_q")?,
        max_seqlen_kv: flat("max_seqlen_kv")?,
        num_local_seqs_recv: flat("num_local_seqs_recv")?,
    })
}
