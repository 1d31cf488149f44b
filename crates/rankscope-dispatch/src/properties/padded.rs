//! The properties of padded metadata and its reverse, which need no batch: whatever was sent must come back.

use std::collections::BTreeMap;

use super::tiling::Arrivals;
use super::{Findings, Property, Violation};
use crate::metadata::Metadata;

/// Everything in which `forward` and `reverse` are not each other's inverse, or leave gaps. Entries of -1 must not appear in
/// any sum or buffer.
#[must_use]
pub fn check_metadata(forward: &Metadata, reverse: &Metadata) -> Vec<Violation> {
    let mut findings = Findings { found: Vec::new() };
    let ranks = forward.world_size;
    if let Some((what, expected, found)) = misshapen(forward, reverse) {
        findings.expect(Property::Shape, 0, what, 0, expected as i64, found as i64);
        return findings.found;
    }
    let slots = forward.seq_len.width();
    let replicas = forward.dst_rank.width().checked_div(slots).unwrap_or(0);
    let mut arrivals: Vec<Arrivals> = Vec::new();
    arrivals.resize_with(ranks, Arrivals::default);
    let mut counts = vec![0_i64; ranks * ranks];
    // What begins at a token of a rank: where it goes back to, and how many tokens.
    let mut sent = BTreeMap::new();
    for rank in 0..ranks {
        let held: i64 = forward.seq_len.row(rank).iter().sum();
        let mut start = 0;
        for (slot, &tokens) in forward.seq_len.row(rank).iter().enumerate() {
            for replica in 0..replicas {
                let at = slot * replicas + replica;
                let (to, offset) = (forward.dst_rank.row(rank)[at], forward.dst_offset.row(rank)[at]);
                if let Some(mask) = &reverse.seq_recv_mask {
                    findings.expect(Property::Planes, rank, "seq_recv_mask", at, i64::from(to >= 0), mask.row(rank)[at]);
                }
                let Some(to) = usize::try_from(to).ok().filter(|&to| to < ranks) else {
                    findings.expect(Property::Destination, rank, "dst_rank", at, -1, to);
                    continue;
                };
                counts[to * ranks + rank] += tokens;
                arrivals[to].add(offset, tokens, at);
                if tokens > 0 {
                    sent.insert((to, offset), (rank as i64, replica as i64 * held + start, tokens));
                }
            }
            start += tokens;
        }
    }
    for (to, arrivals) in arrivals.into_iter().enumerate() {
        let row = &counts[to * ranks..(to + 1) * ranks];
        let total = row.iter().sum();
        arrivals.check(&mut findings, to, "dst_offset", total);
        for (from, &tokens) in row.iter().enumerate() {
            findings.expect(Property::Conservation, to, "num_recv_tokens", from, tokens, forward.num_recv_tokens.row(to)[from]);
            let back = reverse.num_recv_tokens.row(from)[to];
            findings.expect(Property::Conservation, from, "num_recv_tokens of the reverse", to, tokens, back);
        }
        if let Some(totals) = &forward.num_total_recv_tokens {
            findings.expect(Property::Conservation, to, "num_total_recv_tokens", 0, total, totals[to]);
        }
        come_back(reverse, to, &mut sent, &mut findings);
    }
    for ((to, _), (from, ..)) in sent {
        findings.expect(Property::Bijection, to, "dst_rank of the reverse", usize::MAX, from, -1);
    }
    findings.found
}

/// Every slot of `rank` must go back to where the piece at its place came from; takes those that do out of `sent`.
fn come_back(reverse: &Metadata, rank: usize, sent: &mut BTreeMap<(usize, i64), (i64, i64, i64)>, findings: &mut Findings) {
    let mut begin = 0;
    for (slot, &tokens) in reverse.seq_len.row(rank).iter().enumerate().filter(|slot| *slot.1 > 0) {
        let found = (reverse.dst_rank.row(rank)[slot], reverse.dst_offset.row(rank)[slot], tokens);
        let expected = sent.remove(&(rank, begin)).unwrap_or((-1, -1, 0));
        findings.expect(Property::Bijection, rank, "dst_rank of the reverse", slot, expected.0, found.0);
        findings.expect(Property::Bijection, rank, "dst_offset of the reverse", slot, expected.1, found.1);
        findings.expect(Property::Bijection, rank, "seq_len of the reverse", slot, expected.2, found.2);
        begin += tokens;
    }
}

/// The first array whose shape does not fit, with what its size must be and is.
fn misshapen(forward: &Metadata, reverse: &Metadata) -> Option<(&'static str, usize, usize)> {
    let ranks = forward.world_size;
    let entries = forward.dst_rank.values().len();
    let received = reverse.dst_rank.values().len();
    let replicas = entries.checked_div(forward.seq_len.values().len()).unwrap_or(0);
    let mask = reverse.seq_recv_mask.as_ref().map_or(entries, |mask| mask.values().len());
    let totals = forward.num_total_recv_tokens.as_ref().map_or(ranks, Vec::len);
    let rows = |tensor: &crate::Padded| tensor.shape().first().copied().unwrap_or(0);
    let counted = |metadata: &Metadata| rows(&metadata.num_recv_tokens).min(metadata.num_recv_tokens.width()).min(ranks);
    [
        ("world_size of the reverse", ranks, reverse.world_size),
        ("seq_len", ranks, rows(&forward.seq_len)),
        ("dst_rank", ranks, rows(&forward.dst_rank)),
        ("dst_rank", forward.seq_len.values().len() * replicas, entries),
        ("dst_offset", entries, forward.dst_offset.values().len()),
        ("seq_recv_mask", entries, mask),
        ("num_recv_tokens", ranks, counted(forward)),
        ("num_recv_tokens of the reverse", ranks, counted(reverse)),
        ("num_total_recv_tokens", ranks, totals),
        ("dst_rank of the reverse", ranks, rows(&reverse.dst_rank)),
        ("dst_offset of the reverse", received, reverse.dst_offset.values().len()),
        ("seq_len of the reverse", received, reverse.seq_len.values().len()),
    ]
    .into_iter()
    .find(|(_, expected, found)| expected != found)
}
