//! A piece of memory of whole words, zero at first: a file where there is a place for one, which then has what was last written
//! into it even when the process is killed; else memory of the process alone.
#![expect(unsafe_code, reason = "memory is mapped by system calls and shared between threads by pointer")]

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use rankscope_record::map_file;

/// Mapped memory; it stays mapped until the process ends, because a callback may be writing it at any time.
#[derive(Debug)]
pub(crate) struct Mapping {
    words: &'static [AtomicU64],
    path: Option<PathBuf>,
}

impl Mapping {
    /// So many words, in a new file at `path` if one is given and can be had.
    ///
    /// # Errors
    /// What the system says where there is no memory at all.
    pub(crate) fn new(path: Option<&Path>, words: usize) -> io::Result<Self> {
        if let Some(path) = path
            && let Ok(words) = in_file(path, words)
        {
            return Ok(Self { words, path: Some(path.to_owned()) });
        }
        Ok(Self { words: in_memory(words)?, path: None })
    }

    /// The words.
    #[inline]
    pub(crate) fn words(&self) -> &'static [AtomicU64] {
        self.words
    }

    /// Takes the file away: whoever ended well needs no evidence.
    pub(crate) fn remove_file(&self) {
        if let Some(path) = &self.path {
            let _gone_already = fs::remove_file(path);
        }
    }
}

fn in_file(path: &Path, words: usize) -> io::Result<&'static [AtomicU64]> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // Rings lie where everybody may put something: nobody else reads this one, and a link is not followed.
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
    let file = options.open(path)?;
    match map_file(&file, 0, words * size_of::<u64>()) {
        // SAFETY: so many words are mapped there, and nothing unmaps them.
        Ok(place) => Ok(unsafe { words_at(place, words) }),
        Err(error) => {
            let _gone_already = fs::remove_file(path);
            Err(error)
        }
    }
}

fn in_memory(words: usize) -> io::Result<&'static [AtomicU64]> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, at an address that the system chooses.
    let place = unsafe { libc::mmap(std::ptr::null_mut(), words * size_of::<u64>(), protection, flags, -1, 0) };
    if place == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: so many words are mapped there, and nothing unmaps them.
    Ok(unsafe { words_at(place.cast(), words) })
}

/// # Safety
/// So many words are mapped at `place`, a page's start, and stay mapped; only atomics reach them.
unsafe fn words_at(place: *mut u8, words: usize) -> &'static [AtomicU64] {
    // SAFETY: the caller says so; a new mapping is zero.
    unsafe { std::slice::from_raw_parts(place.cast::<AtomicU64>(), words) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn what_is_written_is_in_the_file_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b.ring");
        let mapping = Mapping::new(Some(&path), 1024).unwrap();
        mapping.words()[3].store(77, Ordering::Relaxed);
        let bytes = fs::read(&path).unwrap();
        assert_eq!((bytes.len(), bytes[24]), (8192, 77));
        mapping.remove_file();
        assert!(!path.exists());
    }

    #[test]
    fn without_a_place_for_a_file_memory_will_do() {
        let mapping = Mapping::new(Some(Path::new("/proc/no/such/place")), 16).unwrap();
        assert_eq!((mapping.words().len(), mapping.path.is_none()), (16, true));
    }
}
