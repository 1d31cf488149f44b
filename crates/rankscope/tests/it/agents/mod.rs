//! Processes that are watched, and never outlive their test.

#![expect(clippy::print_stderr, clippy::unwrap_used, reason = "it is part of a test, which says why it fails")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rankscope_clock::files::{read_offsets, read_windows};
use tempfile::TempDir;

/// Longer than any wait takes on the slowest host.
const PATIENCE: Duration = Duration::from_secs(30);

/// An agent that is asked to stop is gone after this time: a second, and what a loaded host adds.
const GONE_WITHIN: Duration = Duration::from_millis(1_500);

/// The binary, with arguments, and without what this process was told about a job.
pub(crate) fn rankscope(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankscope"));
    for (name, _) in std::env::vars().filter(|(name, _)| ["RANKSCOPE_", "XLA_", "SLURM_"].iter().any(|it| name.starts_with(it)))
    {
        command.env_remove(name);
    }
    command.args(arguments).stdin(Stdio::null());
    command
}

/// UDP ports of the loopback that nobody has.
pub(crate) fn free_ports<const N: usize>() -> [u16; N] {
    // All at once, so that no two are the same.
    let sockets = [(); N].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    sockets.map(|socket| socket.local_addr().unwrap().port())
}

/// The first of a few hundred ports, of which those at the start of each block of a hundred are free.
pub(crate) fn free_block() -> u16 {
    let free = |base: u16| {
        (0..3)
            .flat_map(|node| (0..8).map(move |port| base + 100 * node + port))
            .all(|port| UdpSocket::bind(("127.0.0.1", port)).is_ok())
    };
    let start = 20_000 + (std::process::id() % 10) as u16 * 1_000;
    (start..start + 900).step_by(300).find(|base| free(*base)).expect("ports below those that the kernel gives out")
}

/// Addresses for `--addresses`.
pub(crate) fn addresses(nodes: usize) -> String {
    let ports = free_ports::<8>();
    ports[..nodes].iter().map(|port| format!("127.0.0.1:{port}")).collect::<Vec<_>>().join(",")
}

/// Returns as soon as `seen` is true.
///
/// # Panics
/// If it never is.
pub(crate) fn wait_for(what: &str, mut seen: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !seen() {
        assert!(begun.elapsed() < PATIENCE, "waited for {what} in vain");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A process; it is killed where a test gives it up.
pub(crate) struct Running(Option<Child>);

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        Self(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
    }

    /// What it said, as soon as it has ended.
    ///
    /// # Panics
    /// If it goes on for longer than `patience`.
    pub(crate) fn ended(mut self, patience: Duration) -> Output {
        let begun = Instant::now();
        while self.is_running() {
            assert!(begun.elapsed() < patience, "still running after {patience:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        self.0.take().unwrap().wait_with_output().unwrap()
    }

    pub(crate) fn terminate(&self) {
        let pid = self.0.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").arg(&pid).status().unwrap().success());
    }

    fn is_running(&mut self) -> bool {
        self.0.as_mut().is_some_and(|child| child.try_wait().unwrap().is_none())
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (0..self.nodes.len()).for_each(|node| eprintln!("node {node}: {}", self.log(node)));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _gone = child.kill().and_then(|()| child.wait());
        }
    }
}

/// Agents that meet in a folder and write into one.
pub(crate) struct Fleet {
    nodes: Vec<Running>,
    settings: Vec<String>,
    folder: TempDir,
}

impl Fleet {
    pub(crate) fn start(nodes: u32, settings: &[&str]) -> Self {
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let mut fleet = Self { nodes: Vec::new(), settings, folder: tempfile::tempdir().unwrap() };
        fleet.nodes = (0..nodes).map(|node| fleet.agent(node, nodes)).collect();
        fleet
    }

    fn agent(&self, node: u32, nodes: u32) -> Running {
        let meet = format!("file://{}", self.folder.path().join("meet").display());
        let (node, nodes) = (node.to_string(), nodes.to_string());
        let mut command =
            rankscope(&["agent", "--rank", &node, "--num-nodes", &nodes, "--rendezvous", &meet, "--out", &self.out()]);
        let usual = ["probe-window-s=0.5", "interfaces=lo", "run-id=test"];
        command.args(usual.into_iter().chain(self.settings.iter().map(String::as_str)).flat_map(|setting| ["--set", setting]));
        let log = File::options().create(true).append(true).open(self.log_path(&node)).unwrap();
        Running(Some(command.stdout(Stdio::null()).stderr(log).spawn().unwrap()))
    }

    /// Starts an agent again that was killed.
    pub(crate) fn begin(&mut self, node: u32) {
        self.nodes[node as usize] = self.agent(node, self.nodes.len() as u32);
    }

    pub(crate) fn kill(&mut self, node: usize) {
        drop(Running(self.nodes[node].0.take()));
    }

    /// Asks all to stop, and checks that they do and what they leave.
    pub(crate) fn stop_all(&mut self) {
        let living: Vec<usize> = (0..self.nodes.len()).filter(|node| self.nodes[*node].0.is_some()).collect();
        living.iter().for_each(|node| self.nodes[*node].terminate());
        let begun = Instant::now();
        for node in living {
            while self.nodes[node].is_running() {
                assert!(begun.elapsed() < GONE_WITHIN, "node {node} does not stop: {}", self.log(node));
                std::thread::sleep(Duration::from_millis(10));
            }
            let status = self.nodes[node].0.as_mut().unwrap().wait().unwrap();
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
