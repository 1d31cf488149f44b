//! One writer at a time.
//!
//! The writer holds a lock of the operating system on the file `.lock` of the run; it goes with the process, however that ends.
//! Where the file system refuses such locks, the file `.lease` names the writer instead (see [`super::lease`]). Readers take
//! neither: they only ask whether somebody writes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::lease::{self, Holder, Lease};
use crate::Error;
use crate::open::open;

/// What keeps other writers away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// A lock of the operating system, which ends with the process.
    System,
    /// A file that names the writer, because the file system has no locks. A writer that died is noticed on its own host only.
    Lease,
}

/// The right to write into a run; it ends when this is dropped.
#[derive(Debug)]
pub(crate) enum WriterLock {
    /// The file holds the lock as long as it is open.
    System(#[expect(dead_code, reason = "held, not used")] File),
    Lease(#[expect(dead_code, reason = "removes its file when dropped")] Lease),
}

impl WriterLock {
    /// Takes it.
    pub(crate) fn take(run: &Path) -> Result<Self, Error> {
        take_with(run, File::try_lock)
    }

    pub(crate) fn kind(&self) -> LockKind {
        match self {
            Self::System(_) => LockKind::System,
            Self::Lease(_) => LockKind::Lease,
        }
    }
}

/// Whether somebody writes into `run` now.
pub(crate) fn is_held(run: &Path) -> bool {
    let locked = match open(&path_in(run)).map(|file| file.try_lock_shared()) {
        Ok(Err(TryLockError::WouldBlock)) => true,
        Ok(Ok(()) | Err(TryLockError::Error(_))) | Err(_) => false,
    };
    locked || lease::living(run).is_some()
}

/// Somebody who only asks holds the lock for an instant, so a refusal counts when it is given this often.
const TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_millis(5);

fn path_in(run: &Path) -> PathBuf {
    run.join(".lock")
}

fn take_with(run: &Path, try_lock: impl Fn(&File) -> Result<(), TryLockError>) -> Result<WriterLock, Error> {
    let path = path_in(run);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(&path).map_err(|error| Error::io(&path, error))?;
    for attempt in 1.. {
        match try_lock(&file) {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if attempt < TRIES => thread::sleep(BETWEEN_TRIES),
            Err(TryLockError::WouldBlock) => return Err(in_use(run, Holder::read(&path))),
            Err(TryLockError::Error(error)) if is_unsupported(&error) => {
                return Lease::take(run).map(WriterLock::Lease);
            }
            Err(TryLockError::Error(error)) => return Err(Error::io(&path, error)),
        }
    }
    if let Some(holder) = lease::living(run) {
        return Err(in_use(run, Some(holder)));
    }
    // Who writes is said for people; the lock itself needs no content.
    let named = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(Holder::this().to_line().as_bytes()));
    named.map_err(|error| Error::io(&path, error))?;
    Ok(WriterLock::System(file))
}

fn in_use(run: &Path, holder: Option<Holder>) -> Error {
    let holder = holder.map_or_else(|| "another process".to_owned(), |holder| holder.to_string());
    Error::RunInUse { path: run.to_owned(), holder }
}

/// Network file systems say in several ways that they have no locks.
fn is_unsupported(error: &io::Error) -> bool {
    const ENOLCK: i32 = 37;
    const ENOSYS: i32 = 38;
    const EOPNOTSUPP: i32 = 95;
    error.kind() == ErrorKind::Unsupported || matches!(error.raw_os_error(), Some(ENOLCK | ENOSYS | EOPNOTSUPP))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(_: &File) -> Result<(), TryLockError> {
        Err(TryLockError::Error(io::Error::from_raw_os_error(95)))
    }

    #[test]
    fn a_second_writer_is_told_who_the_first_is() {
        let run = tempfile::tempdir().unwrap();
        let lock = WriterLock::take(run.path()).unwrap();
        assert_eq!(lock.kind(), LockKind::System);
        assert!(is_held(run.path()));
        let error = WriterLock::take(run.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
        drop(lock);
        assert!(!is_held(run.path()));
        WriterLock::take(run.path()).unwrap();
    }

    #[test]
    fn without_locks_a_lease_keeps_others_away() {
        let run = tempfile::tempdir().unwrap();
        let lock = take_with(run.path(), refused).unwrap();
        assert_eq!(lock.kind(), LockKind::Lease);
        assert!(is_held(run.path()));
        assert!(matches!(take_with(run.path(), refused), Err(Error::RunInUse { .. })));
        assert!(matches!(WriterLock::take(run.path()), Err(Error::RunInUse { .. })), "where locks work it counts too");
        drop(lock);
        assert!(!is_held(run.path()));
        take_with(run.path(), refused).unwrap();
    }
}
