//! Files in the making: under a temporary name beside their place, and cleared away if their writer is gone.
//!
//! A writer holds a lock of the operating system on its file, which goes with it however it ends. A file is cleared away only if
//! nobody holds that lock, this user made it, and its name says that this host did: locks need not reach across hosts.
//!
//! A process that is asked to end removes its own ([`remove_unfinished`]).

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::fs::OFlags;
use tempfile::{NamedTempFile, TempDir};

/// Begins a file in `directory`, with the permissions that any new file gets.
pub(crate) fn begin(directory: &Path) -> io::Result<NamedTempFile> {
    let create = |path: &Path| File::options().read(true).write(true).create_new(true).open(path);
    for _ in 0..TRIES {
        // Held until the file is on the list: whoever goes through the list meets all there are.
        let mut begun = begun();
        let file = tempfile::Builder::new().prefix(prefix()).make_in(directory, create)?;
        match file.as_file().try_lock() {
            // Somebody took it for abandoned before it was locked, and clears it away.
            Err(TryLockError::WouldBlock) => continue,
            // Where there are no locks nobody clears anything away.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        if is_at(file.as_file(), file.path()) {
            begun.push(file.path().to_owned());
            return Ok(file);
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "temporary files vanish as soon as they are made"))
}

/// Files of this process that were begun. Most of them have their names by now.
static BEGUN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn begun() -> MutexGuard<'static, Vec<PathBuf>> {
    BEGUN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file that was begun at `path` has its name.
pub(crate) fn named(path: &Path) {
    begun().retain(|begun| begun != path);
}

/// Removes what this process has begun to write and not given its name, and lets it begin nothing more until `then` has returned: for
/// one that is about to end by a signal.
pub fn remove_unfinished(then: impl FnOnce()) {
    let begun = begun();
    for path in begun.iter() {
        // It may have its name by now.
        let _gone = fs::remove_file(path);
    }
    then();
}

/// How often a file may be taken for abandoned between its being made and its being locked, an instant later.
const TRIES: u32 = 16;

/// Begins a folder in `directory` under a name of the same sort. Whoever makes it keeps a file in it by [`begin`], whose lock says that
/// it is in use.
pub(crate) fn begin_stage(directory: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(prefix()).tempdir_in(directory)
}

/// Removes from `directory` the folders of writers that are gone.
pub(crate) fn clear_abandoned_stages(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let is_stage = |entry: &fs::DirEntry| is_named(&entry.file_name().to_string_lossy()) && entry.path().is_dir();
    for stage in entries.flatten().filter(is_stage) {
        if is_abandoned(&stage.path()) {
            // What cannot be removed does no harm.
            let _stays = fs::remove_dir_all(stage.path());
        }
    }
}

/// Whether nobody holds the lock of the file in `stage` that says who is at work there. One without such a file is just being made.
fn is_abandoned(stage: &Path) -> bool {
    let Ok(entries) = fs::read_dir(stage) else { return false };
    let mut signs = entries.flatten().filter(|entry| is_named(&entry.file_name().to_string_lossy()));
    signs.next().and_then(|sign| crate::open(&sign.path()).ok()).is_some_and(|sign| sign.try_lock().is_ok())
}

/// Removes from `directory` what writers left that are gone. `own` is a file that lies there, of this process.
pub(crate) fn clear_abandoned(directory: &Path, own: &NamedTempFile) {
    let Ok(own) = own.as_file().metadata() else { return };
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten().filter(|entry| is_named(&entry.file_name().to_string_lossy())) {
        // What cannot be removed does no harm.
        let _stays = clear(&entry.path(), own.uid());
    }
}

fn clear(path: &Path, user: u32) -> io::Result<()> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::options().read(true).write(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let about = file.metadata()?;
    if about.is_file() && about.uid() == user && file.try_lock().is_ok() && is_at(&file, path) {
        fs::remove_file(path)?;
    }
    Ok(())
}

/// Whether `path` still names `file`.
fn is_at(file: &File, path: &Path) -> bool {
    let number = |about: &fs::Metadata| (about.dev(), about.ino());
    matches!((file.metadata(), path.symlink_metadata()), (Ok(file), Ok(there)) if number(&file) == number(&there))
}

/// What names of this host's files begin with.
fn prefix() -> &'static str {
    static PREFIX: OnceLock<String> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let host = blake3::hash(crate::directory::host().as_bytes()).to_hex();
        format!(".rankscope-tmp-{}-", &host[..8])
    })
}

/// Whether a file called `name` may be one of this host's.
fn is_named(name: &str) -> bool {
    name.strip_prefix(prefix()).is_some_and(|rest| rest.len() == 6 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lies(directory: &Path, name: &str) -> std::path::PathBuf {
        let path = directory.join(name);
        fs::write(&path, "left").unwrap();
        path
    }

    #[test]
    fn only_what_a_writer_of_this_host_abandoned_goes() {
        let directory = tempfile::tempdir().unwrap();
        let abandoned = lies(directory.path(), &format!("{}abc123", prefix()));
        let others = [".rankscope-report.log", ".rankscope-tmp-00000000-abc123", &format!("{}abc", prefix()), "rank-0.json"]
            .map(|name| lies(directory.path(), name));
        let link = directory.path().join(format!("{}linked", prefix()));
        std::os::unix::fs::symlink(&others[3], &link).unwrap();
        let alive = begin(directory.path()).unwrap();
        let own = begin(directory.path()).unwrap();
        clear_abandoned(directory.path(), &own);
        assert!(!abandoned.exists());
        assert!(others.iter().all(|other| other.exists()) && link.is_symlink());
        assert!(alive.path().exists() && own.path().exists());
    }
}
