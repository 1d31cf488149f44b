//! What the original does with metadata once they are computed: cut them, narrow them, move tensors by them, and test them.

use rankscope_dispatch::draw::{Recipe, create_qkv_dispatch};
use rankscope_dispatch::metadata::Metadata;
use rankscope_dispatch::{Padded, TorchRandom, orchestrate_simulate as simulate};
use serde_json::{Value, json};

use super::error::{At, Error, InputFault, MetadataFault, Place, Result, TensorError};
use super::mismatch::{Element, Mismatch};
use super::tensor::Rows;
use super::{Case, Json, Object, Way, metadata_of};

/// Moves the tensor of the case.
pub(super) fn orchestrate_simulate(case: &Case, way: Way) -> Result<Object> {
    let metadata = given(case)?;
    let reach = u32::try_from(reach(&metadata)).map_err(TensorError::Reach)?;
    let tokens = case.count_or("output_tokens", reach)?;
    let no_name = || Error::input("write_to", InputFault::NoFileName);
    let name = case.find("write_to").map(|name| name.as_str().ok_or_else(no_name));
    let output = Rows::of(case)?.moved(&metadata, tokens as usize)?.answer(case, name.transpose()?, way.source)?;
    Ok(Object::of_kind("orchestrate_simulate").with("output", output))
}

/// The rows of one rank without padding.
pub(super) fn get_slice(case: &Case, _: Way) -> Result<Object> {
    let (metadata, rank) = (given(case)?, case.count("rank")?);
    let world_size = metadata.world_size;
    let no_rank = || Error::input("rank", InputFault::Rank { rank, world_size });
    let slice = metadata.get_slice(rank as usize).ok_or_else(no_rank)?;
    let copies = &metadata.dst_rank.shape()[2..];
    let slots = |values: Vec<i64>| {
        let slots = values.len().checked_div(copies.iter().product()).unwrap_or(0);
        Padded::new(&[&[slots], copies].concat(), values)
    };
    let row = |tensor: &Option<Padded>, values: Option<Vec<i64>>| {
        let shape = tensor.as_ref().map_or(&[][..], |tensor| &tensor.shape()[1..]).to_vec();
        values.map(|values| Padded::new(&shape, values)).transpose()
    };
    let slice = Object::default()
        .with("dst_rank", slots(slice.dst_rank)?)
        .with("dst_offset", slots(slice.dst_offset)?)
        .with("seq_len", Padded::flat(slice.seq_len))
        .with("num_recv_tokens", Padded::flat(slice.num_recv_tokens))
        .with("seq_recv_mask", row(&metadata.seq_recv_mask, slice.seq_recv_mask)?)
        .with("recv_seq_lens", row(&metadata.recv_seq_lens, slice.recv_seq_lens)?)
        .with("num_seqs", metadata.num_seqs.values()[rank as usize])
        .with("num_total_recv_tokens", slice.num_total_recv_tokens);
    Ok(Object::of_kind("get_slice").with("slice", slice))
}

/// The same numbers with the types of the kernels' arguments; what does not fit is refused.
pub(super) fn normalize_dtype(case: &Case, _: Way) -> Result<Object> {
    let metadata = given(case)?;
    let columns = metadata.normalize_dtype()?;
    let mut arrays = Object::default();
    let mut add = |name: &str, dtype: &str, shape: &[usize], values: Vec<i64>| {
        arrays.push(name, Object::default().with("dtype", dtype).with("values", Padded::new(shape, values)?));
        Ok::<_, Error>(())
    };
    let wide = |values: Vec<u32>| values.into_iter().map(i64::from).collect::<Vec<_>>();
    let shape = metadata.dst_rank.shape();
    add("dst_rank", "i32", shape, columns.dst_rank.into_iter().map(i64::from).collect())?;
    add("dst_offset", "u32", shape, wide(columns.dst_offset))?;
    add("seq_len", "u32", metadata.seq_len.shape(), wide(columns.seq_len))?;
    // All of them were 64 bits with sign before, so they are again.
    let counts = columns.num_recv_tokens.into_iter().map(u64::cast_signed).collect();
    add("num_recv_tokens", "u64", metadata.num_recv_tokens.shape(), counts)?;
    for (name, values, before) in [
        ("seq_recv_mask", columns.seq_recv_mask, &metadata.seq_recv_mask),
        ("recv_seq_lens", columns.recv_seq_lens, &metadata.recv_seq_lens),
    ] {
        if let (Some(values), Some(before)) = (values, before) {
            add(name, "u32", before.shape(), wide(values))?;
        }
    }
    add("num_seqs", "i32", metadata.num_seqs.shape(), columns.num_seqs.into_iter().map(i64::from).collect())?;
    Ok(Object::of_kind("normalize_dtype").with("normalized", arrays))
}

