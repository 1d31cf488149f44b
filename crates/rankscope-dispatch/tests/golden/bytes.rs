//! Byte-level metadata: from logical arrays, and from a planner's output.

use rankscope_dispatch::alltoall::{
    FastAllToAll, GradientSums, LogicalShape, Offsets, PlannerOptions, SeqLens, compute_e2e_fa2a_metadata, from_planner_output,
};
use rankscope_dispatch::draw::{Recipe, create_qkv_dispatch};
use rankscope_dispatch::export::TaskLengths;
use rankscope_dispatch::{Batch, Rows, Shard};
use rankscope_time::Rank;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::case::{number, of_kind};

fn read<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

/// A golden all-to-all as ours.
fn all_to_all(value: &Value) -> FastAllToAll {
    let offsets = |offsets: &Value| match offsets[0].is_array() {
        true => Offsets::Replicas(read(offsets)),
        false => Offsets::Shards(read(offsets)),
    };
    let memcpy = |tensors: &Value| {
        let ranks = |ranks: &Value| ranks.as_array().unwrap().iter().map(offsets).collect();
        tensors.as_array().unwrap().iter().map(ranks).collect()
    };
    let both = |list: &Value| {
        let ends = |ends: &Value| (read(&ends["send"]), read(&ends["recv"]));
        list.as_array().unwrap().iter().map(ends).collect::<Vec<(Vec<Vec<u64>>, Vec<Vec<u64>>)>>()
    };
    let sums = |sums: &Value| GradientSums {
        num_copies: read(&sums["num_copies"]),
        copy_start_id: read(&sums["copy_start_id"]),
        main_copy_mask: read(&sums["main_copy_mask"]),
    };
    FastAllToAll {
        sender_send_disp: read(&value["sender_send_disp"]),
        sender_transfer_sz: read(&value["sender_transfer_sz"]),
        sender_recv_disp: read(&value["sender_recv_disp"]),
        recver_transfer_sz: read(&value["recver_transfer_sz"]),
        send_memcpy: memcpy(&value["send_memcpy"]),
        recv_memcpy: memcpy(&value["recv_memcpy"]),
        seq_lens: both(&value["seq_lens"]).into_iter().map(|(send, recv)| SeqLens { send, recv }).collect(),
        tensor_shape: both(&value["tensor_shape"]).into_iter().map(|(send, recv)| LogicalShape { send, recv }).collect(),
        kv_replica_mask: read(&value["kv_replica_mask"]),
        kv_grad_send_dedup: value.get("kv_grad_send_dedup").map(|list| list.as_array().unwrap().iter().map(sums).collect()),
    }
}

fn same(name: &str, key: &str, ours: &FastAllToAll, case: &Value) {
    let golden = &case[key];
    assert_eq!(*ours, all_to_all(golden), "{name}: {key}");
    assert_eq!(ours.my_rank_send_offset(), read::<Vec<u64>>(&golden["my_rank_send_offset"]), "{name}: {key}");
    assert_eq!(ours.my_rank_recv_offset(), read::<Vec<u64>>(&golden["my_rank_recv_offset"]), "{name}: {key}");
    assert_eq!(ours.my_rank_send_sz(), read::<Vec<u64>>(&golden["my_rank_send_sz"]), "{name}: {key}");
}

fn rows(inputs: &Value, keys: [&str; 4]) -> Rows {
    let [hidden_q, hidden_kv, lse, element_bytes] = keys.map(|key| number(&inputs[key]));
    Rows { hidden_q, hidden_kv, lse, element_bytes }
}

#[test]
fn logical_metadata_to_bytes() {
    for (name, case) in of_kind("fa2a_from_logical") {
        let inputs = &case["inputs"];
        let raw = create_qkv_dispatch(&recipe(inputs)).unwrap().raw().unwrap();
        let ours =
            compute_e2e_fa2a_metadata(&raw, &rows(inputs, ["hidden_q", "hidden_k", "lse_size", "element_size"])).unwrap();
        same(&name, "qkv_fwd", &ours.qkv_fwd, &case);
        same(&name, "qkv_bwd", &ours.qkv_bwd, &case);
        same(&name, "attn_out_fwd", &ours.attn_out_fwd, &case);
        same(&name, "attn_out_bwd", &ours.attn_out_bwd, &case);
        assert_eq!(ours.fa_params.cu_seqlens_kv, read::<Vec<Vec<i64>>>(&case["fa_params"]["cu_seqlens_kv"]), "{name}");
        for (key, ours) in [("alltoallv_qkv_fwd", &ours.qkv_fwd), ("alltoallv_qkv_bwd", &ours.qkv_bwd)] {
            assert_eq!(ours.receive_displacements(), read::<Vec<Vec<u64>>>(&case[key]["rdispls"]), "{name}: {key}");
        }
    }
}

fn recipe(inputs: &Value) -> Recipe<'static> {
    Recipe {
        world_size: number(&inputs["world_size"]),
        total_seq_len: number(&inputs["total_seq_len"]),
        num_seqs: number(&inputs["num_seqs"]),
        max_cp_degree: number(&inputs["max_cp_degree"]),
        seed: inputs["seed"].as_u64().unwrap(),
        seq_lens: None,
    }
}

