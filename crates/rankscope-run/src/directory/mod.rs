//! The run directory: everything about one run of a job in one place, described by its `run.json`.
//!
//! ```text
//! run.json                      what the run is: command, hosts, ranks, attempts, files with sizes and hashes
//! raw/rank-<r>.*                each rank's own trace, untouched; of earlier attempts in raw/attempt-<n>/
//! clock/                        what the clock agents and the ranks measured
//! nodes/                         what each node and each rank says of itself
//! timeline.pftrace, report/     what was made of it
//! ```
//!
//! One process at a time writes the manifest, and holds a lock that dies with it; anybody reads at any time. Nothing here looks
//! into a trace.

mod attempts;
mod ends;
mod files;
mod lease;
mod lock;
mod manifest;
mod nodes;
mod profiled;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Error, StoredRun, is_file, now_unix_ns};

pub(crate) use attempts::{Aside, newest_attempt, set_aside};
pub use ends::{Ending, FirstFailure, RankEnd, settle_ends};
pub use files::FileCheck;
pub use lease::host;
pub use lock::LockKind;
pub(crate) use lock::WriterLock;
use manifest::Document;
pub(crate) use manifest::write_durably;
pub use manifest::{Attempt, Exit, FileEntry, Manifest, NodeEntry, RankEntry, State, SweepEntry};
pub use nodes::{NodePart, live_part, live_part_ended, live_parts, node_part};
pub use profiled::{ProfiledWindow, WindowOutcome};

/// A run that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    /// The name that all processes of the run share.
    pub run_id: String,
    /// What is run, the program first.
    pub command: Vec<String>,
    /// Ranks in the job, where known.
    pub world_size: Option<u32>,
    /// The node whose clock is the reference.
    pub reference_node: u32,
    /// How often the launcher has restarted it; a run that failed goes on only where this is not 0.
    pub restart: u32,
}

/// A run directory, being written or read.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    document: Document,
    lock: Option<WriterLock>,
    problems: Vec<Error>,
}

impl RunDirectory {
    /// Begins a run at `path`, or the next attempt of the run with the same id that lies there and is not over. This process is
    /// its writer until the value is dropped.
    ///
    /// # Errors
    /// [`Error::RunInUse`], [`Error::OtherRun`], [`Error::RunOver`], [`Error::Occupied`], a manifest that cannot be read, and what
    /// the file system refuses.
    pub fn create(path: &Path, new: NewRun) -> Result<Self, Error> {
        let path = std::path::absolute(path).map_err(|error| Error::io(path, error))?;
        if !Self::is_run(&path) {
            check_free(&path)?;
        }
        let started_unix_ns = now_unix_ns()?;
        for folder in [path.join("raw"), path.join("clock")] {
            fs::create_dir_all(&folder).map_err(|error| Error::io(folder, error))?;
        }
        let lock = WriterLock::take(&path)?;
        let mut document = match Document::read(&path) {
            Err(Error::NotARun { .. }) => Document::new(fresh(&new)),
            earlier => resumed(&path, earlier?, &new)?,
        };
        let manifest = &mut document.manifest;
        if let Some(last) = manifest.attempts.last() {
            attempts::put_aside(&path.join("raw"), last.number)?;
            attempts::put_aside(&path.join(nodes::FOLDER), last.number)?;
        }
        let number = manifest.attempts.last().map_or(0, |last| last.number + 1);
        manifest.attempts.push(Attempt { number, started_unix_ns, ..Attempt::default() });
        manifest.state = State::Running;
        manifest.versions.insert("rankscope".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        document.write(&path)?;
        Ok(Self { path, document, lock: Some(lock), problems: Vec::new() })
    }

    /// Takes back a run that never began: what is its own goes, and its directory if nothing else lies there.
    ///
    /// # Errors
    /// [`Error::NotTheWriter`], and what the file system refuses.
    pub fn discard(self) -> Result<(), Error> {
        if self.lock.is_none() {
            return Err(Error::NotTheWriter { path: self.path });
        }
        crate::removal::take_back(&self.path)
    }

    /// Opens the run at `path` to read it, also while it is written.
    ///
    /// # Errors
    /// [`Error::NotARun`], [`Error::DamagedManifest`], [`Error::LaterSchema`], and what the file system refuses.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mut document = Document::read(path)?;
        let problems = nodes::merge(path, &mut document.manifest);
        if document.manifest.state == State::Running && !lock::is_held(path) {
            document.manifest.state = State::Ended;
        }
        Ok(Self { path: path.to_owned(), document, lock: None, problems })
    }

