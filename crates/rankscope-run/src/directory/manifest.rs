//! `run.json`: what a run is, as far as it is known.
//!
//! Keys that this version does not know are ignored when it is read and kept when it is written again, at the top and in the
//! entries of lists; so an older program may touch the run of a newer one. A file that cannot be read is an error with the
//! place of the damage; nothing is guessed from half a manifest.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ends::RankEnd;
use super::profiled::ProfiledWindow;
use crate::open::{SideFile, read_side};
use crate::{Error, folder_of, write_file};

/// What a run is, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Of this file; 1.
    pub schema: u32,
    /// The name that all processes of the run share.
    pub run_id: String,
    /// What was run, the program first.
    #[serde(default)]
    pub command: Vec<String>,
    /// How far it is.
    #[serde(default)]
    pub state: State,
    /// Ranks in the job, where known.
    #[serde(default)]
    pub world_size: Option<u32>,
    /// Hosts, in order of their numbers.
    #[serde(default)]
    pub nodes: Vec<NodeEntry>,
    /// Ranks, in order of their numbers.
    #[serde(default)]
    pub ranks: Vec<RankEntry>,
    /// The node whose clock is the reference.
    #[serde(default)]
    pub reference_node: u32,
    /// Every time the run was begun, oldest first.
    #[serde(default)]
    pub attempts: Vec<Attempt>,
    /// Programs that wrote into the run, with their versions.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
    /// What lay in the directory when the run ended.
    #[serde(default)]
    pub files: Vec<FileEntry>,
    /// Which run of a sweep this is, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepEntry>,
}

/// A run's place in a sweep over configurations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepEntry {
    /// The label of its configuration.
    pub configuration: String,
    /// What that sets in the environment of the job, by variable.
    pub set: BTreeMap<String, String>,
    /// Which repetition of the configuration it is, from 1; 0 for a warm-up.
    pub round: u32,
    /// Whether it only warmed the machine up and is not to be compared.
    #[serde(default)]
    pub warm_up: bool,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Its writer is at work.
    Running,
    /// It ended as it should.
    Finished,
    /// Its command ended with an exit code other than 0, or by a signal.
    Failed,
    /// It is over, and how it ended is not known: its writer died.
    #[default]
    #[serde(other)]
    Ended,
}

impl State {
    /// As it stands in the manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Ended => "ended",
        }
    }
}

/// A host of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeEntry {
    /// Its number, which the files in `clock/` carry.
    pub node: u32,
    /// Its name.
    #[serde(default)]
    pub host: String,
}

/// A rank of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankEntry {
    /// Its number.
    pub rank: u32,
    /// The node it runs on.
    #[serde(default)]
    pub node: u32,
    /// The name of that host, where known.
    #[serde(default)]
    pub host: Option<String>,
    /// The process on it, where known.
    #[serde(default)]
    pub pid: Option<u32>,
}

/// One beginning of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// From 0.
    pub number: u32,
    /// When it began, in nanoseconds since 1970.
    #[serde(default)]
    pub started_unix_ns: i64,
    /// When it ended; unknown for one that runs and for one whose writer died.
    #[serde(default)]
    pub ended_unix_ns: Option<i64>,
    /// How it ended.
    #[serde(default)]
    pub exit: Option<Exit>,
    /// The signal by which somebody told it to end before any rank failed.
    #[serde(default)]
    pub asked_by_signal: Option<i32>,
    /// How its ranks ended, as far as that is known.
    #[serde(default)]
    pub ends: Vec<RankEnd>,
    /// Steps that were to be profiled from outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiled: Vec<ProfiledWindow>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Exit {
    /// Whether it ended as it should.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

/// A file of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// From the run directory, with `/` between folders.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Its BLAKE3 hash, in hexadecimal.
    pub blake3: String,
}

/// The schema this program writes.
pub(crate) const SCHEMA: u32 = 1;

pub(crate) fn path_in(run: &Path) -> PathBuf {
    run.join("run.json")
}