/// Creates a dispatch, moves random rows there and back, and compares.
pub(super) fn test_qkv_dispatch(case: &Case, way: Way) -> Result<Object> {
    let [ranks, num_seqs, degree, tokens, hidden] = [
        case.count_or("world_size", 2)?,
        case.count_or("num_seqs", 4)?,
        case.count_or("max_seq_shard", 2)?,
        case.count_or("num_tokens", 1024)?,
        case.count_or("hidden_size", 128)?,
    ];
    let elements = [ranks, tokens, hidden].into_iter().try_fold(u64::from(degree), |size, axis| size.checked_mul(axis.into()));
    if elements.is_none_or(|elements| elements > MOST_ELEMENTS) {
        return Err(TensorError::Elements.into());
    }
    let seed = if case.find("seed").is_some() { case.seed()? } else { 0 };
    let drawn = create_qkv_dispatch(&Recipe {
        world_size: ranks,
        total_seq_len: tokens,
        num_seqs,
        max_cp_degree: degree,
        seed,
        seq_lens: None,
    })?;
    let whole = way.whole(&way.raw(&drawn)?)?;
    let of_case = |key: &str, created: Metadata| {
        case.object(key)?.map_or(Ok(created), |given| metadata_of(&given).at(|| Place::Named(key.to_owned())))
    };
    let (fwd_q, rev_q) = (of_case("fwd_q", whole.fwd_q)?, of_case("rev_q", whole.rev_q)?);
    let (fwd_kv, rev_kv) = (of_case("fwd_kv", whole.fwd_kv)?, of_case("rev_kv", whole.rev_kv)?);

    let (tokens, hidden) = (tokens as usize, hidden as usize);
    let mut random = TorchRandom::new(seed);
    let mut row = || (0..tokens * hidden).map(|_| random.uniform() + 1.0).collect::<Vec<f32>>();
    let x: Vec<Vec<f32>> = (0..ranks).map(|_| row()).collect();
    let queries = there_and_back(&x, [&fwd_q, &rev_q], hidden, tokens).and_then(|back| same(&x, &back, hidden));
    let planes = degree as usize;
    let keys = there_and_back(&x, [&fwd_kv, &rev_kv], hidden, planes * tokens);
    let keys = keys.and_then(|back| all_planes(&x, &back, hidden, planes));
    let steps = [("queries there and back are what was sent", queries), ("keys and values come back in every plane", keys)];
    let passed = steps.iter().all(|step| step.1.is_ok());
    let steps = steps.map(|(step, outcome)| json!({"step": step, "passed": outcome.is_ok(), "where": outcome.err().map(|mismatch| mismatch.to_string())}));
    Ok(Object::of_kind("test_qkv_dispatch").with("passed", Json::Given(Value::Bool(passed))).with("steps", json!(steps)))
}

/// 4 GiB of floats.
const MOST_ELEMENTS: u64 = 1 << 30;

/// What comes back into `tokens` rows on each rank; or what leaves a buffer.
fn there_and_back(x: &[Vec<f32>], ways: [&Metadata; 2], hidden: usize, tokens: usize) -> Result<Vec<Vec<f32>>, Mismatch> {
    let [forward, reverse] = ways;
    if let Some(other) = ways.into_iter().find(|metadata| metadata.world_size != x.len()) {
        return Err(Mismatch::Ranks { metadata: other.world_size, tensors: x.len() });
    }
    let room = usize::try_from(reach(forward))
        .ok()
        .and_then(|room| room.checked_mul(hidden))
        .filter(|room| *room <= MOST_ELEMENTS as usize);
    let room = room.ok_or(Mismatch::BeyondBuffers)?;
    let mut there = vec![vec![0.0; room]; x.len()];
    let mut back = vec![vec![0.0; tokens * hidden]; x.len()];
    simulate(x, &mut there, hidden, forward).map_err(Mismatch::There)?;
    simulate(&there, &mut back, hidden, reverse).map_err(Mismatch::Back)?;
    Ok(back)
}

