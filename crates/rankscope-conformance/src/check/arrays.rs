//! What every array of an answer is about: the property that a wrong value violates, and the names of its axes.

use rankscope_dispatch::properties::Property;
use serde_json::Value;

use super::compare::Path;

/// Names of an array, what a wrong value violates, and its axes.
struct About(&'static [&'static str], Property, &'static [&'static str]);

/// Of metadata on the way back, and of nothing else.
const BACK: &[About] = &[About(&["dst_rank", "dst_offset", "seq_len"], Property::Bijection, &["rank", "received slot"])];

const ARRAYS: &[About] = &[
    About(&["dst_rank"], Property::Destination, &["rank", "slot", "copy"]),
    About(&["dst_offset"], Property::Packing, &["rank", "slot", "copy"]),
    About(&["seq_len", "recv_seq_lens", "shard_len"], Property::Lengths, &["rank", "slot"]),
    About(&["num_recv_tokens"], Property::Conservation, &["rank", "column"]),
    About(&["num_total_recv_tokens", "q_recv_per_rank", "kv_recv_per_rank"], Property::Conservation, &["rank"]),
    About(&["shards", "q_tokens", "kv_tokens", "kv_slots"], Property::Conservation, &[]),
    About(&["num_seqs", "num_shards", "num_local_seqs_recv"], Property::Lengths, &["rank"]),
    About(&["max_seqlen_q", "max_seqlen_kv"], Property::Lengths, &["rank"]),
    About(&["cu_seqlens_q", "cu_seqlens_kv"], Property::Lengths, &["rank", "entry"]),
    About(&["cu_seqlens_q_concat", "cu_seqlens_kv_concat"], Property::Lengths, &["entry"]),
    About(&["seq_recv_mask"], Property::Planes, &["rank", "slot", "copy"]),
    About(&["q_dispatch"], Property::Destination, &["rank", "slot"]),
    About(&["kv_to_q_mapping"], Property::Causality, &["rank", "slot", "copy", "0 rank, 1 slot"]),
    About(&["kv_to_q_rank"], Property::Causality, &["rank", "slot", "copy"]),
    About(&["kv_context_size", "q_to_num_kv_seq", "q_to_num_kv_token"], Property::Causality, &["rank", "slot"]),
    About(&["sender_send_disp", "sdispls", "sender_recv_disp"], Property::Packing, &["from rank", "to rank"]),
    About(&["rdispls"], Property::Packing, &["rank", "from rank"]),
    About(&["sender_transfer_sz", "sendcounts"], Property::Conservation, &["from rank", "to rank"]),
    About(&["recver_transfer_sz", "recvcounts"], Property::Conservation, &["rank", "from rank"]),
    About(&["send_memcpy", "recv_memcpy"], Property::Packing, &["tensor", "rank"]),
    About(&["my_rank_send_offset", "my_rank_recv_offset"], Property::Packing, &["rank"]),
    About(&["my_rank_send_sz"], Property::Conservation, &["rank"]),
    About(&["seq_lens"], Property::Lengths, &[]),
    About(&["tensor_shape"], Property::Shape, &["tensor"]),
    About(&["send", "recv"], Property::Lengths, &["tensor", "rank", "entry"]),
    About(&["kv_replica_mask"], Property::Planes, &["rank", "slot", "copy"]),
    About(&["kv_grad_send_dedup", "num_copies", "copy_start_id", "main_copy_mask"], Property::Planes, &["rank"]),
    About(&["sim_forward", "sim_q_forward", "sim_kv_forward"], Property::Packing, &["rank", "token"]),
    About(&["sim_reverse", "sim_reverse_flat", "sim_kv_reverse_flat"], Property::Bijection, &["rank", "token"]),
];

/// The last name that something is known of, and what is.
fn about<'a>(mut names: impl DoubleEndedIterator<Item = &'a str> + Clone) -> Option<&'static About> {
    let is_back = is_back(names.clone());
    let named = |list: &'static [About], name: &str| list.iter().find(|about| about.0.contains(&name));
    names.rfind(|name| named(ARRAYS, name).is_some()).and_then(|name| {
        let back = is_back.then(|| named(BACK, name)).flatten();
        back.or_else(|| named(ARRAYS, name))
    })
}

/// Whether the array is of metadata on the way back.
fn is_back<'a>(mut names: impl Iterator<Item = &'a str>) -> bool {
    names.any(|name| name == "rev" || name.starts_with("rev_"))
}

/// What a value violates that is not as `expected`, and what that means.
pub(super) fn property(path: &Path, expected: &Value, within: &Value) -> (&'static str, String) {
    let Some(About(_, property, _)) = about(path.names()) else {
        return ("value", "not what the inputs give".to_owned());
    };
    let property = if is_padding(path, expected, within) { &Property::Padding } else { property };
    let meaning = match property {
        Property::Conservation if path.names().last() == Some("num_recv_tokens") && is_sum(path.index(), within) => {
            "tokens not conserved: the last column is the sum of the others".to_owned()
        }
        property => property.meaning().to_owned(),
    };
    (property.as_str(), meaning)
}

/// Whether the entry is in the last column, behind one for each rank.
fn is_sum(index: &[usize], within: &Value) -> bool {
    index.get(1).copied() == within.get("num_recv_tokens").and_then(Value::as_array).map(Vec::len)
}

/// Whether nothing is sent at an entry, so that it holds what padding holds.
fn is_padding(path: &Path, expected: &Value, within: &Value) -> bool {
    let destinations = match path.names().last().unwrap_or_default() {
        "dst_rank" | "q_dispatch" | "kv_to_q_mapping" | "kv_to_q_rank" | "send_memcpy" | "recv_memcpy" => {
            return expected.as_i64() == Some(-1);
        }
        "dst_offset" => "dst_rank",
        "seq_len" if is_back(path.names()) => "dst_rank",
        "shard_len" | "kv_context_size" | "q_to_num_kv_seq" | "q_to_num_kv_token" => "q_dispatch",
        _ => return false,
    };
    let start = within.get(destinations);
    let there = start.and_then(|start| path.index().iter().try_fold(start, |list, &at| list.get(at)));
    there.and_then(Value::as_i64) == Some(-1)
}

/// Where an entry is, by the names of the axes.
pub(super) fn place<'a>(names: impl DoubleEndedIterator<Item = &'a str> + Clone, index: &[usize]) -> String {
    let Some(About(.., axes)) = about(names) else { return String::new() };
    let named = axes.iter().zip(index).map(|(axis, at)| match *axis {
        "tensor" => ["queries", "keys", "values"].get(*at).copied().unwrap_or("tensor").to_owned(),
        axis => format!("{axis} {at}"),
    });
    named.collect::<Vec<_>>().join(", ")
}
