//! Logical metadata and the tensors that they move.

use rankscope_dispatch::draw::{
    CustomMapping, Drawn, Recipe, create_qkv_dispatch, create_qkv_dispatch_2cp, create_qkv_dispatch_with_custom_mapping,
};
use rankscope_dispatch::metadata::{
    AttentionLayout, Compat, Metadata, QkvDispatch, RawDispatch, compute_metadata, documented_attn_layout_seqlens,
};
use rankscope_dispatch::{Error, Padded, orchestrate_simulate};
use serde_json::Value;

use crate::case::{number, of_kind, ragged, tensor};

fn same(name: &str, key: &str, ours: &Padded, golden: &Value) {
    assert_eq!(*ours, tensor(golden), "{name}: {key}");
}

fn same_metadata(name: &str, ours: &Metadata, golden: &Value) {
    same(name, "dst_rank", &ours.dst_rank, &golden["dst_rank"]);
    same(name, "dst_offset", &ours.dst_offset, &golden["dst_offset"]);
    same(name, "seq_len", &ours.seq_len, &golden["seq_len"]);
    same(name, "num_recv_tokens", &ours.num_recv_tokens, &golden["num_recv_tokens"]);
    same(name, "num_seqs", &ours.num_seqs, &golden["num_seqs"]);
    for (key, ours) in [("seq_recv_mask", &ours.seq_recv_mask), ("recv_seq_lens", &ours.recv_seq_lens)] {
        assert_eq!(ours.is_none(), golden[key].is_null(), "{name}: {key}");
        if let Some(ours) = ours {
            same(name, key, ours, &golden[key]);
        }
    }
    let totals = Padded::flat(ours.num_total_recv_tokens.clone().unwrap());
    same(name, "num_total_recv_tokens", &totals, &golden["num_total_recv_tokens"]);
}

fn same_raw(name: &str, ours: &RawDispatch, golden: &Value) {
    for (key, ours) in [
        ("shard_len", &ours.shard_len),
        ("num_shards", &ours.num_shards),
        ("q_dispatch", &ours.q_dispatch),
        ("kv_to_q_mapping", &ours.kv_to_q_mapping),
        ("kv_to_q_rank", &ours.kv_to_q_rank),
        ("kv_context_size", &ours.kv_context_size),
        ("q_to_num_kv_seq", &ours.q_to_num_kv_seq),
        ("q_to_num_kv_token", &ours.q_to_num_kv_token),
    ] {
        same(name, key, ours, &golden[key]);
    }
}

fn same_attention(name: &str, ours: &AttentionLayout, golden: &Value) {
    let flat = |values: &[i64]| Padded::flat(values.to_vec());
    if golden.get("cu_seqlens_q_concat").is_some() {
        same(name, "cu_seqlens_q", &flat(&ours.cu_seqlens_q.concat()), &golden["cu_seqlens_q_concat"]);
        same(name, "cu_seqlens_kv", &flat(&ours.cu_seqlens_kv.concat()), &golden["cu_seqlens_kv_concat"]);
    } else {
        assert_eq!(ours.cu_seqlens_q, ragged(&golden["cu_seqlens_q"]), "{name}");
        assert_eq!(ours.cu_seqlens_kv, ragged(&golden["cu_seqlens_kv"]), "{name}");
        same(name, "num_local_seqs_recv", &flat(&ours.num_local_seqs_recv), &golden["num_local_seqs_recv"]);
    }
    same(name, "max_seqlen_q", &flat(&ours.max_seqlen_q), &golden["max_seqlen_q"]);
    same(name, "max_seqlen_kv", &flat(&ours.max_seqlen_kv), &golden["max_seqlen_kv"]);
}

/// The tokens of every rank as the golden cases number them.
fn tokens(lengths: &Padded) -> Vec<Vec<i64>> {
    let held = lengths.rows().map(|row| row.iter().sum::<i64>());
    (1..).zip(held).map(|(rank, held)| (1..=held).map(|token| 1000 * rank + token).collect()).collect()
}

