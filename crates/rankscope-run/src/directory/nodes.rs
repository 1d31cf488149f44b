//! What each node says of itself, in a file of its own: nodes of a job need no lock in common.
//!
//! `nodes/node-<k>.json` holds the node's number, its host and its ranks. Readers put all of them together over what `run.json`
//! says; a part that cannot be read is named and costs only itself.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::manifest::{Manifest, NodeEntry, RankEntry, damage, write_durably};
use crate::open::{SideFile, read_side};
use crate::{Error, file_name, files_in};

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
