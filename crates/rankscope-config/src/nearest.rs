//! The right name that a wrong one was probably meant to be.

use strsim::damerau_levenshtein;

/// The candidate that takes the fewest slips of the finger to become `name`, if they are few for its length.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (name.len() / 4).max(2);
    let slips = |candidate: &'a str| (damerau_levenshtein(name, candidate), candidate);
    candidates.into_iter().map(slips).filter(|(slips, _)| *slips <= most).min_by_key(|(slips, _)| *slips).map(|found| found.1)
}
