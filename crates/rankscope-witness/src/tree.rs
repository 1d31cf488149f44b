//! Which processes of a job are its ranks: launchers and shells start them, and they start helpers.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use crate::process::{self, name_of, rank_of};

/// Processes that are looked at, at most.
const PROCESSES_MAX: usize = 65_536;

/// Programs that only start another.
const WRAPPERS: [&str; 9] = ["sh", "bash", "dash", "zsh", "env", "timeout", "nice", "numactl", "uv"];

/// Ranks among `pid` and all that it started, each by the first process that has its number in its environment.
pub fn ranks_below(pid: u32) -> Vec<(u32, u32)> {
    let mut ranks = BTreeMap::new();
    for pid in all_below(pid) {
        if let Some(rank) = rank_of(pid) {
            ranks.entry(rank).or_insert(pid);
        }
    }
    ranks.into_iter().map(|(rank, pid)| (rank, program_of(pid))).collect()
}

/// `pid` and all that it started, and they: who started others first.
pub fn all_below(pid: u32) -> Vec<u32> {
    let (mut all, mut left) = (Vec::new(), vec![pid]);
    while let Some(pid) = left.pop().filter(|_| all.len() < PROCESSES_MAX) {
        all.push(pid);
        left.extend(children(pid).into_iter().rev());
    }
    all
}

/// The process that does the work of `pid`: where that is a shell or the like with one child, the child.
pub fn program_of(pid: u32) -> u32 {
    let mut pid = pid;
    for _ in 0..DEPTH_MAX {
        let wraps = name_of(pid).is_some_and(|name| WRAPPERS.contains(&name.as_str()));
        match children(pid)[..] {
            [child] if wraps && is_settled(child) => pid = child,
            _ => break,
        }
    }
    pid
}

/// Whether `pid` lives for a while: what a loop of a shell starts is gone again before anybody has looked at it.
fn is_settled(pid: u32) -> bool {
    process::age(pid).is_some_and(|age| age >= SETTLED)
}

const SETTLED: Duration = Duration::from_secs(1);

/// Wrappers around wrappers.
const DEPTH_MAX: usize = 8;

fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let children = |thread: fs::DirEntry| process::read(&thread.path().join("children"));
    let listed = threads.filter_map(children);
    listed.flat_map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()).collect()
}
