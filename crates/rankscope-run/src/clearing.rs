//! What of a run directory goes with the run, and what stays.
//!
//! A run owns what is laid out in it by us and what its manifest lists. Whatever else lies there was put there by somebody else
//! and stays: other files and folders, other runs, and everything that is mounted there. A link may go; where it leads is never
//! looked at. Folders are opened one in another, so nothing that is swapped for a link meanwhile leads out of the run. To look and
//! to remove are one walk, so that what was shown is what happens.

mod owned;

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Statx, StatxFlags, openat, statx, unlinkat};
use rustix::io::Errno;

use crate::{Error, RunDirectory};
use owned::{Kind, Owned, Ownership};

/// Something in a run directory that stays when the run goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Where it lies, from the run directory; empty for the directory itself.
    pub path: PathBuf,
    /// Why it stays.
    pub why: Stays,
}

/// Why something stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stays {
    /// Another file system, or another part of the same one, is mounted there.
    Mounted,
    /// It is a run of its own.
    OtherRun,
    /// Nothing of rankscope made it, and the run does not list it.
    Foreign,
}

impl fmt::Display for Stays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mounted => "a file system is mounted there",
            Self::OtherRun => "it is another run",
            Self::Foreign => "it is not part of the run",
        })
    }
}

/// Whether to remove what is the run's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Look,
    Remove,
}

/// Walks through the run directory `name` in `parent`, and returns what is not the run's, sorted. With [`Task::Remove`] all the
/// rest goes but the manifest, which says what is the run's and has to be there for as long as there is a rest.
///
/// # Errors
/// What the file system refuses; what could be removed until then is gone.
pub(crate) fn clear(parent: &Path, name: &OsStr, task: Task) -> Result<Vec<Left>, Error> {
    let path = parent.join(name);
    let failed = |error: Errno| Error::io(&path, error.into());
    let outside = openat(CWD, parent, FOLDER.difference(OFlags::NOFOLLOW), Mode::empty()).map_err(failed)?;
    let about = look_at(&outside, Path::new(name)).map_err(failed)?;
    let mount = Mount::of(&look_at(&outside, Path::new("")).map_err(failed)?);
    if Mount::of(&about) != mount {
        return Ok(vec![Left { path: PathBuf::new(), why: Stays::Mounted }]);
    }
    let owned = Owned::new(RunDirectory::listed(&path));
    let mut walk = Walk { task, mount, owned, path, left: Vec::new() };
    let folder = openat(&outside, name, FOLDER, Mode::empty()).map_err(|error| walk.failed(Path::new(""), error))?;
    walk.folder(&folder, Path::new(""), 0)?;
    walk.left.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(walk.left)
}

/// The part of a file system that something lies in. A part mounted elsewhere has the device number of the whole and only a
/// number of its own as a mount, which the kernel tells since 5.8; before that the device number has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mount {
    device: (u32, u32),
    number: Option<u64>,
}

impl Mount {
    fn of(about: &Statx) -> Self {
        let told = about.stx_mask & StatxFlags::MNT_ID.bits() != 0;
        Self { device: (about.stx_dev_major, about.stx_dev_minor), number: told.then_some(about.stx_mnt_id) }
    }
}

/// What `name` in `folder` is, or the folder itself for an empty name. Nothing is followed and nothing gets mounted by asking.
fn look_at(folder: &OwnedFd, name: &Path) -> rustix::io::Result<Statx> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::EMPTY_PATH;
    statx(folder, name, flags, StatxFlags::TYPE | StatxFlags::MNT_ID)
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Folders in each other; each costs an open file. Deeper ones no profiler makes, and they stay.
const DEPTH_MAX: usize = 64;

struct Walk {
    task: Task,
    /// Where the whole run has to lie.
    mount: Mount,
    owned: Owned,
    /// Where the run lies, for messages.
    path: PathBuf,
    left: Vec<Left>,
}

impl Walk {
    fn failed(&self, below: &Path, error: Errno) -> Error {
        Error::io(self.path.join(below), io::Error::from(error))
    }

    /// Everything in `folder`, which lies at `below`.
    fn folder(&mut self, folder: &OwnedFd, below: &Path, depth: usize) -> Result<(), Error> {
        for name in names(folder).map_err(|error| self.failed(below, error))? {
            self.entry(folder, &name, &below.join(&name), depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, folder: &OwnedFd, name: &Path, below: &Path, depth: usize) -> Result<(), Error> {
        let about = match look_at(folder, name) {
            Ok(about) => about,
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(self.failed(below, error)),
        };
        let kind = match FileType::from_raw_mode(about.stx_mode.into()) {
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            _ => Kind::File,
        };
        if Mount::of(&about) != self.mount {
            self.stays(below, Stays::Mounted);
            return Ok(());
        }
        if kind == Kind::Folder && look_at(folder, &name.join("run.json")).is_ok() {
            self.stays(below, Stays::OtherRun);
            return Ok(());
        }
        match self.owned.ownership(below, kind) {
            Ownership::Manifest => Ok(()),
            Ownership::Part if kind == Kind::Folder => self.inner_folder(folder, name, below, depth),
            Ownership::Part => self.remove(folder, name, below, AtFlags::empty()),
            // Nothing is lost with a folder that is empty.
            Ownership::None if kind == Kind::Folder && is_empty(folder, name) => {
                self.remove(folder, name, below, AtFlags::REMOVEDIR)
            }
            Ownership::None => {
                self.stays(below, Stays::Foreign);
                Ok(())
            }
        }
    }

    /// A folder that may hold parts of the run; it goes if nothing stays in it.
    fn inner_folder(&mut self, outer: &OwnedFd, name: &Path, below: &Path, depth: usize) -> Result<(), Error> {
        if depth >= DEPTH_MAX {
            self.stays(below, Stays::Foreign);
            return Ok(());
        }
        let folder = openat(outer, name, FOLDER, Mode::empty()).map_err(|error| self.failed(below, error))?;
        let before = self.left.len();
        self.folder(&folder, below, depth + 1)?;
        if self.left.len() > before { Ok(()) } else { self.remove(outer, name, below, AtFlags::REMOVEDIR) }
    }

    fn stays(&mut self, below: &Path, why: Stays) {
        self.left.push(Left { path: below.to_owned(), why });
    }

    fn remove(&mut self, folder: &OwnedFd, name: &Path, below: &Path, flags: AtFlags) -> Result<(), Error> {
        if self.task == Task::Look {
            return Ok(());
        }
        match unlinkat(folder, name, flags) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.failed(below, error)),
        }
    }
}

/// Whether a folder is there to be opened, and nothing in it.
fn is_empty(outer: &OwnedFd, name: &Path) -> bool {
    openat(outer, name, FOLDER, Mode::empty()).and_then(|folder| names(&folder)).is_ok_and(|names| names.is_empty())
}

/// What lies in `folder`, all of it before any of it goes.
fn names(folder: &OwnedFd) -> rustix::io::Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder.as_fd())? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(PathBuf::from(OsStr::from_bytes(name)));
        }
    }
    Ok(names)
}
