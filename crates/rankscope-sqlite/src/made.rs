//! Databases made for tests, from the published schemas.

use std::path::PathBuf;

use rankscope_formats::{ArgsPolicy, Error, Member, ReadOptions};
use rankscope_trace::{CategoryKind, Trace, TrackKey};
use rusqlite::Connection;
use tempfile::TempDir;

/// A database in a folder of its own.
pub(crate) struct Made {
    folder: TempDir,
    pub(crate) path: PathBuf,
}

impl Made {
    /// One that `sql` makes.
    pub(crate) fn of(sql: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // A name in which nothing may be taken for SQL or for a part of a URI.
        let path = folder.path().join("rank 3 'a'?b#c%41.db");
        // Nothing here outlives the machine: no waiting for its disk.
        Connection::open(&path).unwrap().execute_batch(&format!("PRAGMA synchronous = OFF; {sql}")).unwrap();
        Self { folder, path }
    }

    /// Names of the files that lie in the folder.
    pub(crate) fn beside(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    pub(crate) fn read(&self) -> Result<Vec<Trace>, Error> {
        let options = ReadOptions::default().with_label("rank3.db").with_args(ArgsPolicy::All);
        let mut traces = Vec::new();
        crate::read_each(&self.path, &options, &mut |Member { trace, .. }| traces.push(trace.unwrap()))?;
        Ok(traces)
    }

    pub(crate) fn trace(&self) -> Trace {
        let mut traces = self.read().unwrap();
        assert_eq!(traces.len(), 1);
        traces.remove(0)
    }
}

/// Kind, name, place, start and length of every span, by start and name.
pub(crate) fn spans(trace: &Trace) -> Vec<(CategoryKind, String, String, i64, i64)> {
    let key = |key| match key {
        TrackKey::Number(number) => number.to_string(),
        TrackKey::Text(text) => trace.strings.text(text).to_owned(),
    };
    let row = |span| {
        let row = trace.spans.row(span);
        let track = trace.tracks.get(row.track);
        let parent = trace.tracks.get(track.parent.unwrap());
        let place = format!("{:?} {} {}", parent.kind, key(parent.key), key(track.key));
        (trace.kind(span), trace.name(span).to_owned(), place, row.start_ns, row.dur_ns)
    };
    let mut rows: Vec<_> = trace.spans.ids().map(row).collect();
    rows.sort_by(|a, b| (a.3, &a.1).cmp(&(b.3, &b.1)));
    rows
}
