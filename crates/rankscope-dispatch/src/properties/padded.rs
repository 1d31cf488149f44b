//! The properties of padded metadata and its reverse, which need no inputs: whatever was sent must come back, and everything
//! else is a sum of what is sent, or padding.

use std::collections::BTreeMap;

use super::tiling::Arrivals;
use super::{Findings, Property, Violation};
use crate::Padded;
use crate::metadata::Metadata;

/// What the metadata are of. Slots in use are counted in two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tensors {
    /// Queries, outputs: `num_seqs` counts shards with tokens.
    Queries,
    /// Keys and values: `num_seqs` counts all shards, with tokens or without. How many of those at the end of a rank are sent
    /// nowhere, the metadata do not say; there any number is taken that the array has room for.
    KeysAndValues,
}

/// Everything in which `forward` and `reverse` are not each other's inverse, leave gaps, or do not add up. Every entry of every
/// array is looked at.
#[must_use]
pub fn check_metadata(of: Tensors, forward: &Metadata, reverse: &Metadata) -> Vec<Violation> {
    let mut findings = Findings::default();
    misshapen(forward, reverse, &mut findings);
    if !findings.found.is_empty() {
        // Everything else indexes arrays by each other.
        return findings.found;
    }
    let mut pair = Pair::new(of, forward, reverse);
    for rank in 0..pair.ranks {
        pair.sends(rank, &mut findings);
    }
    for rank in 0..pair.ranks {
        std::mem::take(&mut pair.arrivals[rank]).check(&mut findings, rank, "fwd.dst_offset", pair.received(rank));
        pair.counts(rank, &mut findings);
        pair.come_back(rank, &mut findings);
    }
    for ((rank, _), left) in &pair.sent {
        for (from, ..) in left {
            findings.expect(Property::Bijection, "rev.dst_rank", &[*rank], *from, -1);
        }
    }
    findings.found
}

/// Where a piece comes from: rank, offset there, tokens.
type Origin = (i64, i64, i64);

struct Pair<'a> {
    of: Tensors,
    forward: &'a Metadata,
    reverse: &'a Metadata,
    ranks: usize,
    slots: usize,
    copies: usize,
    arrivals: Vec<Arrivals>,
    /// Tokens by receiver and sender.
    tokens: Vec<Vec<i64>>,
    /// What begins at a token of a rank: at most one piece with tokens, and any number without.
    sent: BTreeMap<(usize, i64), Vec<Origin>>,
}

impl<'a> Pair<'a> {
    fn new(of: Tensors, forward: &'a Metadata, reverse: &'a Metadata) -> Self {
        let (ranks, slots) = (forward.world_size, forward.seq_len.width());
        Self {
            of,
            forward,
            reverse,
            ranks,
            slots,
            copies: forward.dst_rank.shape().get(2).copied().unwrap_or(1),
            arrivals: (0..ranks).map(|_| Arrivals::default()).collect(),
            tokens: vec![vec![0; ranks]; ranks],
            sent: BTreeMap::new(),
        }
    }

    fn received(&self, rank: usize) -> i64 {
        sum(&self.tokens[rank])
    }

    /// The place of an entry: rank and slot, and the copy where there is that axis.
    fn index(&self, rank: usize, slot: usize, copy: usize) -> Vec<usize> {
        let index = [rank, slot, copy];
        index[..self.forward.dst_rank.shape().len()].to_vec()
    }

