//! What a meeting agreed on, as one node must know it, and as it is kept in a file.
//!
//! An agent that is started again in the middle of its job finds the minutes of the first meeting and goes on from there: the
//! others are probing and meet nobody any more. Minutes hold the job's secret, so only their owner may read the file.

use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rankscope_clock::graph::EdgePorts;
use rankscope_clock::graph::keys::Neighbourhood;
use rankscope_clock::{Edge, NodeId};
use serde::{Deserialize, Serialize};

/// What one node takes home from a meeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minutes {
    /// Tells packets of this run from others'.
    pub run: u64,
    /// Signs them.
    pub secret: Vec<u8>,
    /// Of all nodes, by node: the single port, or the one for control.
    pub addresses: Vec<SocketAddr>,
    /// The edges that touch this node, with their ports.
    pub edges: Neighbourhood,
    /// Whether every edge has ports of its own.
    pub per_edge: bool,
}

impl Minutes {
    /// Keeps the minutes for a later start of the same node of the same run.
    ///
    /// # Errors
    /// Whatever the file system answers.
    pub fn keep(&self, path: &Path, run_id: &str, node: NodeId) -> io::Result<()> {
        let rows = |edges: &[(Edge, EdgePorts)]| {
            edges.iter().map(|(edge, ports)| (edge.src.0, edge.dst.0, ports.listen, ports.response)).collect()
        };
        let row = Row {
            run_id: run_id.to_owned(),
            node: node.0,
            run: self.run,
            secret: self.secret.clone(),
            addresses: self.addresses.clone(),
            out: rows(&self.edges.out),
            back: rows(&self.edges.back),
            per_edge: self.per_edge,
        };
        let beside = path.with_extension("new");
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(&serde_json::to_vec(&row)?)?;
        fs::rename(beside, path)
    }

    /// The minutes that this node kept in this run; none where there are none, or they are another's.
    pub fn kept(path: &Path, run_id: &str, node: NodeId) -> Option<Self> {
        let row: Row = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        if row.run_id != run_id || row.node != node.0 {
            return None;
        }
        let edges = |rows: Vec<(u32, u32, u16, u16)>| {
            let edge =
                |(src, dst, listen, response)| (Edge { src: NodeId(src), dst: NodeId(dst) }, EdgePorts { listen, response });
            rows.into_iter().map(edge).collect()
        };
        let neighbourhood = Neighbourhood { out: edges(row.out), back: edges(row.back) };
        let Row { run, secret, addresses, per_edge, .. } = row;
        Some(Self { run, secret, addresses, edges: neighbourhood, per_edge })
    }

    /// The edges without their ports.
    pub fn plain_edges(&self) -> Vec<Edge> {
        self.edges.out.iter().chain(&self.edges.back).map(|(edge, _)| *edge).collect()
    }
}

#[derive(Serialize, Deserialize)]
struct Row {
    run_id: String,
    node: u32,
    run: u64,
    secret: Vec<u8>,
    addresses: Vec<SocketAddr>,
    /// Source, destination, listening port, response port.
    out: Vec<(u32, u32, u16, u16)>,
    back: Vec<(u32, u32, u16, u16)>,
    per_edge: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_kept_for_their_owner_alone() {
        let edge = Edge { src: NodeId(0), dst: NodeId(1) };
        let out = vec![(edge, EdgePorts { listen: 20_100, response: 20_000 })];
        let minutes = Minutes {
            run: u64::MAX,
            secret: vec![1, 2, 255],
            addresses: vec!["10.0.0.1:9".parse().unwrap(), "[fd00::1]:10".parse().unwrap()],
            edges: Neighbourhood { out, back: Vec::new() },
            per_edge: true,
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("minutes.json");
        minutes.keep(&path, "job 7", NodeId(0)).unwrap();
        assert_eq!(Minutes::kept(&path, "job 7", NodeId(0)), Some(minutes));
        assert_eq!(Minutes::kept(&path, "job 8", NodeId(0)), None);
        assert_eq!(Minutes::kept(&path, "job 7", NodeId(1)), None);
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o077, 0, "nobody else may read the secret");
        fs::write(&path, b"{").unwrap();
        assert_eq!(Minutes::kept(&path, "job 7", NodeId(0)), None);
    }
}
