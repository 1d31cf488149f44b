//! The stand-in for a lock where the file system has none: a file that names its holder.
//!
//! The file is made only if it is not there, which every file system does for one process at a time. A lease whose holder ran on
//! this host and is gone (no such process, or one that was started at another time) is taken over. Of a holder on another host
//! nothing can be known from here: it counts as alive, and the error says which file to delete if it is not.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::open::{SideFile, read_side_text};

/// A process on a host. The time it was started tells it from a later process with the same number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    host: String,
    pid: u32,
    /// As the kernel counts: ticks since it booted; empty where that is not known.
    started: String,
}

impl Holder {
    /// This process.
    pub(super) fn this() -> Self {
        let pid = std::process::id();
        Self { host: host(), pid, started: started(pid).unwrap_or_default() }
    }

    pub(super) fn read(path: &Path) -> Option<Self> {
        let text = read_side_text(path, SideFile::Record).ok()?;
        let mut words = text.split_whitespace();
        let holder = Self { host: words.next()?.to_owned(), pid: words.next()?.parse().ok()?, started: String::new() };
        Some(Self { started: words.next().unwrap_or_default().to_owned(), ..holder })
    }

    pub(super) fn to_line(&self) -> String {
        format!("{} {} {}\n", self.host, self.pid, self.started)
    }

    /// Whether it may still be there.
    fn may_live(&self) -> bool {
        self.host != host() || started(self.pid).is_some_and(|started| self.started.is_empty() || started == self.started)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}", self.pid, self.host)
    }
}

/// A lease that this process holds.
#[derive(Debug)]
pub(crate) struct Lease {
    path: PathBuf,
    line: String,
}

impl Lease {
    pub(super) fn take(run: &Path) -> Result<Self, Error> {
        let path = path_in(run);
        let line = Holder::this().to_line();
        if let Some(holder) = living(run) {
            let holder = format!("{holder} (if it is gone, delete {})", path.display());
            return Err(Error::RunInUse { path: run.to_owned(), holder });
        }
        clear_dead(&path)?;
        match publish(&path, &line) {
            Ok(()) => Ok(Self { path, line }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(Error::RunInUse { path: run.to_owned(), holder: "another process".to_owned() })
            }
            Err(error) => Err(Error::io(path, error)),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if read_side_text(&self.path, SideFile::Record).is_ok_and(|line| line == self.line) {
            // What cannot be removed is found dead by the next writer.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes the file with its content at once, or, where files have one name only, one after the other.
fn publish(path: &Path, line: &str) -> io::Result<()> {
    let aside = path.with_extension(format!("new-{}", std::process::id()));
    fs::write(&aside, line)?;
    let linked = fs::hard_link(&aside, path);
    fs::remove_file(&aside)?;
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            OpenOptions::new().write(true).create_new(true).open(path)?.write_all(line.as_bytes())
        }
        other => other,
    }
}

/// Who holds the lease of `run` and may still live.
pub(super) fn living(run: &Path) -> Option<Holder> {
    Holder::read(&path_in(run)).filter(Holder::may_live)
}

/// Puts away the lease of a dead holder. Two who do this at once each take the name away first and look at what they took: what
/// turns out to be alive is put back.
fn clear_dead(path: &Path) -> Result<(), Error> {
    let aside = path.with_extension(format!("dead-{}", std::process::id()));
    match fs::rename(path, &aside) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => other.map_err(|error| Error::io(path, error))?,
    }
    if Holder::read(&aside).is_some_and(|holder| holder.may_live()) {
        fs::hard_link(&aside, path).map_err(|error| Error::io(path, error))?;
    }
    fs::remove_file(&aside).map_err(|error| Error::io(&aside, error))
}

fn path_in(run: &Path) -> PathBuf {
    run.join(".lease")
}

/// The name of this host; `unknown` where the system does not tell.
pub fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    // A name has no spaces, and an empty one would not be read back.
    name.split_whitespace().next().unwrap_or("unknown").to_owned()
}

/// When the process `pid` of this host was started, if it lives: the 22nd field of its `stat`, counted behind the name in
/// brackets, which may hold anything.
fn started(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held_by(holder: &Holder) -> tempfile::TempDir {
        let run = tempfile::tempdir().unwrap();
        fs::write(path_in(run.path()), holder.to_line()).unwrap();
        run
    }

    #[test]
    fn the_lease_of_a_dead_process_is_taken_over() {
        let this = Holder::this();
        for dead in [Holder { pid: u32::MAX, ..this.clone() }, Holder { started: "1".to_owned(), ..this.clone() }] {
            let run = held_by(&dead);
            assert_eq!(living(run.path()), None);
            let lease = Lease::take(run.path()).unwrap();
            assert_eq!(living(run.path()), Some(this.clone()));
            drop(lease);
            assert_eq!(fs::read_dir(run.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn of_another_host_nothing_is_assumed() {
        let run = held_by(&Holder { host: "elsewhere".to_owned(), pid: 7, started: "1".to_owned() });
        let error = Lease::take(run.path()).unwrap_err().to_string();
        assert!(error.contains("process 7 on elsewhere") && error.contains(".lease"), "{error}");
    }

    #[test]
    fn a_living_lease_taken_aside_is_put_back() {
        let run = held_by(&Holder::this());
        clear_dead(&path_in(run.path())).unwrap();
        assert_eq!(living(run.path()), Some(Holder::this()));
        assert_eq!(fs::read_dir(run.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_lease_that_says_nothing_is_dead() {
        let run = tempfile::tempdir().unwrap();
        fs::write(path_in(run.path()), "").unwrap();
        Lease::take(run.path()).unwrap();
    }
}
