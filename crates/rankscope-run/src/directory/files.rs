//! Which files a run holds, and whether they are still what they were.
//!
//! Sizes and hashes are taken when a run ends. Links are neither followed nor listed: a run is what lies in its directory. The
//! manifest and what locks it are not listed, since they change; nor is a run inside the run, which has a manifest of its own.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::RunDirectory;
use super::manifest::FileEntry;
use crate::Error;
use crate::open::open;

/// How the files of a run compare with what they were when it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileCheck {
    /// Files that are as they were.
    pub intact: usize,
    /// Files that are listed and not there.
    pub missing: Vec<String>,
    /// Files that are there with other bytes.
    pub changed: Vec<String>,
    /// Files that are there and not listed: made after the run ended.
    pub extra: Vec<String>,
}

impl FileCheck {
    /// Whether everything listed is there as it was.
    pub fn is_whole(&self) -> bool {
        self.missing.is_empty() && self.changed.is_empty()
    }
}

/// Every file in `run`, sorted by its path, with its size and hash.
pub(super) fn list(run: &Path) -> Result<Vec<FileEntry>, Error> {
    let mut entries = Vec::new();
    for (name, path) in walk(run)? {
        match hash(&path) {
            Ok((bytes, blake3)) => entries.push(FileEntry { path: name, bytes, blake3 }),
            // An agent may still be giving its files their last names.
            Err(Error::Io { reason, .. }) if reason.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(entries)
}

/// Compares what lies in `run` with `listed`.
pub(super) fn check(run: &Path, listed: &[FileEntry]) -> Result<FileCheck, Error> {
    let mut check = FileCheck::default();
    let mut found = walk(run)?;
    for entry in listed {
        // A path that leads out of the run names no file of it, whatever lies there.
        let Ok(at) = found.binary_search_by(|(name, _)| name.as_str().cmp(&entry.path)) else {
            check.missing.push(entry.path.clone());
            continue;
        };
        let (name, path) = found.remove(at);
        let same_size = path.metadata().is_ok_and(|metadata| metadata.len() == entry.bytes);
        if same_size && hash(&path)?.1 == entry.blake3 {
            check.intact += 1;
        } else {
            check.changed.push(name);
        }
    }
    check.extra = found.into_iter().map(|(name, _)| name).collect();
    Ok(check)
}

/// Bytes in all files of `run`.
pub(super) fn total_bytes(run: &Path) -> Result<u64, Error> {
    Ok(walk(run)?.iter().filter_map(|(_, path)| path.symlink_metadata().ok()).map(|metadata| metadata.len()).sum())
}

/// Folders below a run that are looked into; profilers nest a few.
const DEPTH_MAX: usize = 16;

/// Paths from `run`, sorted, with where the files are. Hidden ones are ours, or somebody's in the making.
fn walk(run: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let mut found = Vec::new();
    let mut folders = vec![(String::new(), run.to_owned(), 0)];
    while let Some((prefix, folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| Error::io(&folder, error))? {
            let entry = entry.map_err(|error| Error::io(&folder, error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().map_err(|error| Error::io(entry.path(), error))?;
            if name.starts_with('.') || (depth == 0 && name == "run.json") {
                continue;
            }
            let below = format!("{prefix}{name}");
            if kind.is_dir() && RunDirectory::is_run(&entry.path()) {
                continue;
            } else if kind.is_dir() && depth < DEPTH_MAX {
                folders.push((format!("{below}/"), entry.path(), depth + 1));
            } else if kind.is_file() {
                found.push((below, entry.path()));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Size and hash of one file, as read.
fn hash(path: &Path) -> Result<(u64, String), Error> {
    let mut file = open(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let read = match file.read(&mut buffer) {
            Ok(0) => return Ok((hasher.count(), hasher.finalize().to_hex().to_string())),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Error::io(path, error)),
        };
        hasher.update(&buffer[..read]);
    }
}

/// Enough for the hash to use the widest instructions.
const BUFFER_BYTES: usize = 1 << 18;
