//! Of metadata whose inputs nobody knows, every single entry that is changed is noticed by what the other entries say.

use proptest::prelude::*;
use rankscope_dispatch::metadata::{AttentionLayout, Compat, Metadata, QkvDispatch, RawDispatch};
use rankscope_dispatch::properties::{Tensors, check_attention, check_metadata};
use rankscope_dispatch::{Batch, Padded, Shard};
use rankscope_time::Rank;

use crate::batches::{batches, replicas};

fn violations(whole: &QkvDispatch) -> usize {
    check_metadata(Tensors::Queries, &whole.fwd_q, &whole.rev_q).len()
        + check_metadata(Tensors::KeysAndValues, &whole.fwd_kv, &whole.rev_kv).len()
        + check_attention(&whole.fwd_q, &whole.rev_q, &whole.fwd_kv, &whole.attention).len()
}

/// All numbers of `metadata`, array by array.
fn arrays(metadata: &mut Metadata) -> Vec<(&'static str, &mut [i64])> {
    let Metadata { dst_rank, dst_offset, seq_len, num_recv_tokens, seq_recv_mask, recv_seq_lens, num_seqs, .. } = metadata;
    let mut arrays = vec![
        ("dst_rank", dst_rank.values_mut()),
        ("dst_offset", dst_offset.values_mut()),
        ("seq_len", seq_len.values_mut()),
        ("num_recv_tokens", num_recv_tokens.values_mut()),
        ("num_seqs", num_seqs.values_mut()),
    ];
    arrays.extend(seq_recv_mask.as_mut().map(|array| ("seq_recv_mask", array.values_mut())));
    arrays.extend(recv_seq_lens.as_mut().map(|array| ("recv_seq_lens", array.values_mut())));
    arrays.extend(metadata.num_total_recv_tokens.as_mut().map(|totals| ("num_total_recv_tokens", totals.as_mut_slice())));
    arrays
}

fn all(whole: &mut QkvDispatch) -> Vec<(String, &mut [i64])> {
    let QkvDispatch { fwd_q, rev_q, fwd_kv, rev_kv, attention } = whole;
    let mut found = Vec::new();
    for (of, metadata) in [("fwd_q", fwd_q), ("rev_q", rev_q), ("fwd_kv", fwd_kv), ("rev_kv", rev_kv)] {
        found.extend(arrays(metadata).into_iter().map(|(name, array)| (format!("{of}.{name}"), array)));
    }
    let AttentionLayout { cu_seqlens_q, cu_seqlens_kv, max_seqlen_q, max_seqlen_kv, num_local_seqs_recv } = attention;
    let ragged = [("cu_seqlens_q", cu_seqlens_q), ("cu_seqlens_kv", cu_seqlens_kv)];
    found.extend(ragged.into_iter().flat_map(|(name, rows)| rows.iter_mut().map(move |row| (name.into(), row.as_mut_slice()))));
    let flat = [("max_seqlen_q", max_seqlen_q), ("max_seqlen_kv", max_seqlen_kv), ("num_local_seqs_recv", num_local_seqs_recv)];
    found.extend(flat.into_iter().map(|(name, row)| (name.into(), row.as_mut_slice())));
    found
}

/// Changes every entry by one and by minus one, makes it -1, and swaps it with the next; answers with what went unnoticed.
fn unnoticed(whole: &QkvDispatch) -> (usize, Vec<String>) {
    assert_eq!(violations(whole), 0);
    let mut spoiled = whole.clone();
    let (mut tried, mut found) = (0, Vec::new());
    let sizes: Vec<usize> = all(&mut spoiled).iter().map(|(_, array)| array.len()).collect();
    for (array, &size) in sizes.iter().enumerate() {
        for entry in 0..size {
            for change in 0..4 {
                let (before, name) = {
                    let (name, values) = &mut all(&mut spoiled)[array];
                    let before = values.to_vec();
                    match change {
                        0 => values[entry] += 1,
                        1 => values[entry] -= 1,
                        2 => values[entry] = -1,
                        _ if entry + 1 < size => values.swap(entry, entry + 1),
                        _ => {}
                    }
                    if before == **values {
                        continue;
                    }
                    (before, name.clone())
                };
                tried += 1;
                // Whether a slot without tokens that is sent nowhere is in use, the metadata of keys do not say.
                let may_be = name == "fwd_kv.num_seqs" && change == 0;
                if violations(&spoiled) == 0 && !may_be {
                    found.push(format!("{name}, entry {entry}, change {change}"));
                }
                all(&mut spoiled)[array].1.copy_from_slice(&before);
            }
        }
    }
    (tried, found)
}

fn whole(documents: &[&[[u32; 3]]], world_size: u32) -> QkvDispatch {
    let mut batch = Batch::new(world_size).unwrap();
    for document in documents {
        let shard =
            |&[linear, attention, tokens]: &[u32; 3]| Shard { linear: Rank(linear), attention: Rank(attention), tokens };
        batch.push(&document.iter().map(shard).collect::<Vec<_>>()).unwrap();
    }
    RawDispatch::new(&batch, replicas(&batch)).unwrap().metadata(Compat::Exact).unwrap()
}

#[test]
fn every_entry_of_a_whole_dispatch_is_looked_at() {
    // Documents over two ranks, a rank that gets nothing, ranks with padding.
    let whole = whole(&[&[[0, 1, 5], [1, 0, 7], [0, 1, 3]], &[[2, 0, 4]], &[[2, 1, 6], [2, 2, 2]], &[[0, 0, 9]]], 4);
    let (tried, unnoticed) = unnoticed(&whole);
    assert!(tried > 500, "{tried} changes");
    assert_eq!(unnoticed, Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn so_is_every_entry_of_random_ones(batch in batches(4)) {
        // A shard without tokens can change its place, or be one shard more, and nothing else says so.
        let has_empty = batch.shards().iter().any(|shard| shard.tokens == 0);
        let whole = RawDispatch::new(&batch, replicas(&batch)).unwrap().metadata(Compat::Exact).unwrap();
        if !has_empty && batch.shards().len() < 24 {
            let (_, unnoticed) = unnoticed(&whole);
            prop_assert_eq!(unnoticed, Vec::<String>::new());
        }
    }
}

type Spoil = fn(&mut Metadata, Padded);

#[test]
fn arrays_of_another_shape_are_named_and_nothing_is_indexed_by_them() {
    let right = whole(&[&[[0, 1, 5], [1, 0, 7]]], 2);
    let small = || Padded::filled(&[1, 1], 0).unwrap();
    let spoil: [(&str, Spoil); 6] = [
        ("dst_rank", |metadata, array| metadata.dst_rank = array),
        ("dst_offset", |metadata, array| metadata.dst_offset = array),
        ("seq_len", |metadata, array| metadata.seq_len = array),
        ("num_recv_tokens", |metadata, array| metadata.num_recv_tokens = array),
        ("num_seqs", |metadata, array| metadata.num_seqs = array),
        ("recv_seq_lens", |metadata, array| metadata.recv_seq_lens = Some(array)),
    ];
    for (name, spoil) in spoil {
        for reverse in [false, true] {
            let mut whole = right.clone();
            spoil(if reverse { &mut whole.rev_q } else { &mut whole.fwd_q }, small());
            let found = check_metadata(Tensors::Queries, &whole.fwd_q, &whole.rev_q);
            assert!(found.iter().all(|violation| violation.property.as_str() == "shape"), "{name}: {found:?}");
            assert!(!found.is_empty() || (name == "recv_seq_lens" && !reverse), "{name}");
        }
    }
}
