//! Bytes to read, wherever they lie: an open file, or an object of a store. And the questions one asks of a path before reading:
//! whether it is a file or a folder, and what lies in it or below it. An object is a file; a folder of a store is what keys have in common.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use tempfile::NamedTempFile;

use crate::open::open;
use crate::stores::{ObjectFault, ObjectIdentity, Piece, StoreFault, StoredObject, at, stores};
use crate::{Error, Location, ObjectUrl};

/// Bytes to read.
#[derive(Debug)]
pub enum Source {
    /// Of a file.
    File(File),
    /// Of an object.
    Object(Box<dyn StoredObject>),
}

impl Source {
    /// How many there are.
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn length_bytes(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Object(object) => Ok(object.identity().bytes),
        }
    }

    /// Where word is left of why an object could not be read; none for a file.
    pub fn fault(&self) -> Option<ObjectFault> {
        match self {
            Self::File(_) => None,
            Self::Object(object) => Some(object.fault()),
        }
    }

    /// An object as a file that goes away with the answer; none for what is a file already.
    ///
    /// # Errors
    /// What the store and the file system refuse.
    pub fn fetched(&mut self) -> io::Result<Option<NamedTempFile>> {
        let Self::Object(object) = self else { return Ok(None) };
        let mut file = NamedTempFile::new()?;
        object.rewind()?;
        io::copy(object, &mut file)?;
        Ok(Some(file))
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Object(object) => object.read(buffer),
        }
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Object(object) => object.seek(to),
        }
    }
}

/// Opens what lies at `path`, a file as [`open`] does.
///
/// # Errors
/// Those of [`open`], and [`Error::Store`].
pub fn open_source(path: &Path) -> Result<Source, Error> {
    match Location::of(path)? {
        Location::Local(path) => open(&path).map(Source::File),
        Location::Object(url) => at(path, stores(&url)?.open(&url)).map(Source::Object),
    }
}

/// The bytes in `range` of the object at `url`, as far as it goes: of the object `of`, where that is said.
///
/// # Errors
/// [`Error::Url`] and [`Error::Store`].
pub fn read_piece(url: &ObjectUrl, range: Range<u64>, of: Option<&ObjectIdentity>) -> Result<Piece, Error> {
    at(&url.to_path(), stores(url)?.piece(url, range, of))
}

/// What tells the file at `path` from another one of its name.
///
/// # Errors
/// What the file system or the store refuses; nothing there is [`StoreFault::NoSuchObject`] for an object.
pub fn identity(path: &Path) -> Result<ObjectIdentity, Error> {
    match Location::of(path)? {
        Location::Object(url) => at(path, stores(&url)?.about(&url).and_then(|about| about.ok_or(StoreFault::NoSuchObject))),
        Location::Local(local) => {
            let about = fs::metadata(&local).map_err(|error| Error::io(path, error))?;
            let modified = about.modified().map_err(|error| Error::io(path, error))?;
            let modified_ns = modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
            Ok(ObjectIdentity { bytes: about.len(), etag: None, modified_ns })
        }
    }
}

/// Whether `path` leads to a store.
pub fn is_stored(path: &Path) -> bool {
    matches!(Location::of(path), Ok(Location::Object(_)))
}

/// The same place, wherever this process stands later. A URL is one.
///
/// # Errors
/// What the file system refuses, where it cannot tell where this process stands.
pub fn absolute(path: &Path) -> Result<PathBuf, Error> {
    if is_stored(path) { Ok(path.to_owned()) } else { std::path::absolute(path).map_err(|error| Error::io(path, error)) }
}

/// Whether a regular file, or an object, lies at `path`.
///
/// # Errors
/// What a store refuses.
pub fn is_file(path: &Path) -> Result<bool, Error> {
    match Location::of(path)? {
        Location::Local(path) => Ok(path.is_file()),
        Location::Object(url) => Ok(at(path, stores(&url)?.about(&url))?.is_some()),
    }
}

