//! `dispatch check` of what `dispatch metadata` answers, of what the original answered, and of both with something changed.

#![expect(clippy::unwrap_used, reason = "a case that cannot be run is a failure")]

use std::fs;
use std::path::PathBuf;

use crate::common::rankscope;
use crate::process::fed;
use serde_json::{Value, json};

fn golden(start: &str) -> Value {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/dispatch");
    let path = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let path = path.into_iter().find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(start)).unwrap();
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn dispatch(verb: &str, case: &Value, options: &[&str]) -> (Option<i32>, String) {
    let output = fed(&[&["dispatch", verb, "-"], options].concat(), case.to_string()).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.code(), text)
}

fn answer(case: &Value) -> Value {
    let (code, text) = dispatch("metadata", case, &["--format", "json"]);
    assert_eq!(code, Some(0), "{case}: {text}");
    serde_json::from_str(&text).unwrap()
}

/// A case of every kind.
fn cases() -> Vec<Value> {
    let of = |start: &str| golden(start);
    let metadata = &of("g06")["fwd"];
    let tick = json!({"kind": "pipeline_tick", "new_seq_lens": [[3, 5], [4, 4]],
        "previous_seq_lens": [[1, 7], [2, 6], [3, 5], [8, 0]]});
    let mut kv = of("h12")["raw"].clone();
    kv["kind"] = "compute_metadata_kv".into();
    let raw = &of("h12")["raw"];
    let layout = json!({"kind": "compute_attn_layout_seqlens", "shard_len": raw["shard_len"],
        "shard_cumsum": raw["q_to_num_kv_token"], "q_dispatch": raw["q_dispatch"]});
    let mut backward = of("g10")["inputs"].clone();
    backward["kind"] = "create_qkv_dispatch_with_backward".into();
    let lengths = json!({"kind": "gen_seq_lens", "world_size": 2, "num_seqs": 3, "total_len": 40, "seed": 5, "mode": "valid"});
    let greedy = json!({"kind": "greedy_planner", "world_size": 2, "batches": [[700, 200], [100]], "tokens_per_rank": 500});
    let flops = json!({"kind": "equal_flops_planner", "batches": [[400], [100]]});
    let benchmark = json!({"kind": "planner_benchmark", "world_size": 2, "doc_lens": [700, 300], "tokens_per_rank": 500});
    let slice = json!({"kind": "get_slice", "metadata": metadata, "rank": 1});
    let narrow = json!({"kind": "normalize_dtype", "metadata": metadata});
    let moved = json!({"kind": "orchestrate_simulate", "metadata": {"dst_rank": [[1, 0], [0, -1]], "dst_offset": [[0, 0], [2, 0]],
        "seq_len": [[1, 2], [3, 1]], "num_recv_tokens": [[2, 3, 5], [1, 0, 1]], "num_seqs": [2, 2]},
        "input": [[[1, 2], [3, 4], [5, 6], [0, 0]], [[7, 8], [9, 10], [11, 12], [13, 14]]]});
    let test = json!({"kind": "test_qkv_dispatch", "num_tokens": 16, "hidden_size": 2});
    let seeds =
        ["g02", "h04", "g06", "g08", "g10", "g13", "g15", "h16", "g17", "h18_planner_a2a_w4_resend", "h18_planner_a2a_w4_tick"];
    let files = seeds.into_iter().map(of);
    files.chain([tick, kv, layout, backward, lengths, greedy, flops, benchmark, slice, narrow, moved, test]).collect()
}

/// Where every number of `value` is.
fn numbers(value: &Value, at: &mut Vec<Value>, found: &mut Vec<Vec<Value>>) {
    let mut enter = |key: Value, inner: &Value| {
        at.push(key);
        numbers(inner, at, found);
        at.pop();
    };
    match value {
        Value::Object(object) => object.iter().for_each(|(key, inner)| enter(key.as_str().into(), inner)),
        Value::Array(list) => list.iter().enumerate().for_each(|(key, inner)| enter(key.into(), inner)),
        Value::Number(_) => found.push(at.clone()),
        _ => {}
    }
}

fn entry<'a>(value: &'a mut Value, path: &[Value]) -> &'a mut Value {
    path.iter().fold(value, |value, key| match key {
        Value::String(key) => &mut value[key.as_str()],
        key => &mut value[key.as_u64().unwrap() as usize],
    })
}

