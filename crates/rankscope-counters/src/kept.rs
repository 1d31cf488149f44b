//! [`Kept`]: a file of the kernel's that stays open and is read again from its start: no path is looked up for a sample.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::absent::Absent;

/// What is read of a file at most; the files that are read here are smaller.
const BYTES_MAX: usize = 64 << 10;

/// The kernel hands out a page at a time of what it makes line by line, up to the last line that fits whole. Lines are shorter than half a
/// page, so whatever comes in less than the other half is the end, and need not be asked for once more.
const SHORT_BYTES: usize = 2 << 10;

/// A file of the kernel's.
#[derive(Debug)]
pub(crate) struct Kept {
    path: PathBuf,
    file: File,
    bytes: Vec<u8>,
}

impl Kept {
    /// Opens it, and reads it once.
    pub(crate) fn open(path: impl Into<PathBuf>) -> Result<Self, Absent> {
        let mut kept = Self::open_bytes(path)?;
        kept.text()?;
        Ok(kept)
    }

    /// Opens one that may have no text in it, and reads it once.
    pub(crate) fn open_bytes(path: impl Into<PathBuf>) -> Result<Self, Absent> {
        let path = path.into();
        let file = File::open(&path).map_err(|reason| Absent::NoFile { path: path.clone(), reason })?;
        let mut kept = Self { path, file, bytes: vec![0; 4 << 10] };
        kept.bytes()?;
        Ok(kept)
    }

    /// Its text now.
    pub(crate) fn text(&mut self) -> Result<&str, Absent> {
        self.read().and_then(|read| std::str::from_utf8(&self.bytes[..read]).map_err(|_| self.other_text()))
    }

    /// What is in it now.
    pub(crate) fn bytes(&mut self) -> Result<&[u8], Absent> {
        self.read().map(|read| &self.bytes[..read])
    }

    /// Reads it again; how many bytes that are.
    fn read(&mut self) -> Result<usize, Absent> {
        let failed = |reason| Absent::NoFile { path: self.path.clone(), reason };
        let mut read = 0;
        loop {
            if read == self.bytes.len() && read < BYTES_MAX {
                self.bytes.resize(2 * read, 0);
            }
            match self.file.read_at(&mut self.bytes[read..], read as u64) {
                Ok(0) => break,
                Ok(more) => {
                    let is_all = more < SHORT_BYTES && read + more < self.bytes.len();
                    read += more;
                    if is_all {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(read)
    }

    /// The number that is all of its text.
    pub(crate) fn number(&mut self) -> Result<i64, Absent> {
        let number = self.text()?.trim().parse();
        number.map_err(|_| self.other_text())
    }

    /// Its text, of which `read` makes nothing where it is not the kernel's.
    pub(crate) fn parsed<T>(&mut self, read: impl FnOnce(&str) -> Option<T>) -> Result<T, Absent> {
        let parsed = read(self.text()?);
        parsed.ok_or_else(|| self.other_text())
    }

    /// That it has something else in it than it should.
    pub(crate) fn other_text(&self) -> Absent {
        Absent::OtherText { path: self.path.clone() }
    }
}
