//! What nodes that share no directory say to each other of an incident, as texts in the store by which their agents met.
//!
//! Whoever notices something raises it; the node that leads calls; every other one keeps its own end and says what that is; what the leader wants
//! of it comes in [pieces](super::pieces). Nothing that a node says is taken for a path before it is looked at.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use rankscope_probe::rendezvous::{KeyValueStore, StoreError};
use rankscope_run::now_unix_ns;
use rankscope_trace::rank_of_name;
use serde::{Deserialize, Serialize};

/// What is to be kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) because: String,
    pub(super) last_ms: u64,
    /// When the leader's wall clock said that it is called.
    pub(super) called_unix_ns: i64,
    /// When the leader's run began: whoever finds that in its own directory shares it.
    pub(super) started_unix_ns: i64,
}

/// What a node that does not lead has noticed, or was asked for there by hand: the leader keeps the end of all ranks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Raised {
    pub(super) because: String,
    pub(super) node: u32,
    pub(super) host: String,
    /// By hand: so much. What was noticed wants what the ring has.
    pub(super) last_ms: Option<u64>,
    /// When the node's wall clock said that it is raised.
    pub(super) raised_unix_ns: i64,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answer {
    /// Whose directory the folder is in.
    pub(super) host: String,
    /// The incident.
    pub(super) folder: Option<PathBuf>,
    /// Whether who asked does not see it, whatever else has its path there.
    #[serde(default)]
    pub(super) is_elsewhere: bool,
    /// What its report says first, where there is one yet.
    pub(super) summary: Option<String>,
    /// What is not in it, a sentence each.
    pub(super) lacks: Vec<String>,
    /// Why there is none.
    pub(super) problem: Option<String>,
}

/// What was said so long ago is over.
pub(super) fn is_stale(said_unix_ns: i64) -> bool {
    now_unix_ns().unwrap_or(0).saturating_sub(said_unix_ns) > STALE_NS
}

const STALE_NS: i64 = 30_000_000_000;

/// What a node says that it kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) host: String,
    /// Its directory is the leader's, which has all of it.
    pub(super) shares: bool,
    /// Where its part lies.
    pub(super) folder: PathBuf,
    pub(super) files: Vec<KeptFile>,
    /// Why it kept nothing.
    pub(super) problem: Option<String>,
}

/// A file of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptFile {
    /// From the folder.
    pub(super) name: String,
    pub(super) bytes: u64,
}

impl KeptFile {
    /// The rank that it is a recording of.
    pub(super) fn rank(&self) -> Option<u32> {
        let name = self.name.strip_prefix("raw/").filter(|name| !name.contains('/'))?;
        rank_of_name(name).map(|rank| rank.0)
    }

    /// Its path in a run directory, if it is one that a node may write there.
    pub(super) fn path(&self) -> Option<&Path> {
        let path = Path::new(&self.name);
        let words: Option<Vec<&str>> =
            path.components().map(|part| if let Component::Normal(word) = part { word.to_str() } else { None }).collect();
        let words = words?;
        let suffix = path.extension()?.to_str()?;
        let is_known = matches!((*words.first()?, suffix), ("raw" | "counters", "rkr") | ("clock", "jsonl"));
        (is_known && (2..=DEPTH_MAX).contains(&words.len())).then_some(path)
    }
}

/// Recordings of workers lie in a folder of their rank.
const DEPTH_MAX: usize = 4;

/// Whether the leader wants what a node kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Wish {
    Send,
    Leave,
}

/// Where what is, in the store.
pub(super) mod keys {
    pub(crate) const CALLS: &str = "ring/calls";
    pub(crate) const RAISED: &str = "ring/raised";

    /// What a node has noticed.
    pub(crate) fn raised(number: i64) -> String {
        format!("ring/raised/{number}")
    }

    /// What came of that.
    pub(crate) fn answer(number: i64) -> String {
        format!("ring/answer/{number}")
    }

    pub(crate) fn call(number: i64) -> String {
        format!("ring/call/{number}")
    }

    pub(crate) fn kept(number: i64, node: u32) -> String {
        format!("ring/kept/{number}/{node}")
    }

    pub(crate) fn wish(number: i64, node: u32) -> String {
        format!("ring/wish/{number}/{node}")
    }

    /// The piece of `node` that is to be taken. Each node has its own, so that one that was given up does not get into another's.
    pub(crate) fn piece(node: u32) -> String {
        format!("ring/piece/{node}")
    }

    /// Under which name it is.
    pub(crate) fn sent(node: u32) -> String {
        format!("ring/sent/{node}")
    }

    /// Which was taken last.
    pub(crate) fn taken(node: u32) -> String {
        format!("ring/taken/{node}")
    }
}

/// Why something did not come.
#[derive(Debug, thiserror::Error)]
pub(super) enum PostError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("what was said is not understood")]
    Foreign,
    #[error("nothing more came within {} s", after.as_secs())]
    TooLate { after: Duration },
}

/// Says something that is understood at the other end.
pub(super) fn say(store: &mut dyn KeyValueStore, key: &str, what: &impl Serialize) -> Result<(), PostError> {
    let text = serde_json::to_string(what).map_err(|_| PostError::Foreign)?;
    Ok(store.set(key, &text)?)
}

/// What was said, understood.
pub(super) fn understood<T: for<'a> Deserialize<'a>>(text: &str) -> Result<T, PostError> {
    serde_json::from_str(text).map_err(|_| PostError::Foreign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_lies_where_a_node_may_write_or_nowhere() {
        let path = |name: &str| KeptFile { name: name.to_owned(), bytes: 1 }.path().is_some();
        for name in ["raw/rank-1.rkr", "raw/rank-1.workers/9.rkr", "counters/host.rkr", "clock/snapshots-node1.jsonl"] {
            assert!(path(name), "{name}");
        }
        for name in [
            "",
            "rank-1.rkr",
            "/raw/rank-1.rkr",
            "raw/../../x.rkr",
            "raw/x.json",
            "clock/agents.key",
            "run.json",
            "nodes/node-0.json",
            "raw/a/b/c/d.rkr",
            "./raw/x.rkr",
        ] {
            assert!(!path(name), "{name}");
        }
    }
}
