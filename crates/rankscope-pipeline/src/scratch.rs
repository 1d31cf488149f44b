//! [`ScratchFiles`]: what a job has as much of as rows, in files where memory does not suffice.
//!
//! Up to a budget everything stays on the heap. What comes after it goes to temporary files that have no name, so that nothing is left of
//! them however the process ends, and is read through the memory map. Files are made in one piece before anything is put in them: a full
//! disk is found here, where there is something else to do, and never by whoever reads or writes the map. Where no disk has room, or only
//! one that is itself memory, the heap takes what it can.
//!
//! What the map has in memory goes when the system wants it. Because a process is also judged by what it holds, it is let go of as soon as
//! that is more than a share of the budget; it comes back from the page cache, and from the disk only where the machine needed the memory.

mod extent;
mod residence;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use rankscope_scratch::{Room, Scratch, install};

use self::extent::{Extent, Piece};
use self::residence::Residence;
use crate::memory_default;

/// Temporary files that rows go to, once they are more than a budget.
#[derive(Debug)]
pub struct ScratchFiles {
    /// Looked up when the first bytes come, if nobody said: most commands have none.
    budget_bytes: OnceLock<u64>,
    folders: Vec<PathBuf>,
    /// Bytes on the heap.
    held: Arc<AtomicU64>,
    /// The file that is being filled, and how far it is.
    open: Mutex<Option<(Arc<Extent>, usize)>>,
    residence: OnceLock<Arc<Residence>>,
    file_bytes: AtomicU64,
    /// The least that no disk had room for.
    refused_bytes: AtomicUsize,
    failure: OnceLock<String>,
}

/// Files are so large.
const EXTENT_BYTES: usize = 256 << 20;

/// What is smaller stays on the heap: a page is the least that a map brings to memory.
const PIECE_MIN_BYTES: usize = 1 << 10;

impl ScratchFiles {
    /// In the first of these `folders` that has room on a disk, for what is beyond half of `memory_bytes`, or of
    /// [`memory_default`] without any.
    pub fn in_folders(memory_bytes: Option<u64>, folders: Vec<PathBuf>) -> Self {
        Self {
            budget_bytes: memory_bytes.map(|bytes| (bytes / 2).into()).unwrap_or_default(),
            folders,
            held: Arc::default(),
            open: Mutex::default(),
            residence: OnceLock::new(),
            file_bytes: AtomicU64::new(0),
            refused_bytes: AtomicUsize::new(usize::MAX),
            failure: OnceLock::new(),
        }
    }

    /// Lets whatever this process keeps go there, wherever the system wants temporary files.
    pub fn install(memory_bytes: Option<u64>) -> Arc<Self> {
        let files = Arc::new(Self::in_folders(memory_bytes, folders()));
        install(Some(Arc::clone(&files) as Arc<dyn Scratch>));
        files
    }

    fn budget_bytes(&self) -> u64 {
        *self.budget_bytes.get_or_init(|| memory_default() / 2)
    }

    /// How many bytes were put in files.
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes.load(Relaxed)
    }

    /// Why memory was used in place of files, where it was.
    pub fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// Whether so many bytes more may be on the heap; if so they are counted.
    fn hold(&self, bytes: usize) -> Option<Held> {
        let more = |held: u64| held.checked_add(bytes as u64).filter(|held| *held <= self.budget_bytes());
        self.held.fetch_update(Relaxed, Relaxed, more).ok()?;
        Some(Held { bytes: bytes as u64, of: Arc::clone(&self.held) })
    }

    /// Room for so many bytes in a file.
    fn piece(&self, bytes: usize) -> Option<Piece> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.as_ref().is_none_or(|(extent, filled)| extent.len() - filled < bytes) {
            *open = Some((self.extent(EXTENT_BYTES.max(bytes))?, 0));
        }
        let (extent, filled) = open.as_mut()?;
        let from = *filled;
        // Pieces begin where eight bytes do.
        *filled = (from + bytes).next_multiple_of(8).min(extent.len());
        Some(Piece::of(Arc::clone(extent), from..from + bytes))
    }

    fn extent(&self, bytes: usize) -> Option<Arc<Extent>> {
        // Where no disk had room for as much, none is looked for anew with each piece.
        if bytes >= self.refused_bytes.load(Relaxed) {
            return None;
        }
        match Extent::in_first(&self.folders, bytes) {
            Ok(extent) => {
                let extent = Arc::new(extent);
                self.residence.get_or_init(|| Residence::watched(self.budget_bytes() / 2)).add(&extent);
                Some(extent)
            }
            Err(why) => {
                self.refused_bytes.fetch_min(bytes, Relaxed);
                self.failure.get_or_init(|| why);
                None
            }
        }
    }
}

impl Scratch for ScratchFiles {
    fn keep(&self, bytes: Vec<u8>) -> Bytes {
        if bytes.len() < PIECE_MIN_BYTES {
            return bytes.into_boxed_slice().into();
        }
        if let Some(held) = self.hold(bytes.len()) {
            return Bytes::from_owner(OnHeap { bytes: bytes.into(), _held: held });
        }
        match self.piece(bytes.len()).filter(|piece| piece.fill(0, &bytes).is_ok()) {
            Some(piece) => {
                self.file_bytes.fetch_add(bytes.len() as u64, Relaxed);
                Bytes::from_owner(piece)
            }
            None => bytes.into(),
        }
    }

