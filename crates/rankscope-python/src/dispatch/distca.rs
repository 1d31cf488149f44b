//! DistCA's functions on arrays. What they return are dictionaries of arrays, of which Python makes its classes.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rankscope_dispatch::draw::{
    CustomMapping, Drawn, Recipe, create_qkv_dispatch as drawn, create_qkv_dispatch_2cp, create_qkv_dispatch_with_backward,
    create_qkv_dispatch_with_custom_mapping as spelled_out, gen_seq_lens as lengths, gen_seq_lens_valid,
};
use rankscope_dispatch::metadata::{self, AttentionLayout, Compat, KeyValueMapping, Metadata};
use rankscope_dispatch::{Error, Padded, TorchRandom};

use super::array::Array;
use super::errors::{CaseError, case};
use super::read::array;

type Given<'a, 'py> = &'a Bound<'py, PyAny>;
type Dict<'py> = Bound<'py, PyDict>;

/// Lengths of documents from torch's generator, as int32.
#[pyfunction]
pub(crate) fn gen_seq_lens(py: Python<'_>, ranks: u32, sequences: u32, tokens: u32, seed: u64, valid: bool) -> PyResult<Array> {
    let draw = if valid { gen_seq_lens_valid } else { lengths };
    let drawn = py.detach(|| draw(&mut TorchRandom::new(seed), ranks, sequences, tokens)).map_err(case)?;
    // Each is at most the tokens of a rank, which are 32 bits with sign, and no less than their negative.
    Ok(Array::int32(drawn.shape(), drawn.values().iter().map(|tokens| *tokens as i32)))
}

/// Where shards go, and how they come back.
#[pyfunction]
pub(crate) fn compute_metadata<'py>(
    py: Python<'py>,
    seq_len: Given<'_, 'py>,
    dispatch: Given<'_, 'py>,
) -> PyResult<(Dict<'py>, Dict<'py>)> {
    let (seq_len, dispatch) = (array(seq_len, "seq_len")?, array(dispatch, "dispatch")?);
    let (forward, reverse) = py.detach(|| metadata::compute_metadata(&seq_len, &dispatch)).map_err(case)?;
    Ok((fields(py, &forward)?, fields(py, &reverse)?))
}

/// The same of keys and values. `arrays` are those of [`KeyValueMapping`], by its names.
#[pyfunction]
pub(crate) fn compute_metadata_kv<'py>(
    py: Python<'py>,
    arrays: &Dict<'py>,
    documented: bool,
) -> PyResult<(Dict<'py>, Dict<'py>)> {
    let named = |name: &str| array(&arrays.as_any().get_item(name)?, name);
    let kv_to_q_mapping = named("kv_to_q_mapping")?;
    let [kv_to_q_rank, kv_context_size] = [named("kv_to_q_rank")?, named("kv_context_size")?];
    let [q_to_num_kv_seq, q_to_num_kv_token] = [named("q_to_num_kv_seq")?, named("q_to_num_kv_token")?];
    let [seq_len, num_seqs, q_dispatch] = [named("seq_len")?, named("num_seqs")?, named("q_dispatch")?];
    let mapping = KeyValueMapping {
        kv_to_q_mapping: &kv_to_q_mapping,
        kv_to_q_rank: &kv_to_q_rank,
        kv_context_size: &kv_context_size,
        q_to_num_kv_seq: &q_to_num_kv_seq,
        q_to_num_kv_token: &q_to_num_kv_token,
        seq_len: &seq_len,
        num_seqs: &num_seqs,
        q_dispatch: &q_dispatch,
    };
    let compat = if documented { Compat::Documented } else { Compat::Exact };
    let (forward, reverse) = py.detach(|| metadata::compute_metadata_kv(&mapping, compat)).map_err(case)?;
    Ok((fields(py, &forward)?, fields(py, &reverse)?))
}

/// Cumulative lengths of the tasks of every rank.
#[pyfunction]
pub(crate) fn compute_attn_layout_seqlens<'py>(
    py: Python<'py>,
    shard_len: Given<'_, 'py>,
    shard_cumsum: Given<'_, 'py>,
    q_dispatch: Given<'_, 'py>,
) -> PyResult<Dict<'py>> {
    let [lengths, sums] = [array(shard_len, "shard_len")?, array(shard_cumsum, "shard_cumsum")?];
    let dispatch = array(q_dispatch, "q_dispatch")?;
    let layout = py.detach(|| metadata::compute_attn_layout_seqlens(&lengths, &sums, &dispatch)).map_err(case)?;
    attention(py, &layout)
}

