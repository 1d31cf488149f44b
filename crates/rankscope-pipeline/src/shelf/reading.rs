//! Traces that are read when somebody asks for what is in them, and kept while others may ask for more.
//!
//! Times are of the rank's own clock and told from the start of the step, so no clock of the job is needed. One trace is read at a time: it may
//! take as much memory as a report on it. It is read for as long as anybody waits for it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_run::{InputFile, discover};
use rankscope_serve::Fault;
use rankscope_tables::HostCalls;
use rankscope_time::Rank;
use rankscope_trace::{Trace, rank_of_name};

use super::client::Client;
use super::kernels::RankWork;
use super::written_unix_ns;
use crate::read::{Reading, read_wanted};
use crate::wanted::Wanted;

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
    waiting: Waiting,
}

/// Who waits for which rank.
#[derive(Default)]
struct Waiting(Mutex<Vec<(Key, Arc<dyn Client>)>>);

/// A client that is among them.
struct Place<'a> {
    waiting: &'a Waiting,
    client: &'a Arc<dyn Client>,
}

impl Waiting {
    fn place<'a>(&'a self, key: &Key, client: &'a Arc<dyn Client>) -> Place<'a> {
        self.lock().push((key.clone(), Arc::clone(client)));
        Place { waiting: self, client }
    }

    /// Whether any of those who wait for `key` is still there.
    fn has_any(&self, key: &Key) -> bool {
        self.lock().iter().any(|(wanted, client)| wanted == key && !client.is_gone())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Key, Arc<dyn Client>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.lock().iter().map(|(key, _)| key)).finish()
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.waiting.lock().retain(|(_, client)| !Arc::ptr_eq(client, self.client));
    }
}

/// A rank of the traces in a folder, as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    folder: PathBuf,
    rank: u32,
    files: Vec<(PathBuf, u64, i64)>,
}

impl TracesRead {
    /// What ran on `rank`, whose trace is in `folder`, for `client`.
    pub(super) fn of(&self, folder: &Path, rank: u32, client: &Arc<dyn Client>) -> Result<Arc<RankRead>, Fault> {
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
        let _place = self.waiting.place(&key, client);
        let _one_at_a_time = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody may have asked for the same meanwhile.
        if let Some(work) = self.known(&key) {
            return Ok(work);
        }
        let is_wanted = || self.waiting.has_any(&key);
        let work = Arc::new(read(&files, rank, &Wanted::while_true(&is_wanted))?);
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

fn read(files: &[InputFile], rank: u32, wanted: &Wanted<'_>) -> Result<RankRead, Fault> {
    let reading = Reading { args: ArgsPolicy::Analysis, scope: Scope::All };
    let (mut known, mut found, mut failed) = (RankRead::default(), false, None);
    for file in files {
        // Between files, and before a trace is gone through, as well: no byte is read in there.
        if !wanted.goes_on() {
            return Err(Fault::NobodyWaits);
        }
        read_wanted(file, reading, wanted, |member| match member.trace {
            _ if !wanted.goes_on() => {}
            Ok(trace) if is_of(&trace, rank, files.len()) => {
                found = true;
                let attribution = known.calls.add(&trace);
                if wanted.goes_on() {
                    known.work.add(rank, &trace, &attribution);
                }
            }
            Ok(_) => {}
            Err(error) => failed = Some(error.to_string()),
        });
    }
    match (found, failed) {
        _ if !wanted.goes_on() => Err(Fault::NobodyWaits),
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::Patient;
    use super::*;

    #[derive(Default)]
    struct Leaving(AtomicBool);

    impl Client for Leaving {
        fn is_gone(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }

    fn key(rank: u32) -> Key {
        Key { folder: PathBuf::from("raw"), rank, files: Vec::new() }
    }

    #[test]
    fn a_trace_is_wanted_until_the_last_who_waits_for_it_has_gone() {
        let waiting = Waiting::default();
        let leaving = [(); 2].map(|()| Arc::new(Leaving::default()));
        let clients = leaving.clone().map(|client| client as Arc<dyn Client>);
        let first = waiting.place(&key(0), &clients[0]);
        let second = waiting.place(&key(0), &clients[1]);
        leaving[0].0.store(true, Ordering::Relaxed);
        assert!(waiting.has_any(&key(0)) && !waiting.has_any(&key(1)), "of another rank nobody waits");
        drop(first);
        assert!(waiting.has_any(&key(0)));
        leaving[1].0.store(true, Ordering::Relaxed);
        assert!(!waiting.has_any(&key(0)));
        drop(second);
        assert!(waiting.lock().is_empty());
    }

    #[test]
    fn nothing_is_read_for_who_has_gone_and_who_comes_then_reads_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let trace = r#"{"traceEvents":[{"ph":"X","cat":"kernel","name":"gemm","ts":1,"dur":2,"pid":0,"tid":7}]}"#;
        fs::write(folder.path().join("rank0.json"), trace).expect("it is written");
        let shelf = TracesRead::default();
        let gone: Arc<dyn Client> = Arc::new(Leaving(AtomicBool::new(true)));
        assert!(matches!(shelf.of(folder.path(), 0, &gone), Err(Fault::NobodyWaits)));
        let patient: Arc<dyn Client> = Arc::new(Patient);
        assert!(shelf.of(folder.path(), 0, &patient).is_ok());
        assert!(shelf.of(folder.path(), 0, &gone).is_ok(), "what was read is kept for whoever asks");
    }
}
