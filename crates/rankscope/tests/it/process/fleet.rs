//! Agents as processes of this host, and what they leave.

#![expect(clippy::print_stderr, clippy::unwrap_used, reason = "it is part of a test, which says why it fails")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Stdio;

use rankscope_clock::files::{read_offsets, read_windows};
use tempfile::TempDir;

use super::{Running, command, wait_for};

/// Agents that meet in a folder and write into one.
pub(crate) struct Fleet {
    /// None for one that was killed or has ended.
    nodes: Vec<Option<Running>>,
    /// Of each.
    settings: Vec<Vec<String>>,
    folder: TempDir,
}

impl Fleet {
    /// Nodes that are all told the same.
    pub(crate) fn start(nodes: u32, settings: &[&str]) -> Self {
        Self::of(&vec![settings.to_vec(); nodes as usize])
    }

    /// Nodes that are told each its own.
    pub(crate) fn of(settings: &[Vec<&str>]) -> Self {
        let nodes = settings.len() as u32;
        let settings = settings.iter().map(|of| of.iter().map(|setting| (*setting).to_owned()).collect()).collect();
        let mut fleet = Self { nodes: Vec::new(), settings, folder: tempfile::tempdir().unwrap() };
        fleet.nodes = (0..nodes).map(|node| Some(fleet.agent(node, nodes))).collect();
        fleet
    }

    fn agent(&self, node: u32, nodes: u32) -> Running {
        let meet = format!("file://{}", self.folder.path().join("meet").display());
        let settings = &self.settings[node as usize];
        let (node, nodes) = (node.to_string(), nodes.to_string());
        let mut command =
            command(&["agent", "--rank", &node, "--num-nodes", &nodes, "--rendezvous", &meet, "--out", &self.out()]);
        let usual = ["probe-window-s=0.5", "interfaces=lo", "run-id=test"];
        command.args(usual.into_iter().chain(settings.iter().map(String::as_str)).flat_map(|setting| ["--set", setting]));
        let log = File::options().create(true).append(true).open(self.log_path(&node)).unwrap();
        Running::of(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    /// Starts an agent again that was killed.
    pub(crate) fn begin(&mut self, node: u32) {
        self.nodes[node as usize] = Some(self.agent(node, self.nodes.len() as u32));
    }

    pub(crate) fn kill(&mut self, node: usize) {
        self.nodes[node] = None;
    }

    /// Asks all to stop, and checks that they do and what they leave.
    pub(crate) fn stop_all(&mut self) {
        self.nodes.iter().flatten().for_each(Running::terminate);
        for node in 0..self.nodes.len() {
            let Some(agent) = self.nodes[node].take() else { continue };
            let status = agent.ended().status;
            assert!(status.success(), "node {node}: {}", self.log(node));
            let name = format!("windows-node{node}.jsonl");
            let file = read_windows(&name, &self.read(&name));
            assert!(file.damaged.is_empty() && file.header.is_some() && !file.windows.is_empty(), "{:?}", file.damaged);
            assert!(self.read(&format!("minutes-node{node}.json")).is_empty(), "node {node} leaves its secret lying");
        }
        assert_eq!(read_offsets(&self.read("offsets.jsonl")).damaged, []);
    }

    /// Windows of `node`, whether anybody answered or not.
    pub(crate) fn windows(&self, node: usize) -> usize {
        let name = format!("windows-node{node}.jsonl");
        read_windows(&name, &self.read(&name)).windows.len()
    }

    /// Windows of `node` in which an edge has a line.
    pub(crate) fn fitted(&self, node: usize) -> usize {
        let name = format!("windows-node{node}.jsonl");
        let windows = read_windows(&name, &self.read(&name)).windows;
        windows.iter().filter(|window| window.edges.iter().any(|edge| edge.fits.iter().any(Result::is_ok))).count()
    }

    /// Rounds in which anybody was placed, by whichever master.
    pub(crate) fn rounds(&self) -> BTreeSet<u64> {
        let rows = read_offsets(&self.read("offsets.jsonl")).rows;
        rows.iter().filter(|row| row.estimate.is_some()).map(|row| row.round).collect()
    }

    pub(crate) fn wait_for(&self, what: &str, seen: impl Fn(&Self) -> bool) {
        wait_for(what, || seen(self));
    }

    /// A file that agents left; empty where there is none.
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.path().join("out").join(name)).unwrap_or_default()
    }

    pub(crate) fn out(&self) -> String {
        self.folder.path().join("out").display().to_string()
    }

    pub(crate) fn log(&self, node: usize) -> String {
        fs::read_to_string(self.log_path(&node.to_string())).unwrap_or_default()
    }

    fn log_path(&self, node: &str) -> PathBuf {
        self.folder.path().join(format!("agent{node}.log"))
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (0..self.nodes.len()).for_each(|node| eprintln!("node {node}: {}", self.log(node)));
        }
    }
}
