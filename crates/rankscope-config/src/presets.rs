//! Settings that go together, by a name for what they are good for.

use crate::Key;

/// The settings that a preset changes.
const COLUMNS: [Key; 5] = [Key::ProbeCadence, Key::ProbeWindow, Key::PacketSpacing, Key::SnapshotPeriod, Key::BudgetBitsPerS];

/// Name, and the columns as they would be written. The first four columns are those of XLA's distributed profiling, which has no budget; but
/// for the spacing of high-accuracy, which is 50 us there: closer packets measure better.
const PRESETS: [(&str, [&str; 5]); 7] = [
    ("high-accuracy", ["400", "2", "5", "50", "1000000"]),
    ("low-overhead", ["2000", "10", "200", "200", "60000"]),
    ("debug", ["1000", "2", "100", "100", "150000"]),
    ("sync-debug", ["200", "1", "50", "25", "1000000"]),
    ("benchmark", ["5000", "20", "200", "500", "60000"]),
    ("jax-training", ["1000", "5", "100", "100", "150000"]),
    ("inference", ["500", "3", "75", "75", "300000"]),
];

/// Every preset with what it sets, as it would be written.
pub fn presets() -> impl Iterator<Item = (&'static str, Vec<(Key, &'static str)>)> {
    PRESETS.iter().map(|(name, values)| (*name, COLUMNS.into_iter().zip(values.iter().copied()).collect()))
}

/// What the preset `name` says.
pub(crate) fn preset(name: &str) -> impl Iterator<Item = (Key, &'static str)> {
    let values = PRESETS.iter().find(|(known, _)| *known == name).map(|(_, values)| values);
    values.into_iter().flat_map(|values| COLUMNS.into_iter().zip(values.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;
    use crate::value::parse;

    #[test]
    fn every_preset_that_can_be_named_says_something_allowed() {
        for (name, _) in table::PRESETS {
            assert_eq!(preset(name).count(), COLUMNS.len(), "{name}");
            for (key, text) in preset(name) {
                assert!(parse(&key.setting().kind, text).is_some(), "{name}: {text}");
            }
        }
        assert_eq!(table::PRESETS.len(), PRESETS.len());
    }
}
