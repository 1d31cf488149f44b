//! Kinds that answer with a whole dispatch: its input arrays, the metadata of queries, keys and values both ways, the layout of
//! attention, and the tokens moved.

use rankscope_dispatch::draw::{
    CustomMapping, Drawn, Recipe, create_qkv_dispatch, create_qkv_dispatch_2cp, create_qkv_dispatch_with_backward,
    create_qkv_dispatch_with_custom_mapping,
};
use rankscope_dispatch::metadata::{Compat, QkvDispatch, RawDispatch, documented_attn_layout_seqlens};
use rankscope_dispatch::{Batch, Error, Padded};

use super::error::Result;
use super::logical::{array_in, attention_object, attention_packed, metadata_object, moved_packed};
use super::simulated::{RULE_BIG, RULE_WHOLE, longest, moved, numbered, rows, widest};
use super::{Case, Form, Object, Revision, Way, bytes};

/// One shard per rank and sequence at most.
pub(super) fn seeded(case: &Case, way: Way) -> Result<Object> {
    let drawn = draw(case, create_qkv_dispatch)?;
    if case.is_big() { packed(case, &drawn, way) } else { nested(case, &drawn, way) }
}

/// Up to two shards per rank and sequence.
pub(super) fn seeded_2cp(case: &Case, way: Way) -> Result<Object> {
    nested(case, &draw(case, create_qkv_dispatch_2cp)?, way)
}

/// A dispatch and its independent backward one.
pub(super) fn with_backward(case: &Case, way: Way) -> Result<Object> {
    let (forward, backward) = draw(case, create_qkv_dispatch_with_backward)?;
    let answer = Object::of_kind(case.kind()?).with("forward", nested(case, &forward, way)?);
    Ok(answer.with("backward", nested(case, &backward, way)?))
}

/// Whatever the caller spells out.
pub(super) fn custom_mapping(case: &Case, way: Way) -> Result<Object> {
    nested(case, &custom(case)?, way)
}

/// The dispatch that a case spells out.
fn custom(case: &Case) -> Result<Drawn> {
    let [seq_lens, cp_num, cp_dst, shard_lens] =
        [case.array("seq_lens")?, case.array("cp_num")?, case.array("cp_dst")?, case.array("shard_lens")?];
    let mapping = CustomMapping { seq_lens: &seq_lens, cp_num: &cp_num, cp_dst: &cp_dst, shard_lens: &shard_lens };
    Ok(create_qkv_dispatch_with_custom_mapping(&mapping)?)
}

/// What the inputs of a case say who computes what; `None` where they do not.
pub(crate) fn planned(case: &Case, kind: &str) -> Result<Option<Batch>> {
    let drawn = match kind {
        "create_qkv_dispatch" | "create_qkv_dispatch_big" => draw(case, create_qkv_dispatch)?,
        "create_qkv_dispatch_2cp" => draw(case, create_qkv_dispatch_2cp)?,
        "create_qkv_dispatch_with_custom_mapping" => custom(case)?,
        _ => return bytes::planned(case),
    };
    Ok(Some(drawn.batch))
}