/// The first element that differs.
fn same(x: &[Vec<f32>], back: &[Vec<f32>], hidden: usize) -> Result<(), Mismatch> {
    for (rank, (sent, found)) in x.iter().zip(back).enumerate() {
        if let Some(at) = sent.iter().zip(found).position(|(sent, found)| sent != found) {
            return Err(Mismatch::Value { at: Element::new(rank, at, hidden), sent: sent[at], found: found[at] });
        }
    }
    Ok(())
}

/// Of every token there is a plane, and every plane that is not zero holds the token; so does their mean.
fn all_planes(x: &[Vec<f32>], back: &[Vec<f32>], hidden: usize, planes: usize) -> Result<(), Mismatch> {
    for (rank, (sent, found)) in x.iter().zip(back).enumerate() {
        for (at, &value) in sent.iter().enumerate() {
            let copies = (0..planes).map(|plane| found[plane * sent.len() + at]).enumerate();
            let written: Vec<(usize, f32)> = copies.filter(|copy| copy.1 != 0.0).collect();
            let at = Element::new(rank, at, hidden);
            if let Some(&(plane, found)) = written.iter().find(|copy| copy.1 != value) {
                return Err(Mismatch::Plane { at, sent: value, found, plane });
            }
            if written.is_empty() {
                return Err(Mismatch::NoPlane { at });
            }
        }
    }
    Ok(())
}

/// The metadata of the case.
fn given(case: &Case) -> Result<Metadata> {
    let given = case.object("metadata")?.ok_or_else(|| Error::missing("metadata"))?;
    let metadata = metadata_of(&given).at(|| Place::Metadata)?;
    let (ranks, slots) = (metadata.world_size, metadata.seq_len.width());
    let fits = |array: &Padded, shape: &[usize]| array.shape().starts_with(shape);
    if ranks == 0 {
        return Err(Error::Metadata(MetadataFault::NoRanks));
    }
    for (name, array, shape) in [
        ("seq_len", &metadata.seq_len, &[ranks, slots][..]),
        ("dst_rank", &metadata.dst_rank, &[ranks, slots]),
        ("dst_offset", &metadata.dst_offset, metadata.dst_rank.shape()),
        ("num_seqs", &metadata.num_seqs, &[ranks]),
    ] {
        if !fits(array, shape) {
            let (found, asked) = (array.shape().to_vec(), shape.to_vec());
            return Err(Error::Metadata(MetadataFault::Shape { array: name, found, asked }));
        }
    }
    for (name, array) in [("seq_recv_mask", &metadata.seq_recv_mask), ("recv_seq_lens", &metadata.recv_seq_lens)] {
        if array.as_ref().is_some_and(|array| !fits(array, &[ranks])) {
            return Err(Error::Metadata(MetadataFault::Rows { array: name }));
        }
    }
    let totals = metadata.num_total_recv_tokens.as_ref().map_or(ranks, Vec::len);
    match totals == ranks {
        true => Ok(metadata),
        false => Err(Error::Metadata(MetadataFault::Totals { entries: totals, ranks })),
    }
}

/// Tokens of a buffer into which everything fits.
fn reach(metadata: &Metadata) -> i64 {
    let slots = metadata.seq_len.values().len();
    let copies = metadata.dst_rank.values().len().checked_div(slots).unwrap_or(1).max(1);
    let entries = metadata.dst_rank.values().iter().zip(metadata.dst_offset.values()).enumerate();
    let sent = entries.filter(|(_, (to, _))| **to >= 0);
    let ends =
        sent.map(|(at, (_, offset))| offset.saturating_add(metadata.seq_len.values().get(at / copies).copied().unwrap_or(0)));
    ends.max().unwrap_or(0).max(0)
}
