//! `_rankscope_manifest.json`: which runs lie in a dataset, written by what, in which files.
//!
//! Several runs may share a dataset. Writing one again replaces what is listed of it and leaves the others.

use serde::{Deserialize, Serialize};

use crate::schema::{SCHEMA, Table};
use crate::views::Layouts;

/// What lies in a dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The number of the schema.
    pub schema: u32,
    /// The version of the program that wrote it last.
    pub rankscope_version: String,
    /// The runs, by name.
    pub runs: Vec<RunEntry>,
}

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEntry {
    /// Its name, as in `run=`.
    pub run: String,
    /// The version of the program that wrote it.
    pub rankscope_version: String,
    /// How its clocks are known, by and large.
    pub clock: String,
    /// Ranks with a trace.
    pub ranks: u64,
    /// Its tables.
    pub tables: Vec<TableEntry>,
}

/// One table of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableEntry {
    /// Its name.
    pub table: String,
    /// Rows in all.
    pub rows: u64,
    /// Its files.
    pub files: Vec<FileEntry>,
}

/// One file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Where it is, from the folder of the dataset on.
    pub path: String,
    /// Its rows.
    pub rows: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// Why a manifest cannot be gone on with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// It is not what this program writes.
    #[error("not a manifest that `rankscope report --parquet` wrote: {0}. Give another folder")]
    Malformed(#[source] serde_json::Error),
    /// It is of a newer schema.
    #[error("schema {0} is newer than this rankscope; use the version that wrote it, or give another folder")]
    Newer(u32),
}

impl Manifest {
    /// Its file's name. It begins with an underscore because engines pass over such files.
    pub const NAME: &str = "_rankscope_manifest.json";

    /// That of `json`.
    ///
    /// # Errors
    /// [`ManifestError`].
    pub fn read(json: &[u8]) -> Result<Self, ManifestError> {
        let known: Self = serde_json::from_slice(json).map_err(ManifestError::Malformed)?;
        if known.schema > SCHEMA { Err(ManifestError::Newer(known.schema)) } else { Ok(known) }
    }

    /// The same with `run` in the place of what was known of it.
    #[must_use]
    pub fn with(mut self, run: RunEntry) -> Self {
        self.schema = SCHEMA;
        self.rankscope_version.clone_from(&run.rankscope_version);
        self.runs.retain(|known| known.run != run.run);
        self.runs.push(run);
        self.runs.sort_by(|a, b| a.run.cmp(&b.run));
        self
    }

    /// What is known of `run`.
    pub fn run(&self, run: &str) -> Option<&RunEntry> {
        self.runs.iter().find(|known| known.run == run)
    }

    /// Its text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).map(|json| json + "\n").expect("strings and numbers are always JSON")
    }

    /// How events lie in it.
    pub fn layouts(&self) -> Layouts {
        let events = Table::Events.name();
        let tables = self.runs.iter().flat_map(|run| &run.tables).filter(|table| table.table == events);
        let mut layouts = Layouts::default();
        for file in tables.flat_map(|table| &table.files) {
            if file.path.contains("/rank=") { layouts.by_rank = true } else { layouts.shared = true }
        }
        layouts
    }
}

impl RunEntry {
    /// The same with `table`, in the order of tables, in the place of what was known of it.
    #[must_use]
    pub fn with(mut self, table: TableEntry) -> Self {
        self.tables.retain(|known| known.table != table.table);
        self.tables.push(table);
        let place = |entry: &TableEntry| Table::ALL.iter().position(|table| table.name() == entry.table);
        self.tables.sort_by_key(place);
        self
    }
}

impl TableEntry {
    /// `table` in `files`.
    pub fn of(table: Table, files: Vec<FileEntry>) -> Self {
        Self { table: table.name().to_owned(), rows: files.iter().map(|file| file.rows).sum(), files }
    }
}

/// `text` as the name of a run in a path: every engine reads back what is written there.
pub fn run_name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = text.chars().map(plain).collect();
    // Those two are folders, and an empty name is none.
    if name.trim_matches('.').is_empty() { "run".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, rows: u64) -> RunEntry {
        let tables = vec![TableEntry { table: "events".into(), rows, files: Vec::new() }];
        RunEntry { run: name.into(), tables, ..RunEntry::default() }
    }

    #[test]
    fn a_run_replaces_itself_and_no_other() {
        let manifest = Manifest::default().with(run("b", 1)).with(run("a", 2)).with(run("b", 3));
        let known: Vec<(&str, u64)> = manifest.runs.iter().map(|run| (run.run.as_str(), run.tables[0].rows)).collect();
        assert_eq!(known, [("a", 2), ("b", 3)]);
        assert_eq!(Manifest::read(manifest.to_json().as_bytes()).expect("just written"), manifest);
    }

    #[test]
    fn a_table_that_comes_later_takes_its_place() {
        let table = |table, rows| TableEntry::of(table, vec![FileEntry { rows, ..FileEntry::default() }]);
        let run = [Table::Ranks, Table::Events, Table::Collectives, Table::Events].into_iter().zip(0..);
        let run = run.fold(RunEntry::default(), |run, (of, rows)| run.with(table(of, rows)));
        let known: Vec<(&str, u64)> = run.tables.iter().map(|table| (table.table.as_str(), table.rows)).collect();
        assert_eq!(known, [("events", 3), ("collectives", 2), ("ranks", 0)]);
    }

    #[test]
    fn what_is_newer_is_left_alone() {
        let newer = Manifest { schema: SCHEMA + 1, ..Manifest::default() };
        assert!(matches!(Manifest::read(newer.to_json().as_bytes()), Err(ManifestError::Newer(_))));
        assert!(matches!(Manifest::read(b"{}"), Err(ManifestError::Malformed(_))));
    }

    #[test]
    fn names_of_runs_are_plain() {
        for (text, name) in [("runs a/é=1", "runs_a___1"), ("", "run"), ("..", "run"), ("base-1.0", "base-1.0")] {
            assert_eq!(run_name(text), name);
        }
    }
}
