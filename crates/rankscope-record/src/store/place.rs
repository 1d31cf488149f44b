//! How a new live file takes its place: what lies there is put aside, and nobody's evidence is lost.
//!
//! A file is locked as long as somebody records into it, so a second recorder notices the first. The new file is made under
//! another name, locked, and linked to its own name only then: whoever sees it there sees it locked. Earlier files are moved
//! only by whoever holds the lock of the one that lies in the place, so of two starts at the same moment one comes first and
//! the other is refused.
//!
//! A lock belongs to an open file and goes with the process, however that ended: children of a fork let go of it. Where the file system
//! has no locks, a second recorder does not notice the first: it moves the first one's file aside, which goes on under its new
//! name.
//!
//! What is no recording is never touched here.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rankscope_recording::{FILE_HEADER_BYTES, LIVE_HEAD_BYTES, LIVE_MAGIC, PACKED_MAGIC, live_head, live_process};

use crate::ticks::ticks;

/// Looks at a place that somebody else has, before they are believed to stay: while one recorder puts files aside, it holds the
/// lock of a file that nobody writes any more.
const LOOKS: u32 = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Why a live file did not get its place. Nothing was moved.
#[derive(Debug)]
pub(crate) enum Refused {
    /// What the system says.
    Io(io::Error),
    /// Somebody records there: the process, as far as the file tells.
    InUse { process: Option<u64> },
    /// Something else lies there, or where an earlier file was to be put.
    NotARecording { path: PathBuf, what: InTheWay },
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// What lies where a recording was to go, and is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InTheWay {
    /// A symbolic link, which may lead anywhere.
    #[error("a symbolic link")]
    SymbolicLink,
    /// A directory.
    #[error("a directory")]
    Directory,
    /// A named pipe.
    #[error("a named pipe")]
    NamedPipe,
    /// A socket or a device.
    #[error("no plain file")]
    NoPlainFile,
    /// A file of something else.
    #[error("a file that is no recording")]
    OtherFile,
}

/// A new live file that waits for its place. Dropped, it is gone.
#[derive(Debug)]
pub(crate) struct Waiting {
    beside: PathBuf,
    path: PathBuf,
}

/// A live file of this process.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(super) path: PathBuf,
    pub(super) file: File,
    /// Opened for itself, to be locked: what is mapped in the children of a fork keeps `file` open there, and with it its locks.
    lock: File,
}

impl Placed {
    /// Nobody records into the file any more: others may take its place.
    pub(super) fn unlock(&self) {
        let _ = self.lock.unlock();
    }

    /// Takes the lock once more; false where somebody else has the place by now.
    #[cfg(feature = "export")]
    pub(super) fn lock_again(&self) -> bool {
        !matches!(self.lock.try_lock(), Err(TryLockError::WouldBlock)) && lies_at(&self.file, &self.path)
    }

    /// In the child of a fork: lets go of the parent's lock, which goes when all have let go.
    #[expect(unsafe_code, reason = "another file is put in the place of a descriptor by a system call")]
    pub(super) fn leave_to_parent(&self) {
        // The number must stay taken: whoever still has this here closes it, and it must not be somebody else's by then.
        if let Ok(nothing) = File::open("/dev/null") {
            // SAFETY: a system call on two descriptors that are open.
            unsafe { libc::dup3(nothing.as_raw_fd(), self.lock.as_raw_fd(), libc::O_CLOEXEC) };
        }
    }
}

/// Makes a live file that is to lie at `path`, with its header, locked.
pub(crate) fn prepare(path: &Path) -> io::Result<(Placed, Waiting)> {
    let beside = suffixed(path, format_args!(".{}-{:x}.tmp", std::process::id(), ticks()));
    let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(&beside)?;
    let waiting = Waiting { beside, path: path.to_owned() };
    super::mapping::check_size_limit(FILE_HEADER_BYTES as u64)?;
    let mut header = [0; FILE_HEADER_BYTES];
    header[..LIVE_HEAD_BYTES].copy_from_slice(&live_head(u64::from(std::process::id())));
    file.write_all(&header)?;
    let lock = open(&waiting.beside)?;
    // Without locks it is seen by nobody, which is all that is lost.
    let _ = lock.try_lock();
    Ok((Placed { path: path.to_owned(), file, lock }, waiting))
}

