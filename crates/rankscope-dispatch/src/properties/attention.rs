//! The layout of attention against the metadata of the queries and keys that arrive for it.

use super::{Findings, Property, Violation};
use crate::metadata::{AttentionLayout, Metadata};

/// Everything in which `attention` does not fit what `rev_q` says of the queries of each rank, and `fwd_kv` of the keys: the
/// tasks of a rank are the slots that it received, and the keys of each end with its own shard, whose first copy serves it.
///
/// `fwd_q`, `rev_q` and `fwd_kv` must fit each other ([`check_metadata`](super::check_metadata)).
#[must_use]
pub fn check_attention(fwd_q: &Metadata, rev_q: &Metadata, fwd_kv: &Metadata, attention: &AttentionLayout) -> Vec<Violation> {
    let mut findings = Findings::default();
    for rank in 0..rev_q.world_size {
        let received = rev_q.dst_rank.row(rank).iter().zip(rev_q.seq_len.row(rank)).filter(|(from, _)| **from >= 0);
        let queries = ends(received.map(|(_, tokens)| *tokens));
        let keys = key_ends(fwd_q, fwd_kv, rank);
        let AttentionLayout { cu_seqlens_q, cu_seqlens_kv, max_seqlen_q, max_seqlen_kv, num_local_seqs_recv } = attention;
        let cumulative =
            [("attn.cu_seqlens_q", &queries, cu_seqlens_q.get(rank)), ("attn.cu_seqlens_kv", &keys, cu_seqlens_kv.get(rank))];
        for (what, expected, found) in cumulative {
            let found = found.map_or(&[][..], Vec::as_slice);
            if expected.len() != found.len() {
                findings.expect(Property::Shape, what, &[rank], expected.len() as i64, found.len() as i64);
                continue;
            }
            for (entry, (&expected, &found)) in expected.iter().zip(found).enumerate() {
                findings.expect(Property::Lengths, what, &[rank, entry], expected, found);
            }
        }
        let longest = |ends: &[i64]| ends.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max().unwrap_or(0);
        for (what, expected, found) in [
            ("attn.max_seqlen_q", longest(&queries), max_seqlen_q),
            ("attn.max_seqlen_kv", longest(&keys), max_seqlen_kv),
            ("attn.num_local_seqs_recv", queries.len() as i64 - 1, num_local_seqs_recv),
        ] {
            match found.get(rank) {
                Some(&found) => findings.expect(Property::Lengths, what, &[rank], expected, found),
                None => findings.expect(Property::Shape, what, &[], rev_q.world_size as i64, found.len() as i64),
            }
        }
    }
    findings.found
}

fn ends(lengths: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut ends = vec![0_i64];
    lengths.for_each(|length| ends.push(ends[ends.len() - 1].saturating_add(length)));
    ends
}

/// Where the keys of every task of `rank` end: with the task's own shard.
fn key_ends(fwd_q: &Metadata, fwd_kv: &Metadata, rank: usize) -> Vec<i64> {
    let slots = fwd_q.dst_rank.width();
    let copies = fwd_kv.dst_rank.width().checked_div(slots).unwrap_or(0);
    let mut ends = vec![0];
    for from in 0..fwd_q.world_size {
        for slot in (0..slots).filter(|&slot| fwd_q.dst_rank.row(from)[slot] == rank as i64 && copies > 0) {
            let begin = fwd_kv.dst_offset.row(from).get(slot * copies).copied().unwrap_or(0);
            ends.push(begin.saturating_add(fwd_kv.seq_len.row(from).get(slot).copied().unwrap_or(0)));
        }
    }
    ends
}