fn simulated(input: &[Vec<i64>], metadata: &Metadata, width: usize) -> Vec<Vec<i64>> {
    let mut output = vec![vec![0; width]; metadata.world_size];
    orchestrate_simulate(input, &mut output, 1, metadata).unwrap();
    output
}

fn widest(metadata: &Metadata) -> usize {
    metadata.num_total_recv_tokens.iter().flatten().copied().max().unwrap_or(0) as usize
}

fn same_dispatch(name: &str, drawn: &Drawn, golden: &Value) {
    let raw = drawn.raw().unwrap();
    if !golden["raw"].is_null() {
        same_raw(name, &raw, &golden["raw"]);
    }
    let ours: QkvDispatch = raw.metadata(Compat::Exact).unwrap();
    for (key, ours) in [("fwd_q", &ours.fwd_q), ("rev_q", &ours.rev_q), ("fwd_kv", &ours.fwd_kv), ("rev_kv", &ours.rev_kv)] {
        same_metadata(&format!("{name}: {key}"), ours, &golden[key]);
    }
    same_attention(name, &ours.attention, &golden["attn"]);

    let input = tokens(&raw.shard_len);
    let q = simulated(&input, &ours.fwd_q, widest(&ours.fwd_q));
    let kv = simulated(&input, &ours.fwd_kv, widest(&ours.fwd_kv));
    let held = input.iter().map(Vec::len).max().unwrap();
    if golden["sim_q_forward"].is_array() {
        assert_eq!(q, ragged(&golden["sim_q_forward"]), "{name}");
        assert_eq!(kv, ragged(&golden["sim_kv_forward"]), "{name}");
        let back = simulated(&kv, &ours.rev_kv, held * drawn.max_cp_degree as usize);
        assert_eq!(back, ragged(&golden["sim_kv_reverse_flat"]), "{name}");
    } else if let Some(sum) = golden["sim_kv_forward"]["sum"].as_i64() {
        assert_eq!(kv.concat().iter().sum::<i64>(), sum, "{name}");
        assert_eq!(q.concat().iter().sum::<i64>(), golden["sim_q_forward"]["sum"].as_i64().unwrap(), "{name}");
    }
    for (rank, back) in simulated(&q, &ours.rev_q, held).iter().enumerate() {
        assert_eq!(back[..input[rank].len()], input[rank], "{name}: queries do not come back");
    }
}

#[test]
fn queries_alone() {
    for (name, case) in of_kind("compute_metadata").into_iter().chain(of_kind("compute_metadata_big")) {
        let lengths = tensor(&case["seq_len"]);
        let (forward, reverse) = compute_metadata(&lengths, &tensor(&case["dispatch"])).unwrap();
        same_metadata(&name, &forward, &case["fwd"]);
        same_metadata(&name, &reverse, &case["rev"]);
        if case["sim_forward"].is_array() {
            let input = tokens(&lengths);
            let there = simulated(&input, &forward, widest(&forward));
            assert_eq!(there, ragged(&case["sim_forward"]), "{name}");
            let planes = case["dispatch"][0][0].as_array().map_or(1, Vec::len);
            let back = simulated(&there, &reverse, planes * input.iter().map(Vec::len).max().unwrap());
            assert_eq!(back, ragged(&case["sim_reverse"]), "{name}");
        }
    }
}