/// Whether a folder lies at `path`: in a store, whether anything lies below it.
///
/// # Errors
/// What a store refuses.
pub fn is_folder(path: &Path) -> Result<bool, Error> {
    match Location::of(path)? {
        Location::Local(path) => Ok(path.is_dir()),
        Location::Object(url) => Ok(!at(path, stores(&url)?.list(&url))?.is_empty()),
    }
}

/// Names of the folders in the folder at `path`.
///
/// # Errors
/// What the file system or the store refuses.
pub(crate) fn folders_in(path: &Path) -> Result<Vec<String>, Error> {
    match Location::of(path)? {
        Location::Local(local) => {
            let entries = fs::read_dir(&local).map_err(|error| Error::io(path, error))?;
            let folders = entries.flatten().filter(|entry| entry.path().is_dir());
            Ok(folders.filter_map(|entry| entry.file_name().into_string().ok()).collect())
        }
        Location::Object(url) => {
            let listed = at(path, stores(&url)?.list(&url))?;
            let mut names: Vec<String> =
                listed.iter().filter_map(|object| Some(object.key.split_once('/')?.0.to_owned())).collect();
            names.dedup();
            Ok(names)
        }
    }
}

/// What lies in the folder at `path`, in order of the names: of a store, objects alone.
///
/// # Errors
/// What the file system or the store refuses.
pub fn files_in(path: &Path) -> Result<Vec<PathBuf>, Error> {
    match Location::of(path)? {
        Location::Local(local) => {
            let entries = fs::read_dir(&local).map_err(|error| Error::io(path, error))?;
            let files: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
            let mut files = files.map_err(|error| Error::io(path, error))?;
            files.sort();
            Ok(files)
        }
        Location::Object(url) => {
            let listed = at(path, stores(&url)?.list(&url))?;
            let own = listed.into_iter().filter(|object| !object.key.contains('/'));
            Ok(own.map(|object| path.join(object.key)).collect())
        }
    }
}

/// All files below the folder at `path`, by their places from it on, with slashes; and how long each is. None where there is no folder.
///
/// # Errors
/// What the file system or the store refuses.
pub fn lengths_below(path: &Path) -> Result<BTreeMap<String, u64>, Error> {
    match Location::of(path)? {
        Location::Local(local) => {
            let mut lengths = BTreeMap::new();
            add_lengths(&local, "", &mut lengths)?;
            Ok(lengths)
        }
        Location::Object(url) => {
            let listed = at(path, stores(&url)?.list(&url))?;
            Ok(listed.into_iter().map(|object| (object.key, object.identity.bytes)).collect())
        }
    }
}

fn add_lengths(folder: &Path, before: &str, lengths: &mut BTreeMap<String, u64>) -> Result<(), Error> {
    let refused = |error| Error::io(folder, error);
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(refused)?,
    };
    for entry in entries {
        let entry = entry.map_err(refused)?;
        let place = format!("{before}{}", entry.file_name().to_string_lossy());
        let about = match entry.metadata() {
            // It went meanwhile, as what others write under a temporary name does.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            about => about.map_err(refused)?,
        };
        if about.is_dir() {
            add_lengths(&entry.path(), &format!("{place}/"), lengths)?;
        } else if about.is_file() {
            lengths.insert(place, about.len());
        }
    }
    Ok(())
}

/// Takes away the file, or the object, at `path`; that nothing is there is no error.
///
/// # Errors
/// What the file system or the store refuses.
pub fn remove_file(path: &Path) -> Result<(), Error> {
    match Location::of(path)? {
        Location::Object(url) => at(path, stores(&url)?.remove(&url)),
        Location::Local(local) => match fs::remove_file(&local) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done.map_err(|error| Error::io(path, error)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_at_the_same_place_everywhere() {
        assert_eq!(absolute(Path::new("s3://bucket/parts")).expect("a URL"), Path::new("s3://bucket/parts"));
        let here = std::env::current_dir().expect("a folder");
        assert_eq!(absolute(Path::new("parts")).expect("a path"), here.join("parts"));
    }
}
