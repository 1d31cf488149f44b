//! Folders with traces of the testkit, and requests about them.

use std::fs;
use std::path::{Path, PathBuf};

use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_job::{Cards, Judging, Rules, TableSet};
use rankscope_pipeline::{Judged, Keep, Mapping, Quiet, Reading, Request, judged_files};
use rankscope_run::InputFile;
use rankscope_testkit::{Dialect, Job, NodeClock};
use tempfile::TempDir;

/// Ranks of every job here.
pub(crate) const RANKS: u32 = 3;

fn job() -> Job {
    Job { ranks: RANKS, steps: 2, layers: 2, ops_per_step: 8, python_frames: 1, ..Job::default() }
}

/// What `rank` exported as the window of this number: the same steps again, a minute later each.
pub(crate) fn export(rank: u32, window: u32) -> Vec<u8> {
    let later = NodeClock { offset_ns: i64::from(window) * 60_000_000_000, drift_ppb: 0 };
    Job { clocks: vec![later], ..job() }.rank_bytes(rank, &Dialect::default())
}

/// A job as it lies on a disk.
pub(crate) struct Folder {
    at: TempDir,
    pub(crate) files: Vec<InputFile>,
}

impl Folder {
    fn empty() -> Self {
        Self { at: tempfile::tempdir().expect("a temporary directory"), files: Vec::new() }
    }

    fn add(&mut self, name: &str, bytes: &[u8], earlier: bool) {
        let path = self.at.path().join(name);
        fs::write(&path, bytes).expect("written");
        self.files.push(InputFile { path, named: false, earlier });
    }

    /// One file a rank.
    pub(crate) fn of_files() -> Self {
        let mut folder = Self::empty();
        (0..RANKS).for_each(|rank| folder.add(&format!("rank{rank}.json"), &export(rank, 0), false));
        folder
    }

    /// Three exports a rank, two of them kept aside by a run.
    pub(crate) fn of_exports() -> Self {
        let mut folder = Self::empty();
        for rank in 0..RANKS {
            (0..3).for_each(|window| folder.add(&format!("rank{rank}.{window}.json"), &export(rank, window), window < 2));
        }
        folder
    }

    /// All ranks in one archive, two exports each.
    pub(crate) fn of_archive() -> Self {
        let mut archive = tar::Builder::new(Vec::new());
        for (rank, window) in (0..RANKS).flat_map(|rank| [(rank, 0), (rank, 1)]) {
            let bytes = export(rank, window);
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, format!("rank{rank}.{window}.json"), bytes.as_slice()).expect("appended");
        }
        let mut folder = Self::empty();
        folder.add("job.tar", &archive.into_inner().expect("finished"), false);
        folder
    }

    /// Exports, an archive, and what is no trace.
    pub(crate) fn of_everything() -> Self {
        let mut folder = Self::of_exports();
        let archive = Self::of_archive();
        folder.add("job.tar", &fs::read(archive.path("job.tar")).expect("there"), false);
        folder.add("notes.txt", b"what we saw today", false);
        folder.add("rank7.json", b"{\"traceEvents\": [{\"ph\"", false);
        folder.add("empty.json", b"", true);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.at.path().join(name)
    }

    pub(crate) fn root(&self) -> &Path {
        self.at.path()
    }

    /// Judged, with as many of its traces kept as `keep` says.
    pub(crate) fn judged(&self, keep: Keep) -> Judged {
        let request =
            Request { paths: vec![self.root().to_owned()], clocks: None, mapping: mapping(keep), judging: Judging::default() };
        judged_files(&request, &self.files, &Quiet).expect("it can be judged")
    }
}

/// Everything of every trace.
pub(crate) fn mapping(keep: Keep) -> Mapping {
    let reading = Reading { args: ArgsPolicy::All, scope: Scope::All };
    Mapping { reading, rules: Rules::default(), keep, cards: Cards::default(), tables: TableSet::ALL }
}