/// A dispatch drawn from a seed; two of them of the kind that has one for the backward pass.
#[pyfunction]
#[pyo3(signature = (kind, ranks, tokens, sequences, degree, seed, seq_lens=None))]
#[expect(clippy::too_many_arguments, reason = "the arguments of DistCA's function")]
pub(crate) fn create_qkv_dispatch<'py>(
    py: Python<'py>,
    kind: &str,
    ranks: u32,
    tokens: u32,
    sequences: u32,
    degree: u32,
    seed: u64,
    seq_lens: Option<Bound<'py, PyAny>>,
) -> PyResult<Vec<Dict<'py>>> {
    let seq_lens = seq_lens.map(|given| array(&given, "seq_lens")).transpose()?;
    let recipe = Recipe {
        world_size: ranks,
        total_seq_len: tokens,
        num_seqs: sequences,
        max_cp_degree: degree,
        seed,
        seq_lens: seq_lens.as_ref(),
    };
    let drawn = py.detach(|| {
        Ok(match kind {
            "plain" => vec![drawn(&recipe)?],
            "2cp" => vec![create_qkv_dispatch_2cp(&recipe)?],
            _ => <[Drawn; 2]>::from(create_qkv_dispatch_with_backward(&recipe)?).into(),
        })
    });
    drawn.map_err(case::<Error>)?.iter().map(|drawn| dispatch(py, drawn)).collect()
}

/// A dispatch that the caller spells out.
#[pyfunction]
pub(crate) fn create_qkv_dispatch_with_custom_mapping<'py>(
    py: Python<'py>,
    seq_lens: Given<'_, 'py>,
    cp_num: Given<'_, 'py>,
    cp_dst: Given<'_, 'py>,
    shard_lens: Given<'_, 'py>,
) -> PyResult<Dict<'py>> {
    let [seq_lens, cp_num] = [array(seq_lens, "seq_lens")?, array(cp_num, "cp_num")?];
    let [cp_dst, shard_lens] = [array(cp_dst, "cp_dst")?, array(shard_lens, "shard_lens")?];
    let mapping = CustomMapping { seq_lens: &seq_lens, cp_num: &cp_num, cp_dst: &cp_dst, shard_lens: &shard_lens };
    dispatch(py, &py.detach(|| spelled_out(&mapping)).map_err(case)?)
}

/// Metadata in the types of kernels' arguments.
#[pyfunction]
pub(crate) fn normalize_dtype<'py>(py: Python<'py>, given: &Dict<'py>) -> PyResult<Dict<'py>> {
    let metadata = metadata_of(given)?;
    let narrow = metadata.normalize_dtype().map_err(case)?;
    let shape = |padded: &Option<Padded>| padded.as_ref().map_or(Vec::new(), |padded| padded.shape().to_vec());
    let dict = PyDict::new(py);
    let slots = metadata.seq_len.shape();
    dict.set_item("dst_rank", Array::int32(metadata.dst_rank.shape(), narrow.dst_rank))?;
    dict.set_item("dst_offset", Array::uint32(metadata.dst_offset.shape(), narrow.dst_offset))?;
    dict.set_item("seq_len", Array::uint32(slots, narrow.seq_len))?;
    dict.set_item("num_recv_tokens", Array::uint64(metadata.num_recv_tokens.shape(), narrow.num_recv_tokens))?;
    let mask = shape(&metadata.seq_recv_mask);
    dict.set_item("seq_recv_mask", narrow.seq_recv_mask.map(|values| Array::uint32(&mask, values)))?;
    let lengths = shape(&metadata.recv_seq_lens);
    dict.set_item("recv_seq_lens", narrow.recv_seq_lens.map(|values| Array::uint32(&lengths, values)))?;
    dict.set_item("num_seqs", Array::int32(metadata.num_seqs.shape(), narrow.num_seqs))?;
    Ok(dict)
}

