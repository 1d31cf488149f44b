//! The directory of a sweep over configurations: its document `sweep.json` and the lock that keeps it to one process.
//!
//! What the document says is not known here. It is replaced whole, and on the disk before the replacement counts, so that a sweep which
//! is killed at any moment can go on. Run directories lie below, and have locks of their own.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::directory::{WriterLock, write_durably};
use crate::{Error, SideFile, read_side};

/// The directory of a sweep, in the hands of this process until it is dropped.
#[derive(Debug)]
pub struct SweepFolder {
    path: PathBuf,
    _lock: WriterLock,
}

const DOCUMENT: &str = "sweep.json";

impl SweepFolder {
    /// Takes the directory at `path`, which is made if it is not there.
    ///
    /// # Errors
    /// [`Error::Occupied`] where something else lies there, [`Error::SweepInUse`], and what the file system refuses.
    pub fn take(path: &Path) -> Result<Self, Error> {
        let path = std::path::absolute(path).map_err(|error| Error::io(path, error))?;
        if !Self::is_sweep(&path) {
            check_free(&path)?;
        }
        fs::create_dir_all(&path).map_err(|error| Error::io(&path, error))?;
        let lock = WriterLock::take(&path).map_err(|error| match error {
            Error::RunInUse { path, holder } => Error::SweepInUse { path, holder },
            other => other,
        })?;
        Ok(Self { path, _lock: lock })
    }

    /// Whether a sweep lies at `path`.
    pub fn is_sweep(path: &Path) -> bool {
        path.join(DOCUMENT).is_file()
    }

    /// The bytes of the document in the directory at `path`, if there is one.
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
        match read_side(&path.join(DOCUMENT), SideFile::Record) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Error::Io { reason, .. }) if reason.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Where it lies, as an absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the document.
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn write(&self, document: &impl Serialize) -> Result<(), Error> {
        write_durably(&self.path.join(DOCUMENT), document)
    }
}

/// Refuses a directory in which something lies that is neither hidden nor a sweep's.
fn check_free(path: &Path) -> Result<(), Error> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|error| Error::io(path, error))?,
    };
    for entry in entries {
        let name = entry.map_err(|error| Error::io(path, error))?.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            return Err(Error::NoPlaceForSweep { path: path.to_owned(), entry: name });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_has_a_sweep() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("new/sweep");
        let folder = SweepFolder::take(&path).unwrap();
        assert!(!SweepFolder::is_sweep(&path));
        folder.write(&serde_json::json!({ "schema": 1 })).unwrap();
        let said = SweepFolder::take(&path).unwrap_err().to_string();
        assert!(said.contains(&format!("process {}", std::process::id())) && said.contains("sweep"), "{said}");
        drop(folder);
        SweepFolder::take(&path).unwrap();
        assert_eq!(SweepFolder::read(&path).unwrap().unwrap(), b"{\n  \"schema\": 1\n}\n");
        assert_eq!(SweepFolder::read(root.path()).unwrap(), None);
    }

    #[test]
    fn what_lies_somewhere_is_not_taken_for_a_sweep() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("run.json"), "{}").unwrap();
        assert!(matches!(SweepFolder::take(root.path()), Err(Error::NoPlaceForSweep { entry, .. }) if entry == "run.json"));
        let file = root.path().join("run.json");
        assert!(matches!(SweepFolder::take(&file), Err(Error::Io { .. })));
    }
}
