//! From a folder of many runs to what a history is made of. Of a saved report only steps, accounts and collectives are read: its
//! tables are most of it, and no level is told by them.

use std::path::{Path, PathBuf};

use rankscope_compare::{Past, Run};
use rankscope_document::{
    CollectiveInstanceRow, CollectiveKind, CollectiveTables, Document, Note, NoteLevel, Rank, Step, Time, Window,
};
use rankscope_run::{HistoryEntry, RunSource, history_of};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde::Deserialize;

use crate::request::Request;
use crate::sides::{Saved, saved, traced};
use crate::{Error, Progress};

/// Runs of a folder, in no order, and what of it was left out.
#[derive(Debug)]
pub struct PastRuns {
    /// The runs.
    pub runs: Vec<Past>,
    /// One for each entry that is no run or cannot be read.
    pub notes: Vec<Note>,
}

/// Reads the runs that the folder at `path` holds, but for those at `except`. Traces and parts are judged as `like` says.
///
/// # Errors
/// [`Error::NoHistory`] where it holds none that can be read, and what the file system refuses.
pub fn read_history(path: &Path, except: &[PathBuf], like: &Request, progress: &dyn Progress) -> Result<PastRuns, Error> {
    let except: Vec<PathBuf> = except.iter().filter_map(|path| std::fs::canonicalize(path).ok()).collect();
    let is_meant = |entry: &HistoryEntry| match std::fs::canonicalize(&entry.path) {
        Ok(own) => !except.iter().any(|other| *other == own || other.starts_with(&own)),
        Err(_) => true,
    };
    let entries: Vec<HistoryEntry> = history_of(path)?.into_iter().filter(is_meant).collect();
    // Saved reports side by side; traces one run after the other, as each is read by all threads.
    let read: Vec<Option<Result<Run, Error>>> = entries.par_iter().map(of_report).collect();
    let mut past = PastRuns { runs: Vec::new(), notes: Vec::new() };
    for (entry, read) in entries.into_iter().zip(read) {
        let run = match (read, &entry.source) {
            (Some(read), _) => read,
            (None, Some(source)) => {
                let document = traced(source.path(), like, &[], progress);
                document.map(|document| Run::new(source.path().display().to_string(), document))
            }
            (None, None) => {
                past.notes.push(left_out(&entry, "neither a run directory, a saved report, nor a folder of traces or parts"));
                continue;
            }
        };
        match run {
            Ok(run) if !run.has_ranks() => past.notes.push(left_out(&entry, "its report has no rank")),
            Ok(run) => past.runs.push(Past { name: entry.name, run, started_unix_ns: entry.started_unix_ns }),
            Err(error) => past.notes.push(left_out(&entry, &reason(&error))),
        }
    }
    if past.runs.is_empty() {
        let first = past.notes.first().map(|note| note.text.clone()).unwrap_or_default();
        return Err(Error::NoHistory { path: path.to_owned(), first });
    }
    Ok(past)
}

fn left_out(entry: &HistoryEntry, why: &str) -> Note {
    Note { level: NoteLevel::Problem, text: format!("{} is left out: {why}", entry.name) }
}

/// What went wrong, with its causes.
fn reason(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

fn of_report(entry: &HistoryEntry) -> Option<Result<Run, Error>> {
    let Some(RunSource::Report(path)) = &entry.source else { return None };
    Some(saved::<Glance>(path).map(|glance| Run::new(path.display().to_string(), glance.into_document())))
}

/// What a history needs of a report, with the report's own keys.
#[derive(Deserialize)]
struct Glance {
    schema: u32,
    #[serde(default)]
    world_size: Option<u32>,
    #[serde(default)]
    windows: Vec<Window>,
    ranks: Vec<RankGlance>,
    #[serde(default)]
    collective_tables: Option<TablesGlance>,
}

#[derive(Deserialize)]
struct RankGlance {
    rank: u32,
    window_ns: [i64; 2],
    time_ns: Time,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct TablesGlance {
    #[serde(default)]
    nccl_implicit_sync: Option<Vec<RowGlance>>,
}

#[derive(Deserialize)]
struct RowGlance {
    dtype: String,
    process_group: String,
    matched: bool,
    transfer_ns: Option<i64>,
    busbw_gbps: Option<f64>,
    step: Option<i64>,
    kind: CollectiveKind,
    in_elements: Option<u64>,
    wait_mean_ns: Option<f64>,
}

impl Saved for Glance {
    fn schema(&self) -> u32 {
        self.schema
    }
}

impl Glance {
    fn into_document(self) -> Document {
        let rank = |RankGlance { rank, window_ns, time_ns, steps }| Rank { rank, window_ns, time_ns, steps, ..Rank::default() };
        let row = |row: RowGlance| CollectiveInstanceRow {
            dtype: row.dtype,
            process_group: row.process_group,
            matched: row.matched,
            transfer_ns: row.transfer_ns,
            busbw_gbps: row.busbw_gbps,
            step: row.step,
            kind: row.kind,
            in_elements: row.in_elements,
            wait_mean_ns: row.wait_mean_ns,
            ..CollectiveInstanceRow::default()
        };
        let tables = |tables: TablesGlance| CollectiveTables {
            nccl_implicit_sync: tables.nccl_implicit_sync.map(|rows| rows.into_iter().map(row).collect()),
            ..CollectiveTables::default()
        };
        Document {
            schema: self.schema,
            world_size: self.world_size,
            windows: self.windows,
            ranks: self.ranks.into_iter().map(rank).collect(),
            collective_tables: self.collective_tables.map(tables),
            ..Document::default()
        }
    }
}
