//! Traces that are read when somebody asks for what is in them, and kept while others may ask for more.
//!
//! Times are of the rank's own clock and told from the start of the step, so no clock of the job is needed. One trace is read at a time: it may
//! take as much memory as a report on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_run::{InputFile, discover};
use rankscope_serve::Fault;
use rankscope_tables::HostCalls;
use rankscope_time::Rank;
use rankscope_trace::{Trace, rank_of_name};

use super::kernels::RankWork;
use super::written_unix_ns;
use crate::read::{Reading, read_members};

/// Ranks whose work is kept: a step of one is looked at beside that of another.
const KEPT: usize = 4;

/// Files without a rank in their names that are looked into for one.
const UNNAMED_MAX: usize = 16;

/// What is kept of a rank's trace.
#[derive(Debug, Default)]
pub(super) struct RankRead {
    /// What ran on its devices.
    pub(super) work: RankWork,
    /// What its host threads called.
    pub(super) calls: HostCalls,
}

/// Calls of ranks that are kept, in all: some two gigabytes. That of the last one asked for is kept, however long.
const CALLS_KEPT: usize = 24_000_000;

/// Ranks that were read.
#[derive(Debug, Default)]
pub(super) struct TracesRead {
    kept: Mutex<Vec<(Key, Arc<RankRead>)>>,
    reading: Mutex<()>,
}

/// A rank of the traces in a folder, as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    folder: PathBuf,
    rank: u32,
    files: Vec<(PathBuf, u64, i64)>,
}

impl TracesRead {
    /// What ran on `rank`, whose trace is in `folder`.
    pub(super) fn of(&self, folder: &Path, rank: u32) -> Result<Arc<RankRead>, Fault> {
        let files = files_of(folder, rank)?;
        let stamp = |file: &InputFile| {
            let found = fs::metadata(&file.path).ok();
            let stamp = found.map_or((0, 0), |found| (found.len(), written_unix_ns(&found)));
            (file.path.clone(), stamp.0, stamp.1)
        };
        let key = Key { folder: folder.to_owned(), rank, files: files.iter().map(stamp).collect() };
        if let Some(work) = self.known(&key) {
            return Ok(work);
        }
        let _one_at_a_time = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody may have asked for the same meanwhile.
        if let Some(work) = self.known(&key) {
            return Ok(work);
        }
        let work = Arc::new(read(&files, rank)?);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(0, (key, Arc::clone(&work)));
        let mut calls = 0;
        let fits = kept.iter().take_while(|(_, own)| {
            calls += own.calls.len();
            calls <= CALLS_KEPT
        });
        let fits = fits.count().clamp(1, KEPT);
        kept.truncate(fits);
        Ok(work)
    }

    fn known(&self, key: &Key) -> Option<Arc<RankRead>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(own, _)| own == key)?;
        kept[..=at].rotate_right(1);
        kept.first().map(|(_, work)| Arc::clone(work))
    }
}

/// The files in `folder` that may hold `rank`: those named so, else those whose names say no rank.
fn files_of(folder: &Path, rank: u32) -> Result<Vec<InputFile>, Fault> {
    let files = discover(&[folder.to_owned()]).map_err(|error| Fault::NoTraces { why: error.to_string() })?;
    let of = |file: &InputFile| rank_of_name(&file.path.to_string_lossy());
    let (named, unnamed): (Vec<InputFile>, Vec<InputFile>) = files.into_iter().partition(|file| of(file).is_some());
    let own: Vec<InputFile> = named.into_iter().filter(|file| of(file) == Some(Rank(rank))).collect();
    let files = if own.is_empty() { unnamed.into_iter().take(UNNAMED_MAX).collect() } else { own };
    if files.is_empty() { Err(Fault::NoRank { rank }) } else { Ok(files) }
}

fn read(files: &[InputFile], rank: u32) -> Result<RankRead, Fault> {
    let reading = Reading { args: ArgsPolicy::Analysis, scope: Scope::All };
    let (mut known, mut found, mut failed) = (RankRead::default(), false, None);
    for file in files {
        read_members(file, reading, |member| match member.trace {
            Ok(trace) if is_of(&trace, rank, files.len()) => {
                found = true;
                let attribution = known.calls.add(&trace);
                known.work.add(rank, &trace, &attribution);
            }
            Ok(_) => {}
            Err(error) => failed = Some(error.to_string()),
        });
    }
    match (found, failed) {
        (true, _) => {
            known.work.complete();
            Ok(known)
        }
        (false, Some(why)) => Err(Fault::Unreadable { why }),
        (false, None) => Err(Fault::NoRank { rank }),
    }
}

/// Whether `trace`, of so many files, is that of `rank`: a file by itself that says no rank is rank 0, as in reports.
fn is_of(trace: &Trace, rank: u32, files: usize) -> bool {
    trace.provenance.own_rank().map_or(files == 1 && rank == 0, |own| own == Rank(rank))
}
