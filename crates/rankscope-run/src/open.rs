//! Files that somebody named, or that a directory holds, opened to be read.
//!
//! The only place where a path from outside becomes an open file. Whatever is no regular file is refused: opening a pipe may
//! wait for ever, reading a device may never end, and opening one may set it going. What is read whole is read up to a bound,
//! which depends on what it is read as; traces are read piece by piece and need none.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{OFlags, fcntl_setfl};

use crate::{Error, Location, open_source};

/// What a file is read as, whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SideFile {
    /// Settings.
    Config,
    /// What clock agents and probes write: windows, offsets, snapshots, logs of packets.
    Clock,
    /// What plans are made from and of: documents, plans, networks, weights, cases.
    Dispatch,
    /// What this program and its helpers note down beside a run.
    Record,
    /// What mappers note down in a folder of parts.
    Parts,
    /// A list of inputs.
    List,
    /// What torch's allocator wrote about itself.
    MemorySnapshot,
    /// What torch's flight recorder dumped.
    FlightRecorder,
}

impl SideFile {
    /// The most bytes that are read.
    pub const fn bytes_max(self) -> u64 {
        match self {
            Self::Config => 1 << 20,
            // Two days of 64 nodes, placed every four seconds.
            Self::Clock => 1 << 30,
            // Every value of a JSON document takes several times its text in memory.
            Self::Dispatch => 64 << 20,
            // A run's manifest lists its files: a million of them make about 150 MB.
            Self::Record => 256 << 20,
            // A plan lists its inputs: a million of them make about 200 MB.
            Self::Parts => 256 << 20,
            // A million paths of 256 bytes.
            Self::List => 256 << 20,
            // A million events with their stacks are about 300 MB, and take several times that in memory.
            Self::MemorySnapshot => 2 << 30,
            // A full ring of two thousand calls takes one.
            Self::FlightRecorder => 64 << 20,
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Config => "a configuration",
            Self::Clock => "a clock file",
            Self::Dispatch => "a dispatch plan file",
            Self::Record => "a run's manifest",
            Self::Parts => "a plan of parts",
            Self::List => "a list of inputs",
            Self::MemorySnapshot => "a memory snapshot",
            Self::FlightRecorder => "a flight recorder's dump",
        }
    }
}

/// Opens the regular file at `path`, following links, and never waits for anybody.
///
/// # Errors
/// [`Error::NotAFile`] for whatever else lies there, [`Error::NotLocal`], and what the file system refuses.
pub fn open(path: &Path) -> Result<File, Error> {
    let refused = |error| Error::io(path, error);
    if let Some(url) = Location::object(path)? {
        return Err(Error::NotLocal { path: url.to_path() });
    }
    // Asked before opening, which is an act of its own to some devices, and after, because something else may lie there by then.
    check(path, &path.metadata().map_err(refused)?)?;
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(refused)?;
    check(path, &file.metadata().map_err(refused)?)?;
    fcntl_setfl(&file, OFlags::empty()).map_err(|error| refused(error.into()))?;
    Ok(file)
}

fn check(path: &Path, found: &std::fs::Metadata) -> Result<(), Error> {
    let kind = found.file_type();
    let what = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(Error::NotAFile { path: path.to_owned(), what })
}

/// The whole file or object at `path`.
///
/// # Errors
/// As [`open_source`], and [`Error::TooLong`].
pub fn read_side(path: &Path, kind: SideFile) -> Result<Vec<u8>, Error> {
    let file = open_source(path)?;
    let length = file.length_bytes().map_err(|error| Error::io(path, error))?;
    if length > kind.bytes_max() {
        return Err(too_long(path, kind));
    }
    side_bytes(path, file, kind)
}

/// As [`read_side`], for text.
///
/// # Errors
/// As [`read_side`]; bytes that are no UTF-8 are an [`Error::Io`].
pub fn read_side_text(path: &Path, kind: SideFile) -> Result<String, Error> {
    String::from_utf8(read_side(path, kind)?).map_err(|_| Error::io(path, io::Error::other("not text (not UTF-8)")))
}

/// All of `input`, which messages call `name`: the standard input, or what comes out of a compressed file.
///
/// # Errors
/// [`Error::TooLong`], and what `input` fails with.
pub fn side_bytes(name: &Path, input: impl Read, kind: SideFile) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = input.take(kind.bytes_max() + 1).read_to_end(&mut bytes).map_err(|error| Error::io(name, error))?;
    if read as u64 > kind.bytes_max() { Err(too_long(name, kind)) } else { Ok(bytes) }
}

fn too_long(path: &Path, kind: SideFile) -> Error {
    Error::TooLong { path: path.to_owned(), noun: kind.noun(), mib: kind.bytes_max() >> 20 }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn what_might_never_end_is_refused_at_once() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        mkfifoat(CWD, at("rank-0.json"), Mode::RUSR | Mode::WUSR).unwrap();
        let _listener = UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("link")).unwrap();
        let what = |path: &Path| match open(path) {
            Err(Error::NotAFile { what, .. }) => what,
            other => panic!("{}: {other:?}", path.display()),
        };
        assert_eq!(
            ["rank-0.json", "socket", "link", "."].map(|name| what(&at(name))),
            ["a pipe", "a socket", "a device", "a directory"]
        );
        let said = open(&at("rank-0.json")).unwrap_err().to_string();
        assert!(said.contains("rank-0.json: a pipe"), "{said}");
        assert!(matches!(open(&at("none")), Err(Error::Io { .. })));
    }

    #[test]
    fn an_open_file_reads_as_if_it_were_opened_plainly() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a");
        std::fs::write(&path, "text").unwrap();
        let file = open(&path).unwrap();
        assert!(!rustix::fs::fcntl_getfl(&file).unwrap().contains(OFlags::NONBLOCK));
        assert_eq!(read_side_text(&path, SideFile::Config).unwrap(), "text");
    }

    #[test]
    fn more_than_the_bound_is_refused_and_the_bound_named() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("huge");
        File::create(&path).unwrap().set_len(SideFile::Clock.bytes_max() + 1).unwrap();
        let said = read_side(&path, SideFile::Clock).unwrap_err().to_string();
        assert!(said.contains("1024 MiB") && said.contains("clock file"), "{said}");
        // A stream does not say how long it is.
        let said = side_bytes(Path::new("-"), io::repeat(b'1'), SideFile::Config).unwrap_err().to_string();
        assert!(said.contains("1 MiB"), "{said}");
    }
}
