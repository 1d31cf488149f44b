//! A directory that all nodes share, as on a cluster's parallel file system or NFS.
//!
//! A text is a file that appears whole, by being renamed into place. A counter is a chain of files `<key>.<n>`, each holding what
//! the counter came to with addition `n`; a new link is made by hard-linking a finished file to the first free number, which one
//! writer alone can. So nobody ever holds a lock, and who dies half-way leaves a file that nobody reads.
//!
//! What is written is for the user whose nodes these are: a directory that is made here and all files are closed to others, and a
//! file in a directory that others may write to is only read if it is our own. So a secret may be among the texts.
//!
//! Nothing is removed: whoever made the directory takes it away after the run.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{KeyValueStore, StoreError, VALUE_BYTES_MAX, check_size, poll_for};
use crate::private;

/// A store in a shared directory.
#[derive(Debug)]
pub struct DirectoryStore {
    root: PathBuf,
    place: String,
    /// Tells this writer's unfinished files from all others'.
    writer: String,
    written: u64,
}

/// Between two looks.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(100));

impl DirectoryStore {
    /// Opens a directory, making it where there is none.
    ///
    /// # Errors
    /// [`StoreError::Directory`] where it cannot be made or written to.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        let mut token = [0u8; 8];
        let failed = |source: io::Error| StoreError::Directory { path: root.to_owned(), source };
        getrandom::fill(&mut token).map_err(|error| failed(error.into()))?;
        make(root).map_err(failed)?;
        let writer = format!("{:016x}", u64::from_le_bytes(token));
        let mut store = Self { root: root.to_owned(), place: format!("file://{}", root.display()), writer, written: 0 };
        // Better to fail here, with the path, than in the middle of a run.
        let trial = store.unfinished("")?;
        fs::remove_file(&trial).map_err(failed)?;
        Ok(store)
    }

    /// A finished file under a name that nobody reads.
    fn unfinished(&mut self, value: &str) -> Result<PathBuf, StoreError> {
        self.written += 1;
        let path = self.root.join(format!(".{}.{}", self.writer, self.written));
        let written = private::create(&path).and_then(|mut file| {
            file.write_all(value.as_bytes())?;
            // A rename may overtake the contents on a shared file system.
            file.sync_all()
        });
        match written {
            Ok(()) => Ok(path),
            Err(source) => Err(StoreError::Directory { path, source }),
        }
    }

    fn read(&self, name: &str) -> Result<Option<String>, StoreError> {
        let path = self.root.join(name);
        match private::read(&path, VALUE_BYTES_MAX) {
            Ok(text) => match String::from_utf8(text) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(StoreError::Malformed { place: self.place.clone(), what: format!("{name}, which is not text") }),
            },
            // The file was renamed over while it was read over NFS: there will be one at the next look.
            Err(error) if error.kind() == io::ErrorKind::NotFound || error.kind() == io::ErrorKind::StaleNetworkFileHandle => {
                Ok(None)
            }
            Err(source) => Err(StoreError::Directory { path, source }),
        }
    }

    /// The last link of a counter's chain: its number and what the counter came to.
    fn last_link(&self, counter: &str) -> Result<(u64, i64), StoreError> {
        let failed = |source| StoreError::Directory { path: self.root.clone(), source };
        let mut last = 0;
        for entry in fs::read_dir(&self.root).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix(counter)).and_then(|number| number.parse().ok());
            last = last.max(number.unwrap_or(0));
        }
        if last == 0 {
            return Ok((0, 0));
        }
        let text = self.read(&format!("{counter}{last}"))?.unwrap_or_default();
        match text.parse() {
            Ok(value) => Ok((last, value)),
            Err(_) => Err(StoreError::Malformed { place: self.place.clone(), what: format!("{text:?} for a number") }),
        }
    }
}

impl KeyValueStore for DirectoryStore {
    fn place(&self) -> &str {
        &self.place
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), StoreError> {
        check_size(key, value)?;
        let finished = self.unfinished(value)?;
        let path = self.root.join(text_name(key));
        fs::rename(&finished, &path).map_err(|source| StoreError::Directory { path, source })
    }

    fn get(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        check_size(key, "")?;
        // Opening the directory makes an NFS client ask the server again what is in it.
        File::open(&self.root).map_err(|source| StoreError::Directory { path: self.root.clone(), source })?;
        self.read(&text_name(key))
    }