#[test]
fn every_answer_is_right_as_it_is_and_for_every_kind_there_is_one() {
    let mut kinds: Vec<String> = Vec::new();
    for case in cases() {
        let answer = answer(&case);
        let (code, text) = dispatch("check", &answer, &[]);
        assert_eq!(code, Some(0), "{}: {text}", answer["kind"]);
        assert!(text.contains("every one is right"), "{text}");
        kinds.push(answer["kind"].as_str().unwrap().to_owned());
    }
    let list = rankscope(&["dispatch", "metadata", "--list"]);
    let list = String::from_utf8(list.stdout).unwrap();
    let named = list.lines().filter(|line| !line.starts_with(' ')).map(|line| line.split(':').next().unwrap());
    let missing: Vec<_> = named.filter(|name| !name.ends_with("_big") && !kinds.iter().any(|kind| kind == name)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "kinds that no case is of");
}

#[test]
fn what_the_original_answered_is_right() {
    for start in
        ["g01", "g02", "g05", "g09", "g11", "g13", "g20", "g21", "g24", "g25", "h04", "h14", "h16", "h18_planner_a2a_w4_plain"]
    {
        let (code, text) = dispatch("check", &golden(start), &[]);
        assert_eq!(code, Some(0), "{start}: {text}");
    }
}

/// One process for a change would take minutes in all; every kind gets as many as there is time for, spread over its answer.
#[test]
fn one_number_changed_anywhere_in_an_answer_is_noticed() {
    for case in cases() {
        let right = answer(&case);
        let mut places = Vec::new();
        numbers(&right, &mut Vec::new(), &mut places);
        places.retain(|place| place[0] != "inputs");
        let step = places.len().div_ceil(MOST_CHANGES).max(1);
        for (nth, place) in places.iter().step_by(step).enumerate() {
            let mut changed = right.clone();
            let value = entry(&mut changed, place);
            *value = match value.as_i64() {
                Some(-1) => json!(0),
                Some(_) if nth % 3 == 2 => json!(-1),
                Some(number) => json!(number + [1, -1][nth % 2]),
                None => json!(value.as_f64().unwrap() + 0.5),
            };
            let (code, text) = dispatch("check", &changed, &[]);
            // What an answer repeats of its inputs leads to another answer, or to one that is refused.
            assert!(matches!(code, Some(1 | 3)) && !text.contains("panicked"), "{}: {place:?}: {text}", right["kind"]);
        }
    }
}

const MOST_CHANGES: usize = 25;

#[test]
fn a_violation_says_which_entry_what_it_must_be_and_what_that_means() {
    for (start, pointer, value, line) in [
        (
            "g08",
            "/fwd_kv/dst_offset/1/0/1",
            9,
            "packing: fwd_kv.dst_offset[1][0][1] (rank 1, slot 0, copy 1) is 9 and must be 8: wrong offset",
        ),
        (
            "g08",
            "/rev_q/dst_rank/0/1",
            0,
            "bijection: rev_q.dst_rank[0][1] (rank 0, received slot 1) is 0 and must be 1: does not come back",
        ),
        ("g08", "/fwd_q/num_recv_tokens/0/2", 17, "conservation: fwd_q.num_recv_tokens[0][2]"),
        ("g08", "/attn/cu_seqlens_kv/1/1", 17, "lengths: attn.cu_seqlens_kv[1][1] (rank 1, entry 1) is 17 and must be"),
        ("g08", "/rev_kv/seq_recv_mask/0/1/1", 1, "planes: rev_kv.seq_recv_mask[0][1][1]"),
        ("g02", "/fwd/dst_offset/0/2", 3, "padding: fwd.dst_offset[0][2] (rank 0, slot 2) is 3 and must be 0"),
        (
            "g17",
            "/qkv_linear_to_attn/recv_memcpy/1/1/2",
            400,
            "packing: qkv_linear_to_attn.recv_memcpy[1][1][2] (keys, rank 1) is 400 and must be 416",
        ),
        (
            "h16",
            "/qkv_fwd/sender_transfer_sz/0/1",
            376,
            "conservation: qkv_fwd.sender_transfer_sz[0][1] (from rank 0, to rank 1) is 376 and must be 360: tokens not conserved",
        ),
        ("g17", "/attn/1/cu_seqlens_q/1", 5, "lengths: attn[1].cu_seqlens_q[1] (rank 1, entry 1) is 5 and must be 4"),
    ] {
        let mut case = golden(start);
        *case.pointer_mut(pointer).unwrap() = json!(value);
        let (code, text) = dispatch("check", &case, &[]);
        assert_eq!(code, Some(3), "{pointer}: {text}");
        assert!(text.contains(line), "{line}\n{text}");
        assert_eq!(text.matches(" and must be ").count(), 1, "{text}");
    }
}

type Change = fn(&mut Value);