/// Draws what a case asks for. Lengths that are given next to the seed are taken: sums of floats depend on the machine.
pub(super) fn draw<T>(case: &Case, create: fn(&Recipe<'_>) -> Result<T, Error>) -> Result<T> {
    let seq_lens = case.array_if_any("seq_lens")?;
    Ok(create(&Recipe {
        world_size: case.count("world_size")?,
        total_seq_len: case.count("total_seq_len")?,
        num_seqs: case.count("num_seqs")?,
        max_cp_degree: case.count("max_cp_degree")?,
        seed: case.seed()?,
        seq_lens: seq_lens.as_ref(),
    })?)
}

fn nested(case: &Case, drawn: &Drawn, way: Way) -> Result<Object> {
    let kind = case.kind()?;
    let raw = way.raw(drawn)?;
    let whole = way.whole(&raw)?;
    let mut answer = Object::of_kind(kind);
    // The original does not hand out the input arrays of this variant, and its golden case says so.
    answer.push("raw", (kind != "create_qkv_dispatch_2cp").then(|| raw_object(&raw, Form::Nested)).transpose()?);
    push_metadata(&mut answer, &whole, Form::Nested)?;
    answer.push("attn", attention_object(&whole.attention));
    if way.revision == Revision::Documented {
        let attention = documented_attn_layout_seqlens(&raw.shard_len, &raw.q_to_num_kv_token, &raw.q_dispatch)?;
        answer.push("documented_attn_buggy", attention_object(&attention));
        let documented = raw.metadata(Compat::Documented)?;
        answer.push("documented_fwd_kv", metadata_object(&documented.fwd_kv, Form::Nested)?);
        answer.push("documented_rev_kv", metadata_object(&documented.rev_kv, Form::Nested)?);
    }
    let input = numbered(&raw.shard_len)?;
    let queries = moved(&input, &whole.fwd_q, widest(&whole.fwd_q))?;
    let keys = moved(&input, &whole.fwd_kv, widest(&whole.fwd_kv))?;
    let back = moved(&rows(&keys), &whole.rev_kv, drawn.max_cp_degree as usize * longest(&input))?;
    answer.push("sim_input_rule", RULE_WHOLE);
    answer.push("sim_q_forward", queries);
    answer.push("sim_kv_forward", keys);
    answer.push("sim_kv_reverse_flat", back);
    Ok(answer)
}

fn packed(case: &Case, drawn: &Drawn, way: Way) -> Result<Object> {
    let raw = way.raw(drawn)?;
    let whole = way.whole(&raw)?;
    let mut answer = Object::of_kind(case.kind()?).with("raw", raw_object(&raw, Form::Packed)?);
    push_metadata(&mut answer, &whole, Form::Packed)?;
    answer.push("attn", attention_packed(&whole.attention)?);
    answer.push("totals", totals(&raw, &whole));
    let input = numbered(&raw.shard_len)?;
    answer.push("sim_input_rule", RULE_BIG);
    answer.push("sim_q_forward", moved_packed(&input, &whole.fwd_q)?);
    answer.push("sim_kv_forward", moved_packed(&input, &whole.fwd_kv)?);
    bytes::extend(case, way, &raw, &mut answer)?;
    Ok(answer)
}

fn push_metadata(answer: &mut Object, whole: &QkvDispatch, form: Form) -> Result<()> {
    for (key, metadata) in
        [("fwd_q", &whole.fwd_q), ("rev_q", &whole.rev_q), ("fwd_kv", &whole.fwd_kv), ("rev_kv", &whole.rev_kv)]
    {
        answer.push(key, metadata_object(metadata, form)?);
    }
    Ok(())
}

/// The input arrays.
pub(super) fn raw_object(raw: &RawDispatch, form: Form) -> Result<Object> {
    let mut answer = Object::default();
    for (key, array) in [
        ("shard_len", &raw.shard_len),
        ("num_shards", &raw.num_shards),
        ("q_dispatch", &raw.q_dispatch),
        ("kv_to_q_mapping", &raw.kv_to_q_mapping),
        ("kv_to_q_rank", &raw.kv_to_q_rank),
        ("kv_context_size", &raw.kv_context_size),
        ("q_to_num_kv_seq", &raw.q_to_num_kv_seq),
        ("q_to_num_kv_token", &raw.q_to_num_kv_token),
    ] {
        answer.push(key, array_in(form, array)?);
    }
    Ok(answer)
}

fn totals(raw: &RawDispatch, whole: &QkvDispatch) -> Object {
    let sum = |array: &Padded| array.values().iter().sum::<i64>();
    let received = |totals: &Option<Vec<i64>>| totals.clone().unwrap_or_default();
    let (queries, keys) = (received(&whole.fwd_q.num_total_recv_tokens), received(&whole.fwd_kv.num_total_recv_tokens));
    Object::default()
        .with("shards", sum(&raw.num_shards))
        .with("q_tokens", queries.iter().sum::<i64>())
        .with("kv_tokens", keys.iter().sum::<i64>())
        .with("kv_slots", sum(&whole.rev_kv.num_seqs))
        .with("q_recv_per_rank", Padded::flat(queries))
        .with("kv_recv_per_rank", Padded::flat(keys))
}
