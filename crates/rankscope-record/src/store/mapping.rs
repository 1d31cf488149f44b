//! The memory behind a recording: runs of chunks, mapped from a file or from nowhere, as long as there is room.
//!
//! A file is made longer before it is mapped, so that a full disk is an error here and not a signal when a page is touched;
//! the limit on file sizes is asked first, because running into it is a signal too.
#![expect(unsafe_code, reason = "mapping memory is what this module is for")]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::ptr;
use std::sync::atomic::AtomicU64;

use rankscope_recording::{CHUNK_BYTES, FILE_HEADER_BYTES};

use super::place::Placed;

/// Where chunks come from.
#[derive(Debug)]
pub(crate) enum Backing {
    /// Memory of this process.
    Memory,
    /// A file, shared with whoever reads it, also after this process is gone.
    File(Placed),
}

impl Backing {
    /// The file, if it is one.
    pub(super) fn file(&self) -> Option<&Placed> {
        match self {
            Self::Memory => None,
            Self::File(placed) => Some(placed),
        }
    }

    /// The file's path.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file().map(|placed| &*placed.path)
    }

    /// Brings what is in memory to the disk. A disk that fails here has its say when the file grows.
    pub(crate) fn flush(&self) {
        if let Self::File(placed) = self {
            let _ = placed.file.sync_data();
        }
    }

    /// Maps `chunks` more chunks behind the first `first`.
    pub(crate) fn grow(&self, first: usize, chunks: usize) -> io::Result<Run> {
        let bytes = chunks * CHUNK_BYTES;
        let base = match self {
            Self::Memory => map(-1, 0, bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE)?,
            Self::File(Placed { file, .. }) => map_file(file, FILE_HEADER_BYTES + first * CHUNK_BYTES, bytes)?,
        };
        Ok(Run { base, bytes })
    }
}

/// Maps so many bytes of `file` from `offset` on, a multiple of a page, and makes room for them first: room that is there now cannot be
/// missing when somebody writes, which would be a signal in somebody else's program. Nothing unmaps them.
///
/// # Errors
/// What the system says: no room, or a limit on the length of files.
pub fn map_file(file: &File, offset: usize, bytes: usize) -> io::Result<*mut u8> {
    check_size_limit((offset + bytes) as u64)?;
    // SAFETY: a system call on a descriptor that is open.
    let failed = unsafe { libc::posix_fallocate(file.as_raw_fd(), offset as i64, bytes as i64) };
    if failed != 0 {
        return Err(io::Error::from_raw_os_error(failed));
    }
    map(file.as_raw_fd(), offset, bytes, libc::MAP_SHARED)
}

fn map(descriptor: RawFd, offset: usize, bytes: usize, flags: libc::c_int) -> io::Result<*mut u8> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address the kernel chooses overlaps nothing.
    let base = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, descriptor, offset as i64) };
    if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(base.cast()) }
}

/// An error if this process may not have a file of that length: to make room beyond the limit would end it by a signal.
pub(super) fn check_size_limit(bytes: u64) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the answer.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } == 0;
    if known && limit.rlim_cur != libc::RLIM_INFINITY && bytes > limit.rlim_cur {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    Ok(())
}

/// A run of mapped chunks.
#[derive(Debug)]
pub(crate) struct Run {
    base: *mut u8,
    bytes: usize,
}

// SAFETY: the memory is only reached through atomics, and unmapped by whoever owns the run.
unsafe impl Send for Run {}
// SAFETY: as above.
unsafe impl Sync for Run {}

impl Run {
    /// The first word of every chunk of the run.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = *mut AtomicU64> {
        let base = self.base;
        (0..self.bytes / CHUNK_BYTES).map(move |at| base.wrapping_add(at * CHUNK_BYTES).cast())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // SAFETY: the run is mapped, and its owner says that nobody will touch it again.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

/// Makes the kernel provide the pages of a chunk now, so that whoever writes it is never stopped by a first touch.
pub(crate) fn prefault(chunk: *mut AtomicU64) {
    // SAFETY: the chunk is mapped; kernels that do not know the advice refuse it, and nothing is lost.
    unsafe { libc::madvise(chunk.cast(), CHUNK_BYTES, libc::MADV_POPULATE_WRITE) };
}

/// Lets go of the resident pages of a chunk. Those of a file keep their content there; those of memory lose it.
pub(crate) fn let_go(chunk: *mut AtomicU64) {
    // SAFETY: the chunk is mapped, and the caller wants exactly this.
    unsafe { libc::madvise(chunk.cast(), CHUNK_BYTES, libc::MADV_DONTNEED) };
}
