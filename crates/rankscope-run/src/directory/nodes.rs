//! What each node says of itself, in a file of its own: nodes of a job need no lock in common.
//!
//! `nodes/node-<k>.json` holds the node's number, its host and its ranks. Readers put all of them together over what `run.json`
//! says; a part that cannot be read is named and costs only itself.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::manifest::{Manifest, NodeEntry, RankEntry, damage, write_durably};
use crate::open::{SideFile, read_side};
use crate::{Error, file_name, files_in, write_file};

/// What a node says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodePart {
    /// Its number.
    pub node: u32,
    /// Its name.
    pub host: String,
    /// The ranks that run on it.
    #[serde(default)]
    pub ranks: Vec<RankEntry>,
}

/// Writes the part of one node into `run`, over an older one of the same node.
///
/// # Errors
/// What the file system refuses.
pub fn node_part(run: &Path, part: &NodePart) -> Result<(), Error> {
    write_durably(&run.join(FOLDER).join(format!("node-{}.json", part.node)), part)
}

pub(super) const FOLDER: &str = "nodes";

/// Where it stands while the job runs: beside the pages of its ranks.
fn live_path(run: &Path, node: u32) -> PathBuf {
    run.join("live").join(format!("node-{node}.json"))
}

/// Writes which ranks one node has while the job runs, until [`live_part_ended`]. It is news, and need not outlive the machine.
///
/// # Errors
/// What the file system refuses.
pub fn live_part(run: &Path, part: &NodePart) -> Result<(), Error> {
    let path = live_path(run, part.node);
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(|error| Error::io(&path, error))?;
    write_file(&path, |file| serde_json::to_writer(file, part).map_err(|error| Error::io(&path, error.into())))
}

/// Takes it away: the job is over on that node.
pub fn live_part_ended(run: &Path, node: u32) {
    // Where it is gone already, somebody else has taken it away.
    let _gone = fs::remove_file(live_path(run, node));
}

/// What nodes say of themselves while the job runs. What cannot be read costs only itself.
pub fn live_parts(run: &Path) -> Vec<NodePart> {
    let is_part = |path: &PathBuf| {
        let name = file_name(path);
        name.starts_with("node-") && name.ends_with(".json")
    };
    files_in(&run.join("live")).unwrap_or_default().into_iter().filter(is_part).filter_map(|path| read(&path).ok()).collect()
}

/// Puts the parts of all nodes into `manifest`, and returns what could not be read.
pub(super) fn merge(run: &Path, manifest: &mut Manifest) -> Vec<Error> {
    let mut problems = Vec::new();
    let Ok(files) = files_in(&run.join(FOLDER)) else { return problems };
    for path in files {
        let name = file_name(&path);
        if !name.starts_with("node-") || !name.ends_with(".json") {
            continue;
        }
        match read(&path) {
            Ok(part) => add(manifest, part),
            Err(error) => problems.push(error),
        }
    }
    manifest.nodes.sort_by_key(|node| node.node);
    manifest.ranks.sort_by_key(|rank| rank.rank);
    problems
}

fn read(path: &Path) -> Result<NodePart, Error> {
    let bytes = read_side(path, SideFile::Record)?;
    serde_json::from_slice(&bytes).map_err(|error| damage(path.to_owned(), &bytes, &error))
}

/// The node's own word is newer than what stands in the manifest.
fn add(manifest: &mut Manifest, part: NodePart) {
    manifest.nodes.retain(|node| node.node != part.node);
    manifest.ranks.retain(|rank| rank.node != part.node && part.ranks.iter().all(|own| own.rank != rank.rank));
    for rank in part.ranks {
        let host = rank.host.or_else(|| Some(part.host.clone()));
        manifest.ranks.push(RankEntry { node: part.node, host, ..rank });
    }
    manifest.nodes.push(NodeEntry { node: part.node, host: part.host });
}
