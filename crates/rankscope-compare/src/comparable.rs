//! Whether sides can be compared at all: what is said before any figure.
//!
//! Nothing is refused here. Two jobs of different sizes can be worth comparing; that their steps do other work must be said first.

use std::collections::BTreeSet;

use rankscope_document::{Document, Note, NoteLevel};

use crate::side::Side;

/// What the reader must know before the figures, most important first.
pub(crate) fn notes(sides: &[Side]) -> Vec<Note> {
    let mut texts = Vec::new();
    if let Some((base, tests)) = sides.split_first() {
        for test in tests {
            texts.extend(differing(base, test));
        }
    }
    texts.extend(sides.iter().flat_map(|side| side.runs.iter().flat_map(|run| lost_marks(side, run))));
    texts.into_iter().map(|text| Note { level: NoteLevel::Caution, text }).collect()
}

/// A property of a run that both sides should share.
type Property = (&'static str, fn(&Document) -> Option<String>);

const PROPERTIES: [Property; 4] = [
    ("the number of ranks", |document| Some(document.ranks.len().to_string())),
    ("the world size", |document| document.world_size.map(|size| size.to_string())),
    ("the devices", |document| words(document.ranks.iter().filter_map(|rank| rank.device.clone()))),
    ("the rules by which work is classed", |document| Some(document.classes.to_string())),
];

fn differing(base: &Side, test: &Side) -> Vec<String> {
    let values = |side: &Side, of: fn(&Document) -> Option<String>| words(side.documents().filter_map(of));
    let differs = |(what, of): &Property| {
        let (of_base, of_test) = (values(base, *of)?, values(test, *of)?);
        (of_base != of_test).then(|| {
            format!(
                "{what} differs: {of_base} in {}, {of_test} in {}; their steps may not do the same work",
                base.label, test.label
            )
        })
    };
    PROPERTIES.iter().filter_map(differs).collect()
}

/// Different words, in order, as one text.
fn words(all: impl Iterator<Item = String>) -> Option<String> {
    let words: BTreeSet<String> = all.collect();
    (!words.is_empty()).then(|| words.into_iter().collect::<Vec<_>>().join(", "))
}

/// Steps that some ranks of a run did not mark, so that the job's time of them is not known.
fn lost_marks(side: &Side, run: &crate::Run) -> Option<String> {
    let (step, ranks) = run.steps.lacking().first()?;
    let ranks = ranks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    Some(match run.steps.lacking().len() {
        1 => format!("{}: step {step} is left out, as rank {ranks} did not mark it", side.label),
        n => format!("{}: {n} steps are left out that some ranks did not mark, the first {step} (rank {ranks})", side.label),
    })
}
