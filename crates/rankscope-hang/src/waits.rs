//! Torch's counters of waiting: which are active, as its worker server tells them.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Deserialize)]
struct Counter {
    #[serde(default)]
    active_count: i64,
}

/// Names of the counters that are active in `json`; none where it is none of theirs.
pub fn active_waits(json: &[u8]) -> Vec<String> {
    let counters: BTreeMap<String, Counter> = serde_json::from_slice(json).unwrap_or_default();
    counters.into_iter().filter(|(_, counter)| counter.active_count > 0).map(|(name, _)| name).collect()
}