/// A manifest with the text it was read from, whose other keys have to last.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) manifest: Manifest,
    stored: Map<String, Value>,
}

impl Document {
    pub(crate) fn new(manifest: Manifest) -> Self {
        Self { manifest, stored: Map::new() }
    }

    pub(crate) fn read(run: &Path) -> Result<Self, Error> {
        let path = path_in(run);
        let bytes = read_side(&path, SideFile::Record).map_err(|error| match error {
            Error::Io { reason, .. } if reason.kind() == std::io::ErrorKind::NotFound => {
                Error::NotARun { path: run.to_owned() }
            }
            other => other,
        })?;
        let damaged = |error: serde_json::Error| damage(path.clone(), &bytes, &error);
        let manifest: Manifest = serde_json::from_slice(&bytes).map_err(damaged)?;
        if manifest.schema > SCHEMA {
            return Err(Error::LaterSchema { path, schema: manifest.schema });
        }
        Ok(Self { manifest, stored: serde_json::from_slice(&bytes).map_err(damaged)? })
    }

    /// Writes it, whole and so that it outlasts a power failure.
    pub(crate) fn write(&mut self, run: &Path) -> Result<(), Error> {
        let path = path_in(run);
        let encoded = |error: serde_json::Error| Error::io(&path, error.into());
        let Value::Object(known) = serde_json::to_value(&self.manifest).map_err(encoded)? else { return Ok(()) };
        overlay(&mut self.stored, known);
        write_durably(&path, &self.stored)
    }
}

/// Writes `value` as JSON into the file `path`, whole, and returns when it is on the disk.
pub(crate) fn write_durably(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    write_file(path, |writer| {
        let failed = |error| Error::io(path, error);
        serde_json::to_writer_pretty(&mut *writer, value).map_err(|error| failed(error.into()))?;
        writer.write_all(b"\n").and_then(|()| writer.flush()).map_err(failed)?;
        writer.get_ref().sync_all().map_err(failed)
    })?;
    sync_parent(path)
}

/// A name is on the disk when its folder is.
pub(super) fn sync_parent(path: &Path) -> Result<(), Error> {
    let parent = folder_of(path);
    OpenOptions::new().read(true).open(parent).and_then(|folder| folder.sync_all()).map_err(|error| Error::io(parent, error))
}

/// Lays what is known over what was stored. An entry of a list is the same entry as before if the key that numbers it is equal.
fn overlay(stored: &mut Map<String, Value>, known: Map<String, Value>) {
    for (key, mut value) in known {
        let identity = LISTS.iter().find(|(list, _)| *list == key).map(|(_, identity)| *identity);
        if let (Some(identity), Value::Array(entries), Some(Value::Array(before))) = (identity, &mut value, stored.get(&key)) {
            keep_other_keys(identity, before, entries);
        }
        stored.insert(key, value);
    }
}

/// Lists, with the key that tells one entry from another.
const LISTS: [(&str, &str); 5] =
    [("nodes", "node"), ("ranks", "rank"), ("attempts", "number"), ("ends", "rank"), ("files", "path")];

fn keep_other_keys(identity: &str, before: &[Value], entries: &mut [Value]) {
    let before: BTreeMap<String, &Map<String, Value>> = before
        .iter()
        .filter_map(Value::as_object)
        .filter_map(|entry| Some((entry.get(identity)?.to_string(), entry)))
        .collect();
    for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
        let Some(old) = entry.get(identity).and_then(|own| before.get(&own.to_string())) else { continue };
        let mut merged = (*old).clone();
        overlay(&mut merged, std::mem::take(entry));
        *entry = merged;
    }
}

/// Where and why `bytes` are no manifest.
pub(super) fn damage(path: PathBuf, bytes: &[u8], error: &serde_json::Error) -> Error {
    let before: usize =
        bytes.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    let offset = (before + error.column()).min(bytes.len());
    let reason = error.to_string();
    let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |(reason, _)| reason).to_owned();
    Error::DamagedManifest { path, offset, bytes: bytes.len(), reason }
}