#[test]
fn custom_mappings() {
    for (name, case) in of_kind("create_qkv_dispatch_with_custom_mapping") {
        let [seq_lens, cp_num, cp_dst, shard_lens] =
            ["seq_lens", "cp_num", "cp_dst", "shard_lens"].map(|key| tensor(&case["inputs"][key]));
        let mapping = CustomMapping { seq_lens: &seq_lens, cp_num: &cp_num, cp_dst: &cp_dst, shard_lens: &shard_lens };
        let drawn = create_qkv_dispatch_with_custom_mapping(&mapping).unwrap();
        same_dispatch(&name, &drawn, &case);

        let documented = &case["documented_attn_buggy"];
        if documented.is_object() {
            let raw = drawn.raw().unwrap();
            let wrong = documented_attn_layout_seqlens(&raw.shard_len, &raw.q_to_num_kv_token, &raw.q_dispatch).unwrap();
            same_attention(&name, &wrong, documented);
            let documented = raw.metadata(Compat::Documented).unwrap();
            assert_eq!(documented.rev_kv.num_total_recv_tokens, None);
            assert_eq!(documented.rev_kv.num_recv_tokens.shape(), [4, 4]);
            // One rank holds all of a sequence here, so counting by the rank of the query changes nothing.
            same_metadata(&name, &documented.fwd_kv, &case["fwd_kv"]);
        }
    }
}

#[test]
fn seeded_dispatches() {
    type Create = fn(&Recipe<'_>) -> Result<Drawn, rankscope_dispatch::Error>;
    let kinds: [(&str, Create); 3] = [
        ("create_qkv_dispatch", create_qkv_dispatch),
        ("create_qkv_dispatch_big", create_qkv_dispatch),
        ("create_qkv_dispatch_2cp", create_qkv_dispatch_2cp),
    ];
    for (kind, create) in kinds {
        for (name, case) in of_kind(kind) {
            let inputs = &case["inputs"];
            let recipe = Recipe {
                world_size: number(&inputs["world_size"]),
                total_seq_len: number(&inputs["total_seq_len"]),
                num_seqs: number(&inputs["num_seqs"]),
                max_cp_degree: number(&inputs["max_cp_degree"]),
                seed: inputs["seed"].as_u64().unwrap(),
                seq_lens: None,
            };
            let drawn = create(&recipe).unwrap();
            assert_eq!(drawn.seq_lens, tensor(&inputs["seq_lens"]), "{name}");
            same_dispatch(&name, &drawn, &case);
            let given = Recipe { seq_lens: Some(&drawn.seq_lens), ..recipe };
            assert_eq!(create(&given).unwrap(), drawn, "{name}: lengths that are given leave the stream in step");
        }
    }
}

#[test]
fn padding_that_says_minus_one_changes_nothing() {
    for (name, case) in of_kind("create_qkv_dispatch") {
        let mut raw = RawDispatch {
            shard_len: tensor(&case["raw"]["shard_len"]),
            num_shards: tensor(&case["raw"]["num_shards"]),
            q_dispatch: tensor(&case["raw"]["q_dispatch"]),
            kv_to_q_mapping: tensor(&case["raw"]["kv_to_q_mapping"]),
            kv_to_q_rank: tensor(&case["raw"]["kv_to_q_rank"]),
            kv_context_size: tensor(&case["raw"]["kv_context_size"]),
            q_to_num_kv_seq: tensor(&case["raw"]["q_to_num_kv_seq"]),
            q_to_num_kv_token: tensor(&case["raw"]["q_to_num_kv_token"]),
        };
        for (needed, to) in raw.q_to_num_kv_seq.values_mut().iter_mut().zip(raw.q_dispatch.values()) {
            *needed = if *to < 0 { -1 } else { *needed };
        }
        let ours = raw.metadata(Compat::Exact).unwrap();
        same_metadata(&name, &ours.fwd_kv, &case["fwd_kv"]);
        same_metadata(&name, &ours.rev_kv, &case["rev_kv"]);

        let used = raw.q_dispatch.values().iter().position(|&to| to >= 0).unwrap();
        raw.q_to_num_kv_seq.values_mut()[used] = -1;
        assert!(matches!(raw.metadata(Compat::Exact), Err(Error::NegativeLength { tokens: -1, .. })), "{name}");
    }
}