impl Waiting {
    /// Takes the place; up to `keep` earlier files stay beside it.
    pub(crate) fn take_place(self, keep: u32) -> Result<(), Refused> {
        let mut busy = None;
        for _ in 0..LOOKS {
            // The lock of what lies there is held until the new file does.
            let _held = match look(&self.path)? {
                Found::Nothing => None,
                Found::Empty(file) => {
                    fs::remove_file(&self.path)?;
                    Some(file)
                }
                Found::Recording(file) => {
                    put_aside(&self.path, keep)?;
                    Some(file)
                }
                Found::InUse { process } => {
                    busy = process;
                    thread::sleep(BETWEEN_LOOKS);
                    continue;
                }
                Found::Gone => continue,
            };
            if self.link()? {
                return Ok(());
            }
        }
        Err(Refused::InUse { process: busy })
    }

    /// Gives the file its name; false where somebody else's has come to lie there.
    fn link(&self) -> io::Result<bool> {
        match fs::hard_link(&self.beside, &self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            // No links on this file system: between this look and the move another start can come in.
            Err(_) if self.path.symlink_metadata().is_err() => fs::rename(&self.beside, &self.path).map(|()| true),
            Err(_) => Ok(false),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.beside);
    }
}

/// What lies in a place.
enum Found {
    Nothing,
    /// A file without a byte, as `mktemp` makes them; locked.
    Empty(File),
    /// A recording that nobody writes; locked.
    Recording(File),
    InUse {
        process: Option<u64>,
    },
    /// It was moved while it was looked at.
    Gone,
}

fn look(path: &Path) -> Result<Found, Refused> {
    let not_ours = |what| Refused::NotARecording { path: path.to_owned(), what };
    let kind = match path.symlink_metadata() {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(error.into()),
    };
    // Neither followed nor opened: a link may lead anywhere, and a pipe would hold the program up.
    if !kind.is_file() {
        return Err(not_ours(match () {
            () if kind.is_symlink() => InTheWay::SymbolicLink,
            () if kind.is_dir() => InTheWay::Directory,
            () if kind.is_fifo() => InTheWay::NamedPipe,
            () => InTheWay::NoPlainFile,
        }));
    }
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Gone),
        Err(error) => return Err(error.into()),
    };
    let is_free = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    let mut head = Vec::new();
    (&file).take(LIVE_HEAD_BYTES as u64).read_to_end(&mut head)?;
    let is_recording = head.starts_with(&LIVE_MAGIC) || head.starts_with(&PACKED_MAGIC);
    if !is_recording && !head.is_empty() {
        return Err(not_ours(InTheWay::OtherFile));
    }
    Ok(match is_free {
        false => Found::InUse { process: live_process(&head) },
        true if !lies_at(&file, path) => Found::Gone,
        true if is_recording => Found::Recording(file),
        true => Found::Empty(file),
    })
}

/// To be written where that is allowed, because the locks of network file systems ask for it.
fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let writing = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
    writing.or_else(|_| OpenOptions::new().read(true).custom_flags(flags).open(path))
}

/// Whether `path` is the name of `file`.
fn lies_at(file: &File, path: &Path) -> bool {
    let (Ok(of_file), Ok(of_path)) = (file.metadata(), path.symlink_metadata()) else { return false };
    (of_file.dev(), of_file.ino()) == (of_path.dev(), of_path.ino())
}

/// Moves the file at `path` to `path.1`, what is there to `path.2`, and so on up to the first number that is free, or to `keep`,
/// where the oldest makes room. All of them are looked at before the first is moved.
fn put_aside(path: &Path, keep: u32) -> Result<(), Refused> {
    if keep == 0 {
        return Ok(fs::remove_file(path)?);
    }
    let mut last = 1;
    loop {
        match look(&numbered(path, last))? {
            Found::InUse { process } => return Err(Refused::InUse { process }),
            Found::Empty(_) | Found::Recording(_) if last < keep => last += 1,
            _ => break,
        }
    }
    for number in (1..last).rev() {
        fs::rename(numbered(path, number), numbered(path, number + 1))?;
    }
    Ok(fs::rename(path, numbered(path, 1))?)
}

/// Where the earlier file `number` of `path` lies: the last one before it is 1.
fn numbered(path: &Path, number: u32) -> PathBuf {
    suffixed(path, format_args!(".{number}"))
}

/// `path` with more behind its name.
pub(crate) fn suffixed(path: &Path, more: fmt::Arguments<'_>) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(more.to_string());
    PathBuf::from(name)
}
