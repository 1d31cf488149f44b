//! Whether sides can be compared at all: what is said before any figure.
//!
//! Nothing is refused here. Two jobs of different sizes can be worth comparing; that their steps do other work must be said first.

mod lacking;
mod missing;
mod properties;
mod work_in_common;

use std::collections::BTreeSet;

use rankscope_document::spelling::ranks_in_short;
use rankscope_document::{Note, NoteLevel};

pub(crate) use missing::{Common, in_common};

/// What the reader must know before the figures, most important first.
pub(crate) fn notes(common: &Common<'_>) -> Vec<Note> {
    let (sides, mut texts) = (&common.sides, common.sentences.clone());
    if let Some((base, tests)) = sides.split_first() {
        for test in tests {
            texts.extend(properties::differing(base, test));
            texts.extend(work_in_common::note(base, test));
            texts.extend(lacking::on_one_side(base, test));
        }
    }
    texts.extend(sides.iter().flat_map(lacking::of_side));
    texts.into_iter().map(|text| Note { level: NoteLevel::Caution, text }).collect()
}

/// Ascending numbers with ranges in short: `0-3, 8`.
fn spans(numbers: &BTreeSet<u32>) -> String {
    ranks_in_short(numbers.iter().copied(), ", ")
}
