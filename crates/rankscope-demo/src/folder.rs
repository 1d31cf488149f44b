//! The demo's run directory: made where nothing is lost, described by its manifest, gone again if the demo fails.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use rankscope_run::{Exit, NewRun, NodeEntry, RankEntry, RunDirectory, State, write_file};

use crate::document::DemoDocument;
use crate::error::Error;
use crate::hosts::host_name;
use crate::plan::{Plan, RUN_ID};
use crate::product::Product;

/// What came of the demo, and what tells a demo's directory from any other.
const DOCUMENT: &str = "demo.json";

/// Logs and meeting place; not part of what is left.
const SCRATCH: &str = ".rankscope-demo";

/// A run directory in the making.
pub(crate) struct Folder {
    run: RunDirectory,
    path: PathBuf,
    kept: bool,
    /// Held until all else is done.
    _claim: File,
}

impl Folder {
    /// Makes it at `path`. What is there must be an older demo, or nothing.
    pub(crate) fn create(path: &Path, plan: &Plan, command: Vec<String>) -> Result<Self, Error> {
        let claim = claim(path)?;
        make_room(path)?;
        let scratch = path.join(SCRATCH);
        fs::create_dir_all(&scratch).map_err(Error::of(scratch))?;
        let new = NewRun { run_id: plan.run_id(), command, world_size: Some(plan.ranks), reference_node: 0, restart: 0 };
        let run = RunDirectory::create(path, new).inspect_err(|_| {
            let _gone = fs::remove_dir_all(path);
        })?;
        Ok(Self { run, path: path.to_owned(), kept: false, _claim: claim })
    }

    /// As the user wrote it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The run, in which ranks keep what is about them while they train.
    pub(crate) fn run(&self) -> &Path {
        self.run.path()
    }

    pub(crate) fn raw(&self) -> PathBuf {
        self.run.raw()
    }

    pub(crate) fn clock(&self) -> PathBuf {
        self.run.clock()
    }

    /// For what nobody needs afterwards.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.run.path().join(SCRATCH)
    }

    /// Enters which process is which rank, on which host.
    pub(crate) fn enter(&mut self, pids: &[u32]) -> Result<(), Error> {
        let ranks = (0..).zip(pids);
        let node = |(node, _)| NodeEntry { node, host: host_name(node) };
        let rank = |(rank, pid): (u32, &u32)| RankEntry { rank, node: rank, host: Some(host_name(rank)), pid: Some(*pid) };
        Ok(self.run.update(|manifest| {
            manifest.nodes = ranks.clone().map(node).collect();
            manifest.ranks = ranks.map(rank).collect();
        })?)
    }

    /// Ends the run and reports on it. Returns whom the report has delay the others most.
    pub(crate) fn conclude(&mut self, product: &dyn Product) -> Result<Option<u32>, Error> {
        self.run.finish(Exit::Code(0))?;
        product.report(self.run.path()).map_err(Error::Product)
    }

    /// Keeps all of it, with `document`.
    pub(crate) fn keep(&mut self, document: &DemoDocument) -> Result<(), Error> {
        let path = self.path.join(DOCUMENT);
        write_file(&path, |file| serde_json::to_writer_pretty(file, document).map_err(|error| Error::of(&path)(error.into())))?;
        let scratch = self.scratch();
        fs::remove_dir_all(&scratch).map_err(Error::of(scratch))?;
        self.run.seal()?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.kept {
            // It failed for another reason already, which is the one to tell.
            let _gone = fs::remove_dir_all(&self.path);
        }
    }
}

/// Makes the folder at `path` and claims it for this process, so that of two demos one does not clear away the other.
fn claim(path: &Path) -> Result<File, Error> {
    fs::create_dir_all(path).map_err(Error::of(path))?;
    let claim = OpenOptions::new().read(true).open(path).map_err(Error::of(path))?;
    match claim.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Error::Running { path: path.to_owned() }),
        // Where there are no locks, the run's own writer has to do.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(claim),
    }
}

/// Empties the folder at `path` of an older demo; fails if anything else is there. The folder itself stays: it may be a mount.
fn make_room(path: &Path) -> Result<(), Error> {
    let entries = fs::read_dir(path).and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect());
    let names: Vec<OsString> = entries.map_err(Error::of(path))?;
    let is_demo = names.iter().any(|name| name == DOCUMENT || name == SCRATCH);
    let run = RunDirectory::open(path).ok();
    match run.as_ref().map(RunDirectory::manifest) {
        Some(manifest) if is_demo && manifest.state == State::Running => {
            return Err(Error::Running { path: path.to_owned() });
        }
        Some(manifest) if is_demo && manifest.run_id.starts_with(RUN_ID) => {}
        None if names.is_empty() => {}
        // A demo that was killed before it was a run.
        None if is_demo && names.iter().all(|name| BEGUN.iter().any(|begun| name == begun)) => {}
        _ => return Err(Error::Occupied { path: path.to_owned() }),
    }
    for name in names {
        let entry = path.join(name);
        let removed = if entry.is_dir() { fs::remove_dir_all(&entry) } else { fs::remove_file(&entry) };
        removed.map_err(Error::of(entry))?;
    }
    Ok(())
}

/// What there is before the run's manifest.
const BEGUN: [&str; 4] = [SCRATCH, "raw", "clock", ".lock"];