    /// Whether a run lies at `path`.
    pub fn is_run(path: &Path) -> bool {
        // What a store refuses is said of its files, where there is a place to say it.
        is_file(&manifest::path_in(path)).unwrap_or(false)
    }

    /// The paths that the manifest at `path` lists, from there; none where it lists none, or cannot be read.
    pub(crate) fn listed(path: &Path) -> BTreeSet<String> {
        let files = Document::read(path).map(|document| document.manifest.files).unwrap_or_default();
        files.into_iter().map(|file| file.path).collect()
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the directory is called.
    pub fn name(&self) -> String {
        self.path.file_name().map_or_else(|| self.path.display().to_string(), |name| name.to_string_lossy().into_owned())
    }

    /// When the first attempt began, in nanoseconds since 1970; 0 where that is not said.
    pub fn started_unix_ns(&self) -> i64 {
        self.manifest().attempts.first().map_or(0, |attempt| attempt.started_unix_ns)
    }

    /// What matters of it when it is decided which runs stay.
    ///
    /// # Errors
    /// What the file system refuses when its files are counted.
    pub fn stored(&self) -> Result<StoredRun, Error> {
        let manifest = self.manifest();
        let stamps = manifest.attempts.iter().map(|attempt| attempt.ended_unix_ns.unwrap_or(attempt.started_unix_ns));
        Ok(StoredRun {
            name: self.name(),
            state: manifest.state,
            started_unix_ns: self.started_unix_ns(),
            last_unix_ns: stamps.max().unwrap_or(0),
            bytes: self.total_bytes()?,
        })
    }

    /// The folder of the ranks' own traces.
    pub fn raw(&self) -> PathBuf {
        self.path.join("raw")
    }

    /// The folder of what was measured of the clocks.
    pub fn clock(&self) -> PathBuf {
        self.path.join("clock")
    }

    /// The folder of reports.
    pub fn report(&self) -> PathBuf {
        self.path.join("report")
    }

    /// The timeline of all ranks.
    pub fn timeline(&self) -> PathBuf {
        self.path.join("timeline.pftrace")
    }

    /// What the run is. Of a run that says it is running and has no writer the state is [`State::Ended`].
    pub fn manifest(&self) -> &Manifest {
        &self.document.manifest
    }

    /// Every time it was begun, oldest first.
    pub fn attempts(&self) -> &[Attempt] {
        &self.manifest().attempts
    }

    /// Which rank failed first in the last attempt, and so probably why the job failed. None where it did not fail, was told to
    /// end by a signal, or is not over; without a rank where the command failed and its ranks are not known.
    pub fn first_failure(&self) -> Option<FirstFailure> {
        self.attempts().last()?.first_failure(self.manifest())
    }

    /// Parts of the run that could not be read.
    pub fn problems(&self) -> &[Error] {
        &self.problems
    }

    /// What keeps other writers away; none where this was opened to be read.
    pub fn lock(&self) -> Option<LockKind> {
        self.lock.as_ref().map(WriterLock::kind)
    }

    /// Bytes in all its files, the manifest left out.
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn total_bytes(&self) -> Result<u64, Error> {
        files::total_bytes(&self.path)
    }

    /// Compares its files with what they were when it ended.
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn check_files(&self) -> Result<FileCheck, Error> {
        files::check(&self.path, &self.document.manifest.files)
    }

    /// Changes the manifest; if it cannot be written, nothing is changed.
    ///
    /// # Errors
    /// [`Error::NotTheWriter`], and what the file system refuses.
    pub fn update(&mut self, change: impl FnOnce(&mut Manifest)) -> Result<(), Error> {
        if self.lock.is_none() {
            return Err(Error::NotTheWriter { path: self.path.clone() });
        }
        let mut changed = self.document.clone();
        change(&mut changed.manifest);
        changed.write(&self.path)?;
        self.document = changed;
        Ok(())
    }

    /// From the first beginning to the last end; to now while it runs. None where it is not known.
    pub fn duration_ns(&self) -> Option<i64> {
        let last = self.manifest().attempts.last()?;
        let end_ns = match self.manifest().state {
            State::Running => now_unix_ns().ok()?,
            _ => last.ended_unix_ns?,
        };
        Some(end_ns.saturating_sub(self.started_unix_ns()))
    }

    /// How many ranks the run has, as it was told, else as they said of themselves.
    pub fn rank_count(&self) -> Option<usize> {
        let manifest = self.manifest();
        manifest.world_size.map(|size| size as usize).or((!manifest.ranks.is_empty()).then_some(manifest.ranks.len()))
    }

    /// Ends the attempt: how it went is written first, then what all nodes said of themselves and the files with their sizes and
    /// hashes.
    ///
    /// # Errors
    /// [`Error::NotTheWriter`], and what the file system refuses.
    pub fn finish(&mut self, exit: Exit) -> Result<(), Error> {
        // An attempt ends also where the clock went wrong meanwhile; when is then not known.
        let now = now_unix_ns().ok();
        self.update(|manifest| {
            manifest.state = if exit.is_success() { State::Finished } else { State::Failed };
            if let Some(attempt) = manifest.attempts.last_mut() {
                (attempt.ended_unix_ns, attempt.exit) = (now, Some(exit));
            }
        })?;
        self.seal()
    }

    /// Lists the files as they are now; after [`Self::finish`], for what was made of the run since.
    ///
    /// # Errors
    /// [`Error::NotTheWriter`], and what the file system refuses.
    pub fn seal(&mut self) -> Result<(), Error> {
        let files = files::list(&self.path)?;
        let mut problems = Vec::new();
        let path = self.path.clone();
        self.update(|manifest| {
            problems = nodes::merge(&path, manifest);
            manifest.files = files;
        })?;
        self.problems = problems;
        Ok(())
    }
}

/// What nodes and ranks of a run may have made before its writer came.
const OWN_PARTS: [&str; 6] = ["raw", "clock", "live", nodes::FOLDER, ".lock", ".lease"];

fn check_free(path: &Path) -> Result<(), Error> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|error| Error::io(path, error))?,
    };
    for entry in entries {
        let name = entry.map_err(|error| Error::io(path, error))?.file_name().to_string_lossy().into_owned();
        if !OWN_PARTS.contains(&name.as_str()) && !name.starts_with(".rankscope-") {
            return Err(Error::Occupied { path: path.to_owned(), entry: name });
        }
    }
    Ok(())
}

