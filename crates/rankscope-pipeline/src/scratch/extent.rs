//! A temporary file that is read as memory.
//!
//! The only home of unsafe code in this crate: parts of a map are given out as slices. Each part is given out once, so who writes to one
//! is alone with it, and the map lives as long as any part of it.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::{MmapOptions, MmapRaw};
use rankscope_scratch::Room;

/// A file without a name that has room for all its bytes, and its map.
#[derive(Debug)]
pub(super) struct Extent {
    file: File,
    map: MmapRaw,
}

impl Extent {
    /// One of so many bytes in the first of `folders` that is on a disk and has room.
    ///
    /// # Errors
    /// Why none has.
    pub(super) fn in_first(folders: &[PathBuf], bytes: usize) -> Result<Self, String> {
        let mut failed = Vec::new();
        for folder in folders {
            match Self::within(folder, bytes) {
                Ok(extent) => return Ok(extent),
                Err(error) => failed.push(format!("{}: {error}", folder.display())),
            }
        }
        failed.dedup();
        Err(failed.join("; "))
    }

    fn within(folder: &Path, bytes: usize) -> io::Result<Self> {
        if is_in_memory(folder)? {
            return Err(io::Error::other("what is there is in memory, too"));
        }
        let file = tempfile::tempfile_in(folder)?;
        reserve(&file, bytes)?;
        let map = MmapOptions::new().len(bytes).map_raw(&file)?;
        Ok(Self { file, map })
    }

    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    /// Takes out of memory what of it is there. What is read afterwards comes again.
    pub(super) fn let_go(&self) {
        #[cfg(target_os = "linux")]
        #[expect(unsafe_code, reason = "pages of a map are let go of")]
        // SAFETY: the map is shared with its file, which keeps what was written; other pages of the process are not touched.
        let _ = unsafe { self.map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
    }
}

/// Makes room for so many bytes in an empty file, all of which are 0.
#[cfg(target_os = "linux")]
fn reserve(file: &File, bytes: usize) -> io::Result<()> {
    use rustix::io::Errno;
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes as u64) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => fill(file, bytes),
        reserved => Ok(reserved?),
    }
}

#[cfg(not(target_os = "linux"))]
fn reserve(file: &File, bytes: usize) -> io::Result<()> {
    fill(file, bytes)
}

fn fill(mut file: &File, bytes: usize) -> io::Result<()> {
    io::copy(&mut io::Read::take(io::repeat(0), bytes as u64), &mut file).map(drop)
}

/// Whether files in `folder` take memory and not disk.
#[cfg(target_os = "linux")]
fn is_in_memory(folder: &Path) -> io::Result<bool> {
    const TMPFS: u64 = 0x0102_1994;
    const RAMFS: u64 = 0x8584_58f6;
    let kind = rustix::fs::statfs(folder)?.f_type as u64;
    Ok([TMPFS, RAMFS].contains(&(kind & u64::from(u32::MAX))))
}

#[cfg(not(target_os = "linux"))]
fn is_in_memory(_: &Path) -> io::Result<bool> {
    Ok(false)
}

/// A part of a file that is given out once.
#[derive(Debug)]
pub(super) struct Piece {
    extent: Arc<Extent>,
    range: Range<usize>,
}

impl Piece {
    /// That of `extent` in `range`, which nobody else has.
    pub(super) fn of(extent: Arc<Extent>, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= extent.len(), "pieces are within their file");
        Self { extent, range }
    }

    /// Writes `bytes` to those of it from the one numbered `from` on.
    ///
    /// # Panics
    /// If there are not so many.
    pub(super) fn fill(&self, from: usize, bytes: &[u8]) -> io::Result<()> {
        assert!(from + bytes.len() <= self.range.len(), "what is written is within its piece");
        write_at(&self.extent.file, bytes, (self.range.start + from) as u64)
    }
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(not(unix))]
fn write_at(_: &File, _: &[u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Room for Piece {
    fn put(&mut self, from: usize, bytes: &[u8]) {
        // Through the map each page would come to memory first, and the file system be told of it.
        if self.fill(from, bytes).is_err() {
            self.as_mut()[from..from + bytes.len()].copy_from_slice(bytes);
        }
    }
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        #[expect(unsafe_code, reason = "a part of a map as a slice")]
        // SAFETY: the range is within the map, which lives as long as this; whoever writes has it by `&mut`, or did so before it was shared.
        unsafe {
            std::slice::from_raw_parts(self.extent.map.as_ptr().add(self.range.start), self.range.len())
        }
    }
}

impl AsMut<[u8]> for Piece {
    fn as_mut(&mut self) -> &mut [u8] {
        #[expect(unsafe_code, reason = "a part of a map as a slice")]
        // SAFETY: the range is within the map, which lives as long as this, and no other piece has any of it.
        unsafe {
            std::slice::from_raw_parts_mut(self.extent.map.as_mut_ptr().add(self.range.start), self.range.len())
        }
    }
}
