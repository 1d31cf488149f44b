//! What both sides should share, and do not.

use std::collections::BTreeSet;

use rankscope_document::Document;

use super::spans;
use crate::side::Side;

/// A property of a run: how it is called, whether that is plural, and its value where it is known.
type Property = (&'static str, bool, fn(&Document) -> Option<String>);

const PROPERTIES: [Property; 7] = [
    ("the world size", false, |document| document.world_size.map(|size| size.to_string())),
    ("the number of ranks", false, |document| Some(document.ranks.len().to_string())),
    ("the ranks", true, ranks),
    ("the devices", true, |document| words(document.ranks.iter().filter_map(|rank| rank.device.clone()))),
    ("the side whose time it is", false, |document| words(document.ranks.iter().map(|rank| rank.accounting.to_string()))),
    ("the formats of the traces", true, |document| words(document.ranks.iter().map(|rank| rank.format.to_string()))),
    ("the rules by which work is classed", true, |document| Some(document.classes.to_string())),
];

/// A sentence for each property that differs.
pub(super) fn differing(base: &Side, test: &Side) -> Vec<String> {
    let values = |side: &Side, of: fn(&Document) -> Option<String>| words(side.documents().filter_map(of));
    let mut sentences = Vec::new();
    let mut is_told = false;
    for (what, plural, of) in PROPERTIES {
        let (Some(of_base), Some(of_test)) = (values(base, of), values(test, of)) else { continue };
        // As many ranks of another size are told once.
        if of_base == of_test || (what == "the ranks" && is_told) {
            continue;
        }
        is_told |= what == "the number of ranks";
        let verb = if plural { "differ" } else { "differs" };
        sentences.push(format!(
            "{what} {verb}: {of_base} in {}, {of_test} in {}; their steps may not do the same work",
            base.label, test.label
        ));
    }
    sentences
}

/// The numbers of the ranks, `0-3, 8`.
fn ranks(document: &Document) -> Option<String> {
    let numbers: BTreeSet<u32> = document.ranks.iter().map(|rank| rank.rank).collect();
    Some(spans(&numbers)).filter(|text| !text.is_empty())
}

/// Different words, in order, as one text.
fn words(all: impl Iterator<Item = String>) -> Option<String> {
    let words: BTreeSet<String> = all.filter(|word| !word.is_empty()).collect();
    (!words.is_empty()).then(|| words.into_iter().collect::<Vec<_>>().join(", "))
}