#[test]
fn a_planners_output_to_bytes() {
    for (name, case) in of_kind("from_planner_output") {
        let inputs = &case["inputs"];
        let mut batch = Batch::new(number(&inputs["world_size"])).unwrap();
        for mut document in read::<Vec<Vec<[u32; 4]>>>(&case["docs"]) {
            document.sort_by_key(|shard| shard[2]);
            let shard =
                |[linear, attention, _, tokens]: [u32; 4]| Shard { linear: Rank(linear), attention: Rank(attention), tokens };
            batch.push(&document.into_iter().map(shard).collect::<Vec<_>>()).unwrap();
        }
        let options = PlannerOptions {
            is_pipeline_tick: inputs["is_pipeline_tick"].as_bool().unwrap(),
            is_resend_qkv: inputs["is_resend_qkv"].as_bool().unwrap(),
        };
        let rows = rows(inputs, ["hidden_q", "hidden_k", "lse_size_elems", "element_size"]);
        let ours = from_planner_output(&batch, &rows, options).unwrap();
        same(&name, "qkv_linear_to_attn", &ours.qkv_linear_to_attn, &case);
        same(&name, "out_attn_to_linear", &ours.out_attn_to_linear, &case);
        let optional = [
            ("qkv_grad_attn_to_linear", &ours.qkv_grad_attn_to_linear),
            ("out_grad_linear_to_attn", &ours.out_grad_linear_to_attn),
        ];
        for (key, ours) in optional {
            assert_eq!(ours.is_none(), case[key].is_null(), "{name}: {key}");
            ours.iter().for_each(|ours| same(&name, key, ours, &case));
        }
        let tasks = |tasks: &Value| TaskLengths {
            cu_seqlens_q: read(&tasks["cu_seqlens_q"]),
            cu_seqlens_kv: read(&tasks["cu_seqlens_kv"]),
            max_seqlen_q: read(&tasks["max_seqlen_q"]),
            max_seqlen_kv: read(&tasks["max_seqlen_kv"]),
        };
        assert_eq!(ours.attn, case["attn"].as_array().unwrap().iter().map(tasks).collect::<Vec<_>>(), "{name}");
        let displacements = read::<Vec<Vec<u64>>>(&case["alltoallv_qkv"]["rdispls"]);
        assert_eq!(ours.qkv_linear_to_attn.receive_displacements(), displacements, "{name}");
    }
}

#[test]
fn bytes_of_a_large_dispatch() {
    for (name, case) in of_kind("create_qkv_dispatch_big") {
        let inputs = &case["fa2a_inputs"];
        if inputs.is_null() {
            continue;
        }
        let raw = create_qkv_dispatch(&recipe(&case["inputs"])).unwrap().raw().unwrap();
        let ours = compute_e2e_fa2a_metadata(&raw, &rows(inputs, ["hq", "hk", "lse", "es"])).unwrap();
        for (key, ours) in [("fa2a_qkv_fwd", &ours.qkv_fwd), ("fa2a_attn_out_bwd", &ours.attn_out_bwd)] {
            let golden = &case[key];
            for (field, matrix) in [
                ("sender_send_disp", &ours.sender_send_disp),
                ("sender_transfer_sz", &ours.sender_transfer_sz),
                ("sender_recv_disp", &ours.sender_recv_disp),
                ("recver_transfer_sz", &ours.recver_transfer_sz),
            ] {
                same_sums(&format!("{name}: {key}.{field}"), matrix.iter().flatten().copied(), &golden[field]);
            }
            for (field, tensors) in [("send_memcpy_concat", &ours.send_memcpy), ("recv_memcpy_concat", &ours.recv_memcpy)] {
                for (ranks, golden) in tensors.iter().zip(golden[field].as_array().unwrap()) {
                    let offsets = ranks.iter().flat_map(|rank| match rank {
                        Offsets::Shards(offsets) => offsets.clone(),
                        Offsets::Replicas(planes) => planes.concat(),
                    });
                    same_sums(&format!("{name}: {key}.{field}"), offsets.map(|offset| offset as u64), golden);
                }
            }
        }
    }
}

/// Length, sum and weighted sum of an array of which the case keeps no more.
fn same_sums(what: &str, values: impl Iterator<Item = u64>, golden: &Value) {
    let values: Vec<u64> = values.collect();
    let length: u64 = golden["shape"].as_array().unwrap().iter().map(|axis| axis.as_u64().unwrap()).product();
    assert_eq!(values.len() as u64, length, "{what}");
    assert_eq!(values.iter().sum::<u64>(), golden["sum"].as_u64().unwrap(), "{what}");
    let weighted: u128 = values.iter().zip(1..).map(|(&value, weight)| u128::from(value) * weight).sum();
    assert_eq!(weighted % ((1 << 61) - 1), u128::from(golden["weighted_sum_mod_2p61m1"].as_u64().unwrap()), "{what}");
}