#[test]
fn arrays_of_another_shape_or_type_missing_ones_and_others_are_named() {
    let change: [(&str, Change, &str); 6] = [
        (
            "a row less",
            |case| drop(case["fwd_q"]["seq_len"].as_array_mut().unwrap().pop()),
            "shape: fwd_q.seq_len is [1,2] and must be [2,2]",
        ),
        ("no list", |case| case["fwd_q"]["seq_len"] = json!(7), "fwd_q.seq_len is 7 and must be"),
        (
            "a fraction",
            |case| case["fwd_q"]["seq_len"][0][0] = json!(1.5),
            "type: fwd_q.seq_len[0][0] (rank 0, slot 0) is 1.5 and must be 8",
        ),
        (
            "a text",
            |case| case["attn"]["max_seqlen_q"][1] = json!("8"),
            "type: attn.max_seqlen_q[1] (rank 1) is \"8\" and must be 8",
        ),
        ("one missing", |case| drop(case["fwd_kv"].as_object_mut().unwrap().remove("num_seqs")), "fwd_kv.num_seqs is missing"),
        ("one more", |case| case["rev_q"]["dst_slot"] = json!([[1]]), "unknown: rev_q.dst_slot must not be there"),
    ];
    for (what, change, line) in change {
        let mut case = golden("g08");
        change(&mut case);
        let (code, text) = dispatch("check", &case, &[]);
        assert_eq!(code, Some(3), "{what}: {text}");
        assert!(text.contains(line), "{what}: {text}");
    }
    let mut case = golden("g08");
    case["fwd_r"] = json!([1]);
    assert!(dispatch("check", &case, &[]).1.contains("unknown: fwd_r must not be there"));
    case.as_object_mut().unwrap().retain(|key, _| key != "fwd_r" && key != "attn");
    let (code, text) = dispatch("check", &case, &[]);
    assert!(code == Some(0) && text.contains("not in the file, so not checked: attn"), "{text}");
}

#[test]
fn metadata_without_inputs_are_held_against_each_other() {
    let mut case = golden("g10");
    case.as_object_mut().unwrap().remove("inputs");
    let (code, text) = dispatch("check", &case, &[]);
    assert!(
        code == Some(0) && text.contains("compared with each other") && text.contains("attn: every property holds"),
        "{text}"
    );
    for (pointer, line) in [
        ("/attn/cu_seqlens_kv/0/1", "lengths: attn.cu_seqlens_kv[0][1]"),
        ("/fwd_q/num_seqs/0", "lengths: fwd_q.num_seqs[0]"),
        ("/rev_kv/recv_seq_lens/1/0", "lengths: rev_kv.recv_seq_lens[1][0]"),
        ("/rev_q/num_total_recv_tokens/1", "conservation: rev_q.num_total_recv_tokens[1]"),
    ] {
        let mut changed = case.clone();
        let value = changed.pointer_mut(pointer).unwrap();
        *value = json!(value.as_i64().unwrap() + 1);
        let (code, text) = dispatch("check", &changed, &[]);
        assert!(code == Some(3) && text.contains(line), "{pointer}: {text}");
    }
}

#[test]
fn arrays_that_contradict_each_other_are_a_violation() {
    let drawn = json!({"kind": "create_qkv_dispatch", "world_size": 4, "total_seq_len": 1024, "num_seqs": 4, "max_cp_degree": 4, "seed": 7});
    let given =
        json!({"kind": "fa2a_from_logical", "hidden_q": 8, "hidden_k": 4, "element_size": 2, "raw": golden("h12")["raw"]});
    // A copy of keys for a slot that has no query, in what was drawn and in what was given.
    for (case, of) in [(drawn, "raw"), (given, "the inputs in the file")] {
        let mut answer = answer(&case);
        let raw = if answer["raw"].is_object() { &mut answer["raw"] } else { &mut answer["inputs"]["raw"] };
        raw["kv_to_q_mapping"][0][0][0][1] = json!(1 << 20);
        let (code, said) = dispatch("check", &answer, &[]);
        assert!(code == Some(3) && said.contains(&format!("consistency: {of}: rank 0")), "{code:?} {said}");
    }
}

#[test]
fn documents_among_the_inputs_are_read_as_those_beside_them() {
    let sizes = json!({"world_size": 2, "hidden_q": 8, "hidden_k": 8, "element_size": 2});
    let of = |shard: Value, ranks: &Value, is_within: bool| {
        let mut inputs = sizes.clone();
        (inputs["docs"], inputs["world_size"]) = (json!([[shard]]), ranks.clone());
        let mut case = if is_within { json!({"inputs": inputs}) } else { inputs };
        case["kind"] = "from_planner_output".into();
        dispatch("check", &case, &[])
    };
    for is_within in [true, false] {
        let (code, text) = of(json!([0, 9, 0, 4]), &json!(2), is_within);
        assert!(code == Some(1) && text.contains("document 0, shard 0: rank 9 is not one of 0 to 1"), "{code:?} {text}");
        let (code, text) = of(json!([0, 1, 0, 4]), &json!((1 << 18) + 1), is_within);
        assert!(code == Some(1) && text.contains("262145 ranks; plans are for 262144 at most"), "{code:?} {text}");
        // Without their number, ranks are those that are named.
        for ranks in [json!(2), Value::Null] {
            let (code, text) = of(json!([0, 1, 0, 4]), &ranks, is_within);
            assert!(code == Some(0) && text.contains("every property holds"), "{code:?} {text}");
        }
    }
}

