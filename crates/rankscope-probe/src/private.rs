//! Files for this user alone, in folders that others may write to.
//!
//! A file is made where there is none, with mode 0600 from its first moment, and never through a link; it appears whole, by being
//! renamed into place. What is read must be a plain file that belongs to this user and is closed to everybody else: anything else
//! was put there by a stranger, and is refused and not followed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc;

use crate::key::hexadecimal;

/// Makes the file at `path`, for this user alone.
///
/// # Errors
/// Where there is anything already, a link included, and whatever else the file system answers.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}

/// Puts a file with these bytes at `path`, in place of whatever is there: readers see the old one or the whole new one.
///
/// # Errors
/// Whatever the file system answers; nothing is left behind.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path)?;
    let written = create(&beside).and_then(|mut file| file.write_all(bytes)).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _gone = fs::remove_file(&beside);
    }
    written
}

/// What is in the file at `path`, up to `most_bytes`.
///
/// # Errors
/// Of kind `PermissionDenied` where the file is not this user's own and closed to others, `InvalidData` where it is too long, and
/// whatever else the file system answers.
pub fn read(path: &Path, most_bytes: usize) -> io::Result<Vec<u8>> {
    // A pipe without a writer would be waited for.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => foreign("it is a symbolic link, which is not followed"),
        _ => error,
    })?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(foreign("it is not a regular file"));
    }
    if found.mode() & 0o077 != 0 {
        return Err(foreign("others may read or write it; only its owner should (chmod 600)"));
    }
    if !is_own(&found, path) {
        return Err(foreign("it belongs to another user"));
    }
    let mut bytes = Vec::new();
    file.take(most_bytes as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most_bytes {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it is longer than {most_bytes} bytes")));
    }
    Ok(bytes)
}

fn foreign(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, what.to_owned())
}

/// Whether a file is this user's. A shared file system may know us under another number, as NFS does the superuser; then a file
/// that we make tells which.
fn is_own(found: &fs::Metadata, path: &Path) -> bool {
    found.uid() == nix::unistd::geteuid().as_raw() || owner_of_ours(path).is_ok_and(|ours| ours == found.uid())
}

fn owner_of_ours(path: &Path) -> io::Result<u32> {
    let trial = beside(path)?;
    let owner = create(&trial).and_then(|file| file.metadata()).map(|made| made.uid());
    let _gone = fs::remove_file(&trial);
    owner
}

/// A name in the folder of `path` that nobody has and nobody can foresee.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let mut token = [0; 8];
    getrandom::fill(&mut token)?;
    Ok(path.with_file_name(format!(".{}.new", hexadecimal(&token))))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const MOST: usize = 16;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_file_is_closed_to_others_whatever_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, "planted").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        replace(&path, b"mine").unwrap();
        assert_eq!((read(&path, MOST).unwrap().as_slice(), mode(&path)), (&b"mine"[..], 0o600));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, path) = (folder.path().join("victim"), folder.path().join("secret"));
        fs::write(&victim, "untouched").unwrap();
        symlink(&victim, &path).unwrap();
        assert_eq!(create(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(read(&path, MOST).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        replace(&path, b"mine").unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"untouched");
        assert_eq!(read(&path, MOST).unwrap(), b"mine");
    }

    #[test]
    fn what_others_may_touch_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        for open_to_others in [0o640, 0o604, 0o620, 0o602] {
            fs::write(&path, "planted").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(open_to_others)).unwrap();
            assert_eq!(read(&path, MOST).unwrap_err().kind(), io::ErrorKind::PermissionDenied, "{open_to_others:o}");
        }
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").args(["-m", "600"]).arg(&pipe).status().unwrap().success());
        assert!(read(&pipe, MOST).unwrap_err().to_string().contains("not a regular file"));
        assert!(read(folder.path(), MOST).is_err());
    }

    #[test]
    fn a_file_of_another_user_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        replace(&path, b"theirs").unwrap();
        if std::os::unix::fs::chown(&path, Some(12_345), None).is_err() {
            #[expect(clippy::print_stderr, reason = "this is how a test says so")]
            {
                eprintln!("skipped: only root can give a file away");
            }
            return;
        }
        assert!(read(&path, MOST).unwrap_err().to_string().contains("another user"));
    }

    #[test]
    fn what_is_too_long_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        replace(&path, &[b'x'; MOST]).unwrap();
        assert_eq!(read(&path, MOST).unwrap().len(), MOST);
        replace(&path, &[b'x'; MOST + 1]).unwrap();
        assert_eq!(read(&path, MOST).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