    fn look(&self) {
        self.residence.get().into_iter().for_each(|residence| residence.look());
    }

    fn room(&self, bytes: usize) -> Option<Box<dyn Room>> {
        if bytes < PIECE_MIN_BYTES {
            return None;
        }
        if let Some(held) = self.hold(bytes) {
            return Some(Box::new(HeapRoom { words: vec![0; bytes.div_ceil(8)], bytes, _held: held }));
        }
        // What no piece had before is 0.
        let piece = self.piece(bytes)?;
        self.file_bytes.fetch_add(bytes as u64, Relaxed);
        Some(Box::new(piece))
    }
}

/// Bytes of the budget, until they are free again.
#[derive(Debug)]
struct Held {
    bytes: u64,
    of: Arc<AtomicU64>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.of.fetch_sub(self.bytes, Relaxed);
    }
}

struct OnHeap {
    bytes: Box<[u8]>,
    _held: Held,
}

impl AsRef<[u8]> for OnHeap {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Words on the heap, as bytes.
#[derive(Debug)]
struct HeapRoom {
    words: Vec<u64>,
    bytes: usize,
    _held: Held,
}

impl AsRef<[u8]> for HeapRoom {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }
}

impl AsMut<[u8]> for HeapRoom {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.bytes]
    }
}

impl Room for HeapRoom {}

/// Folders for what is large and may go at any time, the most fitting first.
fn folders() -> Vec<PathBuf> {
    let named = ["RANKSCOPE_SCRATCH", "TMPDIR"].iter().filter_map(std::env::var_os).map(PathBuf::from);
    // What is in /tmp often is in memory.
    named.chain(cfg!(unix).then(|| PathBuf::from("/var/tmp"))).chain([std::env::temp_dir()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What would be kept: some that stays on the heap, and some that is to go to files.
    fn many() -> Vec<Vec<u8>> {
        (0..200usize).map(|at| (0..at * 97).map(|byte| (byte * 31 + at) as u8).collect()).collect()
    }

    #[test]
    fn what_is_beyond_the_budget_is_in_files_and_reads_the_same() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        for budget_bytes in [0, 100_000, u64::MAX / 2] {
            let files = ScratchFiles::in_folders(Some(2 * budget_bytes), vec![folder.path().to_owned()]);
            let kept: Vec<Bytes> = many().into_iter().map(|bytes| files.keep(bytes)).collect();
            assert_eq!(kept, many());
            let large: u64 = many().iter().map(|bytes| bytes.len() as u64).filter(|len| *len >= PIECE_MIN_BYTES as u64).sum();
            assert!(files.held.load(Relaxed) <= budget_bytes);
            assert_eq!(files.file_bytes() + files.held.load(Relaxed), large);
            assert_eq!((files.file_bytes() == 0, files.failure()), (budget_bytes == u64::MAX / 2, None));
            // Pages that were let go of come again.
            files.residence.get().into_iter().for_each(|residence| residence.let_go());
            assert_eq!(kept, many());
            drop(kept);
            assert_eq!(files.held.load(Relaxed), 0, "what is free may be taken again");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files have no names");
    }

    #[test]
    fn room_is_written_in_any_order_wherever_it_is() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        for budget_bytes in [0, u64::MAX] {
            let files = ScratchFiles::in_folders(Some(budget_bytes), vec![folder.path().to_owned()]);
            let mut room = files.room(100_000).unwrap();
            assert!(room.as_mut().as_ref().iter().all(|byte| *byte == 0));
            let byte = |at: usize| (at % 251) as u8;
            (50_000..100_000usize).rev().for_each(|at| room.as_mut().as_mut()[at] = byte(at));
            (0..50)
                .rev()
                .for_each(|part| room.put(part * 1_000, &(part * 1_000..(part + 1) * 1_000).map(byte).collect::<Vec<u8>>()));
            assert!(room.as_ref().as_ref().iter().zip(0..).all(|(byte, at)| u32::from(*byte) == at % 251));
            assert_eq!(files.file_bytes() > 0, budget_bytes == 0);
        }
        assert!(ScratchFiles::in_folders(Some(0), folders()).room(8).is_none(), "little is on the heap");
    }

    #[test]
    fn where_no_disk_has_room_the_heap_has_it_and_the_reason_is_told() {
        let files = ScratchFiles::in_folders(Some(0), vec!["/nowhere".into(), "/dev/shm".into()]);
        let kept: Vec<Bytes> = many().into_iter().map(|bytes| files.keep(bytes)).collect();
        assert_eq!(kept, many());
        assert!(files.room(100_000).is_none());
        let failure = files.failure().unwrap();
        assert!(failure.contains("/nowhere: ") && failure.contains("/dev/shm: "), "{failure}");
        assert_eq!(files.file_bytes(), 0);
    }
}