    fn sends(&mut self, rank: usize, findings: &mut Findings) {
        let (forward, reverse) = (self.forward, self.reverse);
        let lengths = forward.seq_len.row(rank);
        let mut used = 0;
        let (held, mut start) = (sum(lengths), 0_i64);
        for (slot, &tokens) in lengths.iter().enumerate() {
            if tokens < 0 {
                findings.expect(Property::Lengths, "fwd.seq_len", &[rank, slot], 0, tokens);
            }
            if tokens > 0 {
                used = slot + 1;
            }
            if let Some(back) = &reverse.recv_seq_lens {
                findings.expect(Property::Lengths, "rev.recv_seq_lens", &[rank, slot], tokens, back.row(rank)[slot]);
            }
            for copy in 0..self.copies {
                let (at, index) = (slot * self.copies + copy, self.index(rank, slot, copy));
                let (to, offset) = (forward.dst_rank.row(rank)[at], forward.dst_offset.row(rank)[at]);
                if let Some(mask) = &reverse.seq_recv_mask {
                    let found = mask.row(rank)[at];
                    findings.expect(Property::Planes, "rev.seq_recv_mask", &index, i64::from(to >= 0), found);
                }
                let Some(to) = usize::try_from(to).ok().filter(|&to| to < self.ranks) else {
                    findings.expect(Property::Destination, "fwd.dst_rank", &index, -1, to);
                    findings.expect(Property::Padding, "fwd.dst_offset", &index, 0, offset);
                    continue;
                };
                used = slot + 1;
                self.tokens[to][rank] = self.tokens[to][rank].saturating_add(tokens);
                self.arrivals[to].add(offset, tokens, index);
                let home = (copy as i64).saturating_mul(held).saturating_add(start);
                self.sent.entry((to, offset)).or_default().push((rank as i64, home, tokens));
            }
            start = start.saturating_add(tokens);
        }
        let found = forward.num_seqs.values()[rank];
        match self.of {
            Tensors::Queries => findings.expect(Property::Lengths, "fwd.num_seqs", &[rank], with_tokens(lengths), found),
            Tensors::KeysAndValues => {
                let possible = found.clamp(used as i64, self.slots as i64);
                findings.expect(Property::Lengths, "fwd.num_seqs", &[rank], possible, found);
            }
        }
    }

    /// Tokens between `rank` and every other, and their sums, both ways.
    fn counts(&self, rank: usize, findings: &mut Findings) {
        let back: Vec<i64> = self.tokens.iter().map(|row| row[rank]).collect();
        for (what, total_of, metadata, tokens) in [
            ("fwd.num_recv_tokens", "fwd.num_total_recv_tokens", self.forward, &self.tokens[rank]),
            ("rev.num_recv_tokens", "rev.num_total_recv_tokens", self.reverse, &back),
        ] {
            // The documented revision has no column of sums on the way back.
            let expected = tokens.iter().copied().chain([sum(tokens)]);
            for (peer, (expected, &found)) in expected.zip(metadata.num_recv_tokens.row(rank)).enumerate() {
                findings.expect(Property::Conservation, what, &[rank, peer], expected, found);
            }
            if let Some(totals) = &metadata.num_total_recv_tokens {
                findings.expect(Property::Conservation, total_of, &[rank], sum(tokens), totals[rank]);
            }
        }
    }

    /// Every slot of `rank` must go back to where the piece at its place came from; takes those that do out of `sent`.
    fn come_back(&mut self, rank: usize, findings: &mut Findings) {
        let reverse = self.reverse;
        let (mut begin, mut padding) = (0_i64, None);
        let mut slots = 0;
        for (slot, &tokens) in reverse.seq_len.row(rank).iter().enumerate() {
            let found = (reverse.dst_rank.row(rank)[slot], reverse.dst_offset.row(rank)[slot], tokens);
            let here = self.sent.get_mut(&(rank, begin)).filter(|here| !here.is_empty());
            let expected = match here {
                Some(here) => {
                    let exact = here.iter().position(|origin| *origin == found);
                    let alike = here.iter().position(|origin| (origin.2 > 0) == (tokens > 0));
                    here.remove(exact.or(alike).unwrap_or(0))
                }
                None => (-1, 0, 0),
            };
            let property = if expected.0 < 0 { Property::Padding } else { Property::Bijection };
            findings.expect(property, "rev.dst_rank", &[rank, slot], expected.0, found.0);
            findings.expect(property, "rev.dst_offset", &[rank, slot], expected.1, found.1);
            findings.expect(property, "rev.seq_len", &[rank, slot], expected.2, found.2);
            match (found.0 >= 0, padding) {
                (true, Some(before)) => findings.expect(Property::Padding, "rev.dst_rank", &[rank, before], found.0, -1),
                (true, None) => slots += 1,
                (false, _) => padding = padding.or(Some(slot)),
            }
            begin = begin.saturating_add(tokens.max(0));
        }
        let expected = match self.of {
            Tensors::Queries => with_tokens(reverse.seq_len.row(rank)),
            Tensors::KeysAndValues => slots,
        };
        findings.expect(Property::Lengths, "rev.num_seqs", &[rank], expected, reverse.num_seqs.values()[rank]);
    }
}

