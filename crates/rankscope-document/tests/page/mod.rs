//! Pages of docs/reference/formats, as tests read them.

use std::collections::{BTreeMap, BTreeSet};

/// The keys in the first columns of the tables of `page`, by heading.
pub(crate) fn described(page: &str) -> BTreeMap<&str, BTreeSet<String>> {
    let mut sections: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut current = "";
    for line in page.lines() {
        if line.starts_with('#') {
            current = line.trim_start_matches('#').trim();
        } else if line.starts_with("| `") {
            let cell = line.split(" | ").next().unwrap_or_default();
            sections.entry(current).or_default().extend(ticked(cell).map(str::to_owned));
        }
    }
    sections
}

/// The words of `text` between backticks.
pub(crate) fn ticked(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}
