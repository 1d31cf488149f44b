//! `rankscope run` as a process in a folder of its own.

#![allow(dead_code, clippy::unwrap_used, reason = "each test file uses its own part")]

use std::fs;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Longer than any wait takes on the slowest host.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder to run in.
pub(crate) struct Room(TempDir);

impl Room {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, with its folders.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes a file that can be run.
    pub(crate) fn program(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.file(name, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// `rankscope run` into the folder `run`, with `arguments` after that.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rankscope"));
        // What this test was told about a job is none of its job's business.
        for (name, _) in std::env::vars().filter(|(name, _)| OTHERS.iter().any(|prefix| name.starts_with(prefix))) {
            command.env_remove(name);
        }
        command.args(["run", "--out", "run"]).args(arguments).current_dir(self.path()).stdin(Stdio::null());
        command
    }

    /// What it says and how it ends.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        ended(self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// What it says when it is started without clocks and reports, which are beside the point.
    pub(crate) fn plain(&self, arguments: &[&str]) -> Output {
        self.run(&[&["--no-clock", "--no-report"], arguments].concat())
    }

    pub(crate) fn manifest(&self) -> Value {
        serde_json::from_slice(&fs::read(self.path().join("run/run.json")).unwrap()).unwrap()
    }

    /// Names in a folder of the run, sorted.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path().join("run").join(folder)) else { return Vec::new() };
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

const OTHERS: [&str; 9] = ["RANK", "WORLD_", "LOCAL_", "MASTER_", "XLA_", "SLURM_", "OMPI_", "PM", "TORCHELASTIC_"];

/// What a process said, as soon as it has ended.
///
/// # Panics
/// If it does not end.
pub(crate) fn ended(mut child: Child) -> Output {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("still running after {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

/// Returns as soon as `seen` is true.
///
/// # Panics
/// If it never is.
pub(crate) fn wait_for(what: &str, mut seen: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !seen() {
        assert!(begun.elapsed() < PATIENCE, "waited for {what} in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal by its name.
pub(crate) fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap().success());
}

/// Whether a process is there and no zombie.
pub(crate) fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
}

/// A process and all that it started, as far as they still know whose they are.
pub(crate) fn family(pid: u32) -> Vec<u32> {
    let processes =
        || fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let parents: Vec<(u32, u32)> = processes().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut family = vec![pid];
    let mut at = 0;
    while at < family.len() {
        let children = parents.iter().filter(|(_, parent)| *parent == family[at]).map(|(pid, _)| *pid);
        family.extend(children.collect::<Vec<_>>());
        at += 1;
    }
    family
}

/// Where these processes can be reached: TCP sockets that listen, and UDP sockets.
pub(crate) fn reachable(pids: &[u32]) -> Vec<SocketAddr> {
    let files = pids.iter().flat_map(|pid| fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten());
    let links: Vec<String> = files.filter_map(|file| Some(fs::read_link(file.path()).ok()?.display().to_string())).collect();
    let mut found = Vec::new();
    // LISTEN of TCP is 0A; a UDP socket that is bound is 07.
    for (table, state) in [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")] {
        let text = fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words[3] == state && links.contains(&format!("socket:[{}]", words[9])) {
                found.push(socket_address(words[1]));
            }
        }
    }
    found
}

/// `0100007F:1F90`: the kernel prints addresses as numbers of 32 bits in its own order of bytes.
fn socket_address(text: &str) -> SocketAddr {
    let (address, port) = text.split_once(':').unwrap();
    let words = (0..address.len()).step_by(8).map(|at| u32::from_str_radix(&address[at..at + 8], 16).unwrap());
    let bytes: Vec<u8> = words.flat_map(u32::to_ne_bytes).collect();
    let ip = match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(four) => IpAddr::from(four),
        Err(_) => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).unwrap()).into(),
    };
    SocketAddr::new(ip, u16::from_str_radix(port, 16).unwrap())
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
