//! A file of lines that survives whatever happens to the process.
//!
//! Each line goes to the kernel in one write as soon as it is known, so `kill -9` loses nothing that was appended. A line that an
//! earlier process left unfinished is closed off first; readers pass over it. A journal that cannot be written turns itself off
//! and says so once: it must not disturb the job it watches. A link is not followed: in a folder that others may write to it could
//! lead to any file of ours.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc;

/// Lines, appended.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: Option<File>,
}

impl Journal {
    /// Opens or creates the file at `path`, and the folders above it.
    pub(crate) fn open(path: PathBuf) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).custom_flags(libc::O_NOFOLLOW).open(&path)?;
        if file.metadata()?.len() > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        Ok(Self { path, file: Some(file) })
    }

    /// Appends `line`, which brings its own end, in one write.
    ///
    /// # Errors
    /// The first failure is returned, for a warning; after it the journal is off and appending does nothing.
    pub(crate) fn append(&mut self, line: &str) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let written = file.write_all(line.as_bytes());
        if written.is_err() {
            self.file = None;
        }
        written
    }

    /// Asks the kernel to bring everything to disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), File::sync_data)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_line_is_closed_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep").join("a.jsonl");
        let mut first = Journal::open(path.clone()).unwrap();
        first.append("one\n").unwrap();
        first.file.as_mut().unwrap().write_all(b"tw").unwrap();
        drop(first);
        Journal::open(path.clone()).unwrap().append("three\n").unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "one\ntw\nthree\n");
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, path) = (folder.path().join("victim"), folder.path().join("a.jsonl"));
        std::fs::write(&victim, "untouched").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        assert!(Journal::open(path).is_err());
        assert_eq!(std::fs::read(victim).unwrap(), b"untouched");
    }

    #[test]
    fn a_full_disk_turns_it_off_after_one_complaint() {
        // /dev/full is a file on which every write fails for want of space.
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut journal = Journal { path: PathBuf::from("/dev/full"), file: Some(full) };
        assert!(journal.append("x\n").is_err());
        assert!(journal.append("y\n").is_ok());
    }
}