#[test]
fn sizes_by_their_short_names_are_carried_and_compared() {
    let logical = json!({"kind": "fa2a_from_logical", "raw": golden("h16")["raw"]});
    let planner =
        json!({"kind": "from_planner_output", "world_size": 2, "docs": [[[0, 0, 0, 4], [0, 1, 1, 4]], [[1, 1, 0, 6]]]});
    for (mut case, array) in [(logical, "qkv_fwd"), (planner, "qkv_linear_to_attn")] {
        (case["hq"], case["hk"], case["es"], case["lse"]) = (json!(16), json!(8), json!(2), json!(1));
        let mut answer = answer(&case);
        assert_eq!(answer["inputs"]["hq"], json!(16), "{answer}");
        let (code, text) = dispatch("check", &answer, &[]);
        assert!(code == Some(0) && text.contains("for the inputs in the file"), "{code:?} {text}");
        let size = &mut answer[array]["sender_transfer_sz"][0][1];
        *size = json!(size.as_i64().unwrap() + 16);
        let (code, text) = dispatch("check", &answer, &[]);
        assert!(
            code == Some(3) && text.contains(&format!("conservation: {array}.sender_transfer_sz[0][1]")),
            "{code:?} {text}"
        );
    }
}

#[test]
fn padding_of_inputs_is_padding_and_every_query_gets_its_document() {
    let raw = &golden("h16")["raw"];
    let case = json!({"kind": "fa2a_from_logical", "hidden_q": 12, "hidden_k": 4, "element_size": 2, "raw": raw});
    let right = answer(&case);
    for (pointer, value, line) in [
        ("/raw/shard_len/0/4", 1, "raw"),
        ("/raw/kv_context_size/0/5", 3, "padding: raw.kv_context_size[0][5] (rank 0, slot 5) is 3 and must be 0"),
        ("/raw/kv_to_q_rank/0/2/1", 0, "padding: raw.kv_to_q_rank[0][2][1] (rank 0, slot 2, copy 1) is 0 and must be -1"),
        ("/raw/kv_context_size/0/1", 4, "causality: raw.kv_context_size[0][1] (rank 0, slot 1) is 4 and must be 5"),
    ] {
        let mut changed = right.clone();
        *changed.pointer_mut(pointer).unwrap() = json!(value);
        let (code, text) = dispatch("check", &changed, &[]);
        assert!(code == Some(3) && text.contains(line), "{pointer}: {text}");
    }
}

#[test]
fn bytes_without_inputs_are_held_against_each_other() {
    let mut case = golden("h16");
    case.as_object_mut().unwrap().retain(|key, _| key.starts_with("qkv") || key.starts_with("attn_out") || key == "kind");
    let (code, text) = dispatch("check", &case, &[]);
    assert!(code == Some(0) && text.contains("attn_out_bwd: every property holds"), "{text}");
    for array in ["sender_send_disp", "sender_recv_disp", "sender_transfer_sz", "recver_transfer_sz"] {
        let mut changed = case.clone();
        let value = &mut changed["qkv_bwd"][array][2][1];
        *value = json!(value.as_i64().unwrap() + 1);
        let (code, text) = dispatch("check", &changed, &[]);
        assert!(code == Some(3) && text.contains(": qkv_bwd."), "{array}: {text}");
    }
    case["qkv_fwd"]["sender_send_disp"] = json!([[0]]);
    let (code, text) = dispatch("check", &case, &[]);
    assert!(code == Some(3) && text.contains("shape: qkv_fwd.sender_send_disp"), "{text}");
}

#[test]
fn packed_arrays_are_compared_by_their_values_and_their_hashes() {
    let mut case = golden("g25");
    case["rev"]["dst_offset"]["sum"] = json!(case["rev"]["dst_offset"]["sum"].as_i64().unwrap() + 1);
    let (code, text) = dispatch("check", &case, &[]);
    assert!(code == Some(3) && text.contains("digest: rev.dst_offset.sum"), "{text}");
    let mut case = golden("g25");
    case["rev"]["dst_offset"] = case["rev"]["seq_len"].clone();
    let (code, text) = dispatch("check", &case, &[]);
    assert!(code == Some(3) && text.contains("bijection: rev.dst_offset[0][0]"), "{text}");
    case["rev"]["dst_offset"]["zlib_b64_i32le"] = json!("no base64!");
    let (code, text) = dispatch("check", &case, &[]);
    assert!(code == Some(3) && text.contains("shape: rev.dst_offset"), "{text}");
}
