//! Do intervals fill a buffer?

use super::{Findings, Property};

/// What arrives at one rank: first token, tokens and the entry that sends it.
#[derive(Default)]
pub(super) struct Arrivals {
    pieces: Vec<(i64, i64, Vec<usize>)>,
}

impl Arrivals {
    /// A piece more. Pieces without tokens take no room, so they cannot be in the way.
    pub(super) fn add(&mut self, offset: i64, tokens: i64, entry: Vec<usize>) {
        if tokens > 0 {
            self.pieces.push((offset, tokens, entry));
        }
    }

    /// The pieces must fill a buffer of `total` tokens of `rank`.
    pub(super) fn check(mut self, findings: &mut Findings, rank: usize, what: &'static str, total: i64) {
        self.pieces.sort_unstable();
        let mut end = 0_i64;
        for (offset, tokens, entry) in self.pieces {
            findings.expect(Property::Packing, what, &entry, end, offset);
            end = offset.saturating_add(tokens);
        }
        findings.expect(Property::Packing, what, &[rank], total, end);
    }
}
