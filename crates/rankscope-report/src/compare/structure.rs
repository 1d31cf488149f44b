//! Changes of structure as rows: what became of what, where, and how often. Terminals, pages and workbooks list the same.

use rankscope_document::{OrderChange, StructureChange, StructureChanges, StructureVariation};

/// One change of structure.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct StructureRow {
    /// What became of it: `replaced`, `new`, `gone`, `other count`, `other order`, or `varies`.
    pub change: &'static str,
    /// What it is.
    pub kind: String,
    /// Its name; of an order what it was.
    pub name: String,
    /// What took its place.
    pub replaced_by: Option<String>,
    /// What it is a part of.
    pub within: Option<String>,
    /// The modules that it is in.
    pub modules: String,
    /// How often it is in the base and in the test; of what varies the least and the most.
    pub counts: [u64; 2],
    /// Its time in a step of each, where that is known.
    pub ns: Option<[i64; 2]>,
    /// Ranks that have it so.
    pub ranks: usize,
}

/// All of `changes`, replacements first.
pub fn structure_rows(changes: &StructureChanges) -> Vec<StructureRow> {
    let lists: [(&'static str, &[StructureChange]); 4] = [
        ("replaced", &changes.swapped),
        ("new", &changes.new),
        ("gone", &changes.gone),
        ("other count", &changes.count_changed),
    ];
    let changed = lists.into_iter().flat_map(|(change, list)| list.iter().map(move |one| of_change(change, one)));
    changed.chain(changes.reordered.iter().map(of_order)).chain(changes.varying.iter().map(of_variation)).collect()
}

fn of_change(change: &'static str, of: &StructureChange) -> StructureRow {
    StructureRow {
        change,
        kind: of.kind.to_string().replace('_', " "),
        name: of.name.clone(),
        replaced_by: of.replaced_by.clone(),
        within: of.within.clone(),
        modules: of.modules.join(", "),
        counts: [of.base_count, of.test_count],
        ns: Some([of.base_ns, of.test_ns]),
        ranks: of.ranks.len(),
    }
}

fn of_order(of: &OrderChange) -> StructureRow {
    StructureRow {
        change: "other order",
        kind: "launches".to_owned(),
        name: of.base.clone(),
        replaced_by: Some(of.test.clone()),
        within: Some(of.parent.clone().unwrap_or_else(|| "a step".to_owned())),
        counts: [of.base_count, of.test_count],
        ranks: of.ranks.len(),
        ..StructureRow::default()
    }
}

fn of_variation(of: &StructureVariation) -> StructureRow {
    StructureRow {
        change: "varies",
        kind: of.kind.to_string().replace('_', " "),
        name: format!("{} (runs of {})", of.name, of.side),
        within: of.within.clone(),
        counts: [of.least, of.most],
        ranks: of.ranks.len(),
        ..StructureRow::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_has_its_rows() {
        let one = || vec![StructureChange { name: "a".to_owned(), ..StructureChange::default() }];
        let changes = StructureChanges {
            new: one(),
            gone: one(),
            swapped: one(),
            count_changed: one(),
            reordered: vec![OrderChange { base: "a → b".to_owned(), test: "b → a".to_owned(), ..OrderChange::default() }],
            varying: vec![StructureVariation {
                side: "base".to_owned(),
                name: "k".to_owned(),
                ..StructureVariation::default()
            }],
            left_out: 0,
        };
        let rows = structure_rows(&changes);
        let told: Vec<(&str, &str)> = rows.iter().map(|row| (row.change, row.name.as_str())).collect();
        assert_eq!(
            told,
            [
                ("replaced", "a"),
                ("new", "a"),
                ("gone", "a"),
                ("other count", "a"),
                ("other order", "a → b"),
                ("varies", "k (runs of base)")
            ]
        );
    }
}