fn sum(tokens: &[i64]) -> i64 {
    tokens.iter().fold(0, |sum, tokens| sum.saturating_add(*tokens))
}

fn with_tokens(lengths: &[i64]) -> i64 {
    lengths.iter().filter(|&&tokens| tokens > 0).count() as i64
}

/// Axes whose lengths do not fit, with what they must be and are; the index is that of the axis.
fn misshapen(forward: &Metadata, reverse: &Metadata, findings: &mut Findings) {
    let ranks = forward.world_size;
    findings.expect(Property::Shape, "rev.world_size", &[], ranks as i64, reverse.world_size as i64);
    let &[_, slots] = forward.seq_len.shape() else {
        return findings.expect(Property::Shape, "fwd.seq_len", &[], 2, forward.seq_len.shape().len() as i64);
    };
    let copied = forward.dst_rank.shape().get(2).copied();
    let entries: Vec<usize> = [ranks, slots].into_iter().chain(copied).collect();
    let back = [ranks, reverse.seq_len.shape().get(1).copied().unwrap_or(0)];
    let sums = |metadata: &Metadata| if metadata.num_recv_tokens.width() == ranks { ranks } else { ranks + 1 };
    let mut expect = |what, array: &Padded, shape: &[usize]| {
        if array.shape().len() != shape.len() {
            return findings.expect(Property::Shape, what, &[], shape.len() as i64, array.shape().len() as i64);
        }
        for (axis, (&expected, &found)) in shape.iter().zip(array.shape()).enumerate() {
            findings.expect(Property::Shape, what, &[axis], expected as i64, found as i64);
        }
    };
    expect("fwd.seq_len", &forward.seq_len, &[ranks, slots]);
    expect("fwd.dst_rank", &forward.dst_rank, &entries);
    expect("fwd.dst_offset", &forward.dst_offset, &entries);
    expect("fwd.num_recv_tokens", &forward.num_recv_tokens, &[ranks, ranks + 1]);
    expect("fwd.num_seqs", &forward.num_seqs, &[ranks]);
    expect("rev.seq_len", &reverse.seq_len, &back);
    expect("rev.dst_rank", &reverse.dst_rank, &back);
    expect("rev.dst_offset", &reverse.dst_offset, &back);
    expect("rev.num_recv_tokens", &reverse.num_recv_tokens, &[ranks, sums(reverse)]);
    expect("rev.num_seqs", &reverse.num_seqs, &[ranks]);
    for (what, array, shape) in [
        ("rev.seq_recv_mask", &reverse.seq_recv_mask, &entries[..]),
        ("rev.recv_seq_lens", &reverse.recv_seq_lens, &[ranks, slots]),
    ] {
        if let Some(array) = array {
            expect(what, array, shape);
        }
    }
    for (what, metadata) in [("fwd.num_total_recv_tokens", forward), ("rev.num_total_recv_tokens", reverse)] {
        if let Some(totals) = &metadata.num_total_recv_tokens {
            findings.expect(Property::Shape, what, &[], ranks as i64, totals.len() as i64);
        }
    }
    let arrays = [reverse.seq_recv_mask.is_some(), reverse.recv_seq_lens.is_some()].map(i64::from);
    for (what, found) in ["rev.seq_recv_mask", "rev.recv_seq_lens"].into_iter().zip(arrays) {
        findings.expect(Property::Shape, what, &[], i64::from(copied.is_some()), found);
    }
}
