//! Who belongs to a job, and what each holds, as the kernel says. A process that ends while it is looked at is passed over.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// A process and what it does, the verb of its command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) verb: String,
}

/// What a process held at one look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holding {
    /// Of its own: mapped files are the kernel's to keep or to drop.
    pub(super) own_kb: u64,
    pub(super) threads: u64,
    pub(super) files: u64,
}

/// The processes `roots` and all that came from them, by their numbers, as far as they run a program of the name `program`.
pub(super) fn descendants(roots: &[u32], program: &str) -> Result<Vec<Process>> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").context("failed to list /proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if let Some(parent) = fs::read_to_string(format!("/proc/{pid}/stat")).ok().as_deref().and_then(parent) {
            parents.push((pid, parent));
        }
    }
    let mut found = roots.to_vec();
    let mut next = 0;
    while let Some(of) = found.get(next).copied() {
        found.extend(parents.iter().filter(|(_, parent)| *parent == of).map(|(pid, _)| pid));
        next += 1;
    }
    found.sort_unstable();
    found.dedup();
    Ok(found.into_iter().filter_map(|pid| Some(Process { pid, verb: verb(pid, program)? })).collect())
}

impl Process {
    /// What it holds now; none if it is gone.
    pub(super) fn holding(&self) -> Option<Holding> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let files = fs::read_dir(format!("/proc/{}/fd", self.pid)).ok()?.count() as u64;
        Some(Holding { own_kb: number("RssAnon:")? + number("RssShmem:")?, threads: number("Threads:")?, files })
    }
}

/// The fourth field of its stat line, behind a name that may hold anything.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn verb(pid: u32, program: &str) -> Option<String> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = words.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    // What came before the program, as setsid, is no verb.
    words.find(|word| Path::new(word.as_ref()).file_name().is_some_and(|name| name == program))?;
    words.next().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_child_of_a_child_is_found_with_its_verb_and_what_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("rankscope-7");
        std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
        let mut shell = Command::new(&program);
        // The second shell stays, because something follows it.
        let script = format!("'{}' -c 'cat; true'; true", program.display());
        let mut shell = shell.args(["-c", &script]).stdin(Stdio::piped()).spawn().unwrap();
        let mut found = Vec::new();
        for _ in 0..500 {
            found = descendants(&[shell.id()], "rankscope-7").unwrap();
            if found.len() == 2 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(found.len() == 2 && found.iter().all(|process| process.verb == "-c"), "{found:?}");
        assert_eq!(descendants(&[shell.id()], "rankscope").unwrap(), [], "of another program");
        let holding = found[0].holding().unwrap();
        assert!(holding.own_kb > 0 && holding.threads == 1 && holding.files >= 3, "{holding:?}");
        drop(shell.stdin.take());
        shell.wait().unwrap();
        assert!(found[0].holding().is_none());
    }

    #[test]
    fn names_with_parentheses_do_not_hide_a_parent() {
        assert_eq!(parent("71 (a) b (c)) S 12 71 71"), Some(12));
        assert_eq!(parent("71 (a"), None);
    }
}
