//! Do intervals fill a buffer?

use super::{Findings, Property};

/// What arrives at one rank: first token and tokens of each piece, by its number.
#[derive(Default)]
pub(super) struct Arrivals {
    pieces: Vec<(i64, i64, usize)>,
}

impl Arrivals {
    /// A piece more. Pieces without tokens take no room, so they cannot be in the way.
    pub(super) fn add(&mut self, offset: i64, tokens: i64, piece: usize) {
        if tokens > 0 {
            self.pieces.push((offset, tokens, piece));
        }
    }

    /// The pieces must fill a buffer of `total` tokens.
    pub(super) fn check(mut self, findings: &mut Findings, rank: usize, what: &'static str, total: i64) {
        self.pieces.sort_unstable();
        let mut end = 0_i64;
        for (offset, tokens, piece) in self.pieces {
            findings.expect(Property::Packing, rank, what, piece, end, offset);
            end = offset.saturating_add(tokens);
        }
        findings.expect(Property::Packing, rank, what, usize::MAX, total, end);
    }
}