fn metadata_of(given: &Dict<'_>) -> PyResult<Metadata> {
    let if_any = |name: &str| {
        let value = given.get_item(name)?.filter(|value| !value.is_none());
        value.map(|value| array(&value, name)).transpose()
    };
    let named = |name: &str| {
        if_any(name)?.ok_or_else(|| CaseError::new_err(format!("metadata of all ranks have `{name}`, and these have not")))
    };
    let num_recv_tokens = named("num_recv_tokens")?;
    Ok(Metadata {
        dst_rank: named("dst_rank")?,
        dst_offset: named("dst_offset")?,
        seq_len: named("seq_len")?,
        seq_recv_mask: if_any("seq_recv_mask")?,
        recv_seq_lens: if_any("recv_seq_lens")?,
        num_seqs: named("num_seqs")?,
        world_size: num_recv_tokens.shape().first().copied().unwrap_or(0),
        num_total_recv_tokens: None,
        num_recv_tokens,
    })
}

/// The input arrays of a dispatch, and everything that follows.
fn dispatch<'py>(py: Python<'py>, drawn: &Drawn) -> PyResult<Dict<'py>> {
    let (raw, whole) = py
        .detach(|| {
            let raw = drawn.raw()?;
            let whole = raw.metadata(Compat::Exact)?;
            Ok((raw, whole))
        })
        .map_err(case::<Error>)?;
    let arrays = PyDict::new(py);
    for (name, array) in [
        ("shard_len", &raw.shard_len),
        ("num_shards", &raw.num_shards),
        ("q_dispatch", &raw.q_dispatch),
        ("kv_to_q_mapping", &raw.kv_to_q_mapping),
        ("kv_to_q_rank", &raw.kv_to_q_rank),
        ("kv_context_size", &raw.kv_context_size),
        ("q_to_num_kv_seq", &raw.q_to_num_kv_seq),
        ("q_to_num_kv_token", &raw.q_to_num_kv_token),
    ] {
        arrays.set_item(name, Array::of(array))?;
    }
    let dict = PyDict::new(py);
    dict.set_item("raw", arrays)?;
    dict.set_item("fwd_q", fields(py, &whole.fwd_q)?)?;
    dict.set_item("rev_q", fields(py, &whole.rev_q)?)?;
    dict.set_item("fwd_kv", fields(py, &whole.fwd_kv)?)?;
    dict.set_item("rev_kv", fields(py, &whole.rev_kv)?)?;
    dict.set_item("attention", attention(py, &whole.attention)?)?;
    dict.set_item("seq_lens", Array::of(&drawn.seq_lens))?;
    Ok(dict)
}

fn fields<'py>(py: Python<'py>, metadata: &Metadata) -> PyResult<Dict<'py>> {
    let dict = PyDict::new(py);
    dict.set_item("dst_rank", Array::of(&metadata.dst_rank))?;
    dict.set_item("dst_offset", Array::of(&metadata.dst_offset))?;
    dict.set_item("seq_len", Array::of(&metadata.seq_len))?;
    dict.set_item("num_recv_tokens", Array::of(&metadata.num_recv_tokens))?;
    dict.set_item("seq_recv_mask", metadata.seq_recv_mask.as_ref().map(Array::of))?;
    dict.set_item("recv_seq_lens", metadata.recv_seq_lens.as_ref().map(Array::of))?;
    dict.set_item("num_seqs", Array::of(&metadata.num_seqs))?;
    dict.set_item("world_size", metadata.world_size)?;
    dict.set_item("num_total_recv_tokens", metadata.num_total_recv_tokens.clone())?;
    Ok(dict)
}

fn attention<'py>(py: Python<'py>, layout: &AttentionLayout) -> PyResult<Dict<'py>> {
    let flat = |values: &Vec<i64>| Array::int64(&[values.len()], values.iter().copied());
    let dict = PyDict::new(py);
    dict.set_item("cu_seqlens_q", layout.cu_seqlens_q.iter().map(flat).collect::<Vec<_>>())?;
    dict.set_item("cu_seqlens_kv", layout.cu_seqlens_kv.iter().map(flat).collect::<Vec<_>>())?;
    dict.set_item("max_seqlen_q", flat(&layout.max_seqlen_q))?;
    dict.set_item("max_seqlen_kv", flat(&layout.max_seqlen_kv))?;
    dict.set_item("num_local_seqs_recv", flat(&layout.num_local_seqs_recv))?;
    Ok(dict)
}