    fn wait(&mut self, key: &str, timeout: Duration) -> Result<String, StoreError> {
        poll_for(self, key, timeout, PAUSES)
    }

    fn add(&mut self, key: &str, delta: i64) -> Result<i64, StoreError> {
        check_size(key, "")?;
        let counter = format!("{}.", file_name(key, 'c'));
        loop {
            let (last, value) = self.last_link(&counter)?;
            if delta == 0 {
                return Ok(value);
            }
            let total = value.saturating_add(delta);
            let finished = self.unfinished(&total.to_string())?;
            let link = self.root.join(format!("{counter}{}", last + 1));
            let linked = fs::hard_link(&finished, &link);
            fs::remove_file(&finished).map_err(|source| StoreError::Directory { path: finished, source })?;
            match linked {
                Ok(()) => return Ok(total),
                // Somebody else was faster; each such turn is one addition of somebody's, so it cannot go on for ever.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(StoreError::Directory { path: link, source }),
            }
        }
    }
}

/// Makes the directory where there is none, for this user alone; what is above it is as usual.
fn make(root: &Path) -> io::Result<()> {
    if let Some(parent) = root.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(root) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && root.is_dir() => Ok(()),
        done => done,
    }
}

fn text_name(key: &str) -> String {
    file_name(key, 't')
}

/// A key as the name of a file: letters, digits, `-` and `_` as they are, other bytes in hexadecimal. A long key is cut, and told
/// from its like by a checksum.
fn file_name(key: &str, kind: char) -> String {
    let mut name = String::from(kind);
    name.push('-');
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02x}"));
        }
    }
    if name.len() > NAME_BYTES_MAX {
        use sha2::{Digest, Sha256};
        let sum = Sha256::digest(key.as_bytes());
        let sum: String = sum.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        name.truncate(NAME_BYTES_MAX - sum.len() - 1);
        name = format!("{name}~{sum}");
    }
    name
}

/// File systems take 255 bytes; the number of a link comes behind.
const NAME_BYTES_MAX: usize = 220;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_differ_have_names_that_differ() {
        let long = |last: char| format!("{}{last}", "x".repeat(500));
        let keys = ["a", "a.b", "a/b", "a%2eb", "A", "..", &long('a'), &long('b')];
        let names: std::collections::BTreeSet<String> = keys.iter().map(|key| text_name(key)).collect();
        assert_eq!(names.len(), keys.len());
        assert!(names.iter().all(|name| name.len() <= NAME_BYTES_MAX && !name.contains('/')));
        assert_eq!(text_name("probe_edge:0->1"), "t-probe_edge%3a0-%3e1");
    }

    #[test]
    fn what_a_dead_writer_left_is_not_seen() {
        let root = tempfile::tempdir().unwrap();
        let mut dead = DirectoryStore::open(root.path()).unwrap();
        dead.unfinished("half a te").unwrap();
        let mut store = DirectoryStore::open(root.path()).unwrap();
        assert_eq!(store.get("key").unwrap(), None);
        assert_eq!(store.add("counter", 3).unwrap(), 3);
        assert_eq!(store.get("counter").unwrap(), None, "a counter is no text");
    }

    #[test]
    fn others_may_read_nothing_and_plant_nothing() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("meet");
        let mut store = DirectoryStore::open(&root).unwrap();
        assert_eq!(mode(&root), 0o700);
        // Where the directory was there before, it may be anybody's.
        fs::set_permissions(&root, fs::Permissions::from_mode(0o777)).unwrap();
        let victim = outer.path().join("victim");
        fs::write(&victim, "untouched").unwrap();
        symlink(&victim, root.join(text_name("secret"))).unwrap();
        assert!(matches!(store.get("secret"), Err(StoreError::Directory { .. })));
        store.set("secret", "ours").unwrap();
        store.add("count", 1).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"untouched");
        for entry in fs::read_dir(&root).unwrap() {
            assert_eq!(mode(&entry.unwrap().path()), 0o600);
        }
        let planted = root.join(text_name("planted"));
        fs::write(&planted, "theirs").unwrap();
        fs::set_permissions(&planted, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(store.get("planted").unwrap_err().to_string().contains("others may read or write it"));
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let error = DirectoryStore::open(Path::new("/dev/null/here")).unwrap_err().to_string();
        assert!(error.starts_with("/dev/null/here: "), "{error}");
    }
}
