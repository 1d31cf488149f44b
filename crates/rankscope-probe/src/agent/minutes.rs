//! What a meeting agreed on, as one node must know it, and as it is kept in a file.
//!
//! An agent that is started again in the middle of its job finds the minutes of the first meeting and goes on from there: the
//! others are probing and meet nobody any more. Minutes hold the job's secret, so the file is for its owner alone, and one that
//! others could have written is not read. Who ends well takes its minutes away.
//!
//! Beside them stands the constant of the host clock. An agent that took another one would seem to the others to have a clock that was
//! set, within windows that are open, by too little to be noticed.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use rankscope_clock::graph::EdgePorts;
use rankscope_clock::graph::keys::Neighbourhood;
use rankscope_clock::{Edge, NodeId};
use rankscope_time::Span;
use serde::{Deserialize, Serialize};

use crate::clocks::HostTime;
use crate::key::SharedKey;
use crate::private;

/// What the host clock of a node adds to the raw clock of one boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostConstant {
    /// Which boot; none where the kernel does not say.
    boot: Option<String>,
    host_minus_raw_ns: i64,
}

impl HostConstant {
    /// One by which the host clock shows the time of day now.
    pub fn of_now() -> Self {
        Self { boot: boot(), host_minus_raw_ns: HostTime::time_of_day_shift().as_nanos() }
    }

    /// What is added.
    pub fn shift(&self) -> Span {
        Span::from_nanos(self.host_minus_raw_ns)
    }

    /// Whether the raw clock has counted through since. Where nobody knows, it may not have.
    fn holds(&self) -> bool {
        self.boot.is_some() && self.boot == boot()
    }
}

fn boot() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// What one node takes home from a meeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minutes {
    /// Tells packets of this run from others'.
    pub run: u64,
    /// Signs them.
    pub secret: SharedKey,
    /// Of all nodes, by node: the single port, or the one for control.
    pub addresses: Vec<SocketAddr>,
    /// The edges that touch this node, with their ports.
    pub edges: Neighbourhood,
    /// Whether every edge has ports of its own.
    pub per_edge: bool,
}

impl Minutes {
    /// Keeps the minutes and the node's `constant` for a later start of the same node of the same run.
    ///
    /// # Errors
    /// Whatever the file system answers.
    pub fn keep(&self, path: &Path, run_id: &str, node: NodeId, constant: &HostConstant) -> io::Result<()> {
        let rows = |edges: &[(Edge, EdgePorts)]| {
            edges.iter().map(|(edge, ports)| (edge.src.0, edge.dst.0, ports.listen, ports.response)).collect()
        };
        let row = Row {
            run_id: run_id.to_owned(),
            node: node.0,
            run: self.run,
            secret: self.secret.reveal().to_vec(),
            addresses: self.addresses.clone(),
            out: rows(&self.edges.out),
            back: rows(&self.edges.back),
            per_edge: self.per_edge,
            constant: Some(constant.clone()),
        };
        private::replace(path, &serde_json::to_vec(&row)?)
    }

    /// The minutes that this node kept in this run, and the constant of its host clock if that still holds; none where there are none,
    /// or they are another's, or others could have written them.
    pub fn kept(path: &Path, run_id: &str, node: NodeId) -> Option<(Self, Option<HostConstant>)> {
        let row: Row = serde_json::from_slice(&private::read(path, FILE_BYTES_MAX).ok()?).ok()?;
        if row.run_id != run_id || row.node != node.0 {
            return None;
        }
        let edges = |rows: Vec<(u32, u32, u16, u16)>| {
            let edge =
                |(src, dst, listen, response)| (Edge { src: NodeId(src), dst: NodeId(dst) }, EdgePorts { listen, response });
            rows.into_iter().map(edge).collect()
        };
        let neighbourhood = Neighbourhood { out: edges(row.out), back: edges(row.back) };
        let Row { run, secret, addresses, per_edge, constant, .. } = row;
        let secret = SharedKey::new(secret)?;
        let constant = constant.filter(HostConstant::holds);
        Some((Self { run, secret, addresses, edges: neighbourhood, per_edge }, constant))
    }

    /// The edges without their ports.
    pub fn plain_edges(&self) -> Vec<Edge> {
        self.edges.out.iter().chain(&self.edges.back).map(|(edge, _)| *edge).collect()
    }
}

/// Of ten thousand nodes they take less than one.
const FILE_BYTES_MAX: usize = 16 << 20;

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
    #[serde(default)]
    constant: Option<HostConstant>,
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn minutes_are_kept_for_their_owner_alone() {
        let edge = Edge { src: NodeId(0), dst: NodeId(1) };
        let out = vec![(edge, EdgePorts { listen: 20_100, response: 20_000 })];
        let minutes = Minutes {
            run: u64::MAX,
            secret: SharedKey::new([1, 2, 255]).unwrap(),
            addresses: vec!["10.0.0.1:9".parse().unwrap(), "[fd00::1]:10".parse().unwrap()],
            edges: Neighbourhood { out, back: Vec::new() },
            per_edge: true,
        };
        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join("minutes.json"), folder.path().join("victim"));
        // Others may write to the folder, and were there first.
        fs::write(&victim, "untouched").unwrap();
        symlink(&victim, &path).unwrap();
        symlink(&victim, path.with_extension("new")).unwrap();
        let constant = HostConstant::of_now();
        minutes.keep(&path, "job 7", NodeId(0), &constant).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"untouched");
        assert_eq!(Minutes::kept(&path, "job 7", NodeId(0)), Some((minutes.clone(), Some(constant.clone()))));
        assert_eq!(Minutes::kept(&path, "job 8", NodeId(0)), None);
        assert_eq!(Minutes::kept(&path, "job 7", NodeId(1)), None);
        let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        mode(0o606);
        assert_eq!(Minutes::kept(&path, "job 7", NodeId(0)), None, "anybody could have written that");
        mode(0o600);
        let elsewhere = HostConstant { boot: Some("another boot".to_owned()), ..constant };
        minutes.keep(&path, "job 7", NodeId(0), &elsewhere).unwrap();
        assert_eq!(Minutes::kept(&path, "job 7", NodeId(0)), Some((minutes, None)), "the raw clock began anew");
        fs::write(&path, b"{").unwrap();
        assert_eq!(Minutes::kept(&path, "job 7", NodeId(0)), None);
    }
}
