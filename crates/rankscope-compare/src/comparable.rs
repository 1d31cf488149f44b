//! Whether sides can be compared at all: what is said before any figure.
//!
//! Nothing is refused here. Two jobs of different sizes can be worth comparing; that their steps do other work must be said first.

mod lacking;
mod properties;
mod work_in_common;

use rankscope_document::{Note, NoteLevel};

use crate::side::Side;

/// What the reader must know before the figures, most important first.
pub(crate) fn notes(sides: &[Side]) -> Vec<Note> {
    let mut texts = Vec::new();
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
