//! The demo's run directory: made where nothing is lost, described by its manifest, gone again if the demo fails.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use rankscope_run::{Exit, NewRun, NodeEntry, RankEntry, RunDirectory, State, write_file};

use super::document::Story;
use super::host_name;
use super::stage::{Cast, RUN_ID};
use crate::report;

/// What the demo told, and what tells a demo's directory from any other.
const STORY: &str = "demo.json";

/// Logs and meeting place; not part of what is left.
const SCRATCH: &str = ".rankscope-demo";

/// A run directory in the making.
pub(super) struct Folder {
    run: RunDirectory,
    path: PathBuf,
    kept: bool,
    /// Held until all else is done.
    _claim: File,
}

impl Folder {
    /// Makes it at `path`. What is there must be an older demo, or nothing.
    pub(super) fn create(path: &Path, cast: &Cast) -> Result<Self> {
        let claim = claim(path)?;
        make_room(path)?;
        let scratch = path.join(SCRATCH);
        fs::create_dir_all(&scratch).with_context(|| scratch.display().to_string())?;
        let new = NewRun {
            run_id: cast.run_id(),
            command: std::env::args().collect(),
            world_size: Some(cast.ranks),
            reference_node: 0,
            restart: 0,
        };
        let run = RunDirectory::create(path, new).inspect_err(|_| {
            let _gone = fs::remove_dir_all(path);
        })?;
        Ok(Self { run, path: path.to_owned(), kept: false, _claim: claim })
    }

    /// As the user wrote it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn raw(&self) -> PathBuf {
        self.run.raw()
    }

    pub(super) fn clock(&self) -> PathBuf {
        self.run.clock()
    }

    /// For what nobody needs afterwards.
    pub(super) fn scratch(&self) -> PathBuf {
        self.run.path().join(SCRATCH)
    }

    /// Enters who plays what.
    pub(super) fn enter(&mut self, pids: &[u32]) -> Result<()> {
        let ranks = (0..).zip(pids);
        let node = |(node, _)| NodeEntry { node, host: host_name(node) };
        let rank = |(rank, pid): (u32, &u32)| RankEntry { rank, node: rank, host: Some(host_name(rank)), pid: Some(*pid) };
        Ok(self.run.update(|manifest| {
            manifest.nodes = ranks.clone().map(node).collect();
            manifest.ranks = ranks.map(rank).collect();
        })?)
    }

    /// Ends the run and reports on it. Returns whom the report has delay the others most.
    pub(super) fn conclude(&mut self) -> Result<Option<u32>> {
        self.run.finish(Exit::Code(0))?;
        let (report, _) = report::into_run(self.run.path())?;
        let latest = report.collectives.ranks.iter().max_by_key(|rank| rank.delay_ns);
        Ok(latest.map(|rank| rank.rank))
    }

    /// Keeps all of it, with the story.
    pub(super) fn keep(&mut self, story: &Story) -> Result<()> {
        write_file(&self.path.join(STORY), |file| Ok::<_, anyhow::Error>(serde_json::to_writer_pretty(file, story)?))?;
        let scratch = self.scratch();
        fs::remove_dir_all(&scratch).with_context(|| scratch.display().to_string())?;
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
fn claim(path: &Path) -> Result<File> {
    let named = || path.display().to_string();
    fs::create_dir_all(path).with_context(named)?;
    let claim = OpenOptions::new().read(true).open(path).with_context(named)?;
    match claim.try_lock() {
        Err(TryLockError::WouldBlock) => Err(running(path)),
        // Where there are no locks, the run's own writer has to do.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(claim),
    }
}

/// Empties the folder at `path` of an older demo; fails if anything else is there. The folder itself stays: it may be a mount.
fn make_room(path: &Path) -> Result<()> {
    let entries = fs::read_dir(path).and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect());
    let names: Vec<OsString> = entries.with_context(|| path.display().to_string())?;
    let is_demo = names.iter().any(|name| name == STORY || name == SCRATCH);
    let run = RunDirectory::open(path).ok();
    match run.as_ref().map(RunDirectory::manifest) {
        Some(manifest) if is_demo && manifest.state == State::Running => return Err(running(path)),
        Some(manifest) if is_demo && manifest.run_id.starts_with(RUN_ID) => {}
        None if names.is_empty() => {}
        // A demo that was killed before it was a run.
        None if is_demo && names.iter().all(|name| BEGUN.iter().any(|begun| name == begun)) => {}
        _ => bail!("{}: holds something other than a demo; name another directory with --out", path.display()),
    }
    for name in names {
        let entry = path.join(name);
        let removed = if entry.is_dir() { fs::remove_dir_all(&entry) } else { fs::remove_file(&entry) };
        removed.with_context(|| entry.display().to_string())?;
    }
    Ok(())
}

/// What there is before the run's manifest.
const BEGUN: [&str; 4] = [SCRATCH, "raw", "clock", ".lock"];

fn running(path: &Path) -> anyhow::Error {
    anyhow!("{}: a demo is running there; wait for it, or name another directory with --out", path.display())
}
