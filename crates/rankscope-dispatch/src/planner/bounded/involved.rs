//! The ranks that have to do with a document, and how much of its context each needs.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::piece::Piece;

/// A rank that holds or computes something of a document.
pub(super) struct Involved {
    pub(super) rank: u32,
    /// The last piece that it computes, how far that goes, and how far the piece before goes.
    pub(super) last: Option<usize>,
    pub(super) reach: u32,
    pub(super) rest: u32,
}

/// The ranks of a document, those with the longest context first.
pub(super) fn involved(pieces: &[Piece]) -> Vec<Involved> {
    let mut ranks: Vec<Involved> = Vec::new();
    let mut places = FxHashMap::default();
    for (place, piece) in pieces.iter().enumerate().rev() {
        match places.entry(piece.at) {
            Entry::Vacant(entry) => {
                entry.insert(ranks.len());
                ranks.push(Involved { rank: piece.at, last: Some(place), reach: piece.end, rest: 0 });
            }
            Entry::Occupied(entry) => {
                let rank = &mut ranks[*entry.get()];
                rank.rest = rank.rest.max(piece.end);
            }
        }
    }
    for piece in pieces {
        if let Entry::Vacant(entry) = places.entry(piece.home) {
            entry.insert(ranks.len());
            ranks.push(Involved { rank: piece.home, last: None, reach: 0, rest: 0 });
        }
    }
    ranks
}
