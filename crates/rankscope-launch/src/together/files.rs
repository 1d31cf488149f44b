//! The files by which nodes are asked and answer, in a folder that they all see.
//!
//! ```text
//! on-demand/agent-<k>.json       node k can be asked
//! on-demand/<n>/request.json     somebody asks
//!               start.json       when, by the reference clock: the leading node's word
//!               node-<k>.json    what node k did, replaced each time
//!               trace_<p>.json   what process p wrote, until it is collected
//! ```
//!
//! Each appears whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rankscope_run::{SideFile, read_side};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The folder, in the run directory.
pub(crate) const FOLDER: &str = "on-demand";

/// The name of the request in its folder.
pub(super) const REQUEST: &str = "request.json";

/// The leading node's word.
pub(super) const START: &str = "start.json";

/// What somebody asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) schema: u32,
    pub(super) in_ms: u64,
    pub(super) duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) iterations: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ranks: Option<Vec<u32>>,
}

/// When.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    pub(super) reference_ns: i64,
}

/// What one node did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NodeWord {
    pub(super) node: u32,
    /// By its own wall clock.
    pub(super) start_ms: i64,
    /// Whether its clock was known.
    pub(super) is_aligned: bool,
    /// Ranks that are to profile, that have another profile waiting, and whose traces were collected.
    pub(super) asked: Vec<u32>,
    pub(super) busy: Vec<u32>,
    pub(super) collected: Vec<u32>,
    /// Nothing more will come.
    pub(super) is_over: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
}

/// The requests of a run, by their numbers.
pub(super) fn requests(folder: &Path) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let number = |entry: fs::DirEntry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path()));
    let mut requests: Vec<(u32, PathBuf)> =
        entries.filter_map(number).filter(|(_, path)| path.join(REQUEST).is_file()).collect();
    requests.sort();
    requests
}

/// Nodes that can be asked.
pub(super) fn agents(folder: &Path) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let node = |name: &str| name.strip_prefix("agent-")?.strip_suffix(".json")?.parse().ok();
    let mut nodes: Vec<u32> = entries.filter_map(|entry| node(entry.file_name().to_str()?)).collect();
    nodes.sort_unstable();
    nodes
}

pub(super) fn agent_name(node: u32) -> String {
    format!("agent-{node}.json")
}

pub(super) fn word_name(node: u32) -> String {
    format!("node-{node}.json")
}

/// What the file says; nothing where there is none yet.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&read_side(path, SideFile::Record).ok()?).ok()
}

/// Writes a file that appears whole.
pub(crate) fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let new = path.with_extension(format!("new-{}", std::process::id()));
    fs::write(&new, serde_json::to_vec(value)?)?;
    fs::rename(&new, path)
}