fn fresh(new: &NewRun) -> Manifest {
    Manifest {
        schema: manifest::SCHEMA,
        run_id: new.run_id.clone(),
        command: new.command.clone(),
        state: State::Running,
        world_size: new.world_size,
        reference_node: new.reference_node,
        ..Manifest::default()
    }
}

/// The run that lies at `path`, if `new` is its next attempt. Who holds the lock knows that no writer lives.
fn resumed(path: &Path, mut document: Document, new: &NewRun) -> Result<Document, Error> {
    let manifest = &mut document.manifest;
    if manifest.run_id != new.run_id {
        return Err(Error::OtherRun { path: path.to_owned(), there: manifest.run_id.clone(), wanted: new.run_id.clone() });
    }
    let failed = manifest.state == State::Failed;
    if manifest.state == State::Finished || (failed && new.restart == 0) {
        return Err(Error::RunOver { path: path.to_owned(), run_id: manifest.run_id.clone(), failed });
    }
    manifest.command.clone_from(&new.command);
    manifest.world_size = new.world_size.or(manifest.world_size);
    manifest.reference_node = new.reference_node;
    // Ranks may come back on other hosts, and the files of this attempt are still to come.
    (manifest.nodes, manifest.ranks, manifest.files) = (Vec::new(), Vec::new(), Vec::new());
    Ok(document)
}

#[cfg(test)]
mod tests;
