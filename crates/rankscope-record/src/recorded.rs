//! [`Recorded`]: what a session recorded, as long as somebody wants it.

use std::path::Path;
use std::sync::Arc;

use rankscope_recording::{CHUNK_HEADER_WORDS, Chunks, Cut, Recording};

use crate::lease::Lease;
use crate::store::Chunk;
#[cfg(feature = "export")]
use crate::store::Store;

/// What a session recorded. Clones share it; the memory is given back with the last.
#[derive(Clone, Debug)]
pub struct Recorded {
    lease: Arc<Lease>,
    cut: Cut,
}

impl Recorded {
    pub(crate) fn new(lease: Arc<Lease>, cut: Cut) -> Self {
        Self { lease, cut }
    }

    /// Opens it for reading, also while other sessions record on.
    ///
    /// # Errors
    /// If it holds nothing that can be read.
    pub fn open(&self) -> Result<Recording<StoreChunks>, rankscope_recording::Error> {
        Recording::open(StoreChunks { lease: self.lease.clone() })
    }

    #[cfg(feature = "export")]
    pub(crate) fn store(&self) -> &Arc<Store> {
        self.lease.store()
    }

    /// Which part of the recording is this session's.
    pub fn cut(&self) -> &Cut {
        &self.cut
    }

    /// The live file it lies in, if it is one.
    pub fn live_file(&self) -> Option<&Path> {
        self.lease.store().path()
    }
}

/// The chunks of a recording in this process.
#[derive(Clone, Debug)]
pub struct StoreChunks {
    lease: Arc<Lease>,
}

impl StoreChunks {
    /// Looks at a chunk. The pages of a file are let go of again: they stay in the file, and all of them together may be more
    /// than there is memory. The neighbours' too, because the kernel brings in some pages around each that is touched.
    fn look<T>(&self, index: u32, look: impl FnOnce(Chunk) -> T) -> Option<T> {
        let store = self.lease.store();
        let seen = look(store.chunk(index)?);
        if store.path().is_some() {
            let around = index.saturating_sub(1)..=index.saturating_add(1);
            around.filter_map(|near| store.chunk(near)).for_each(Chunk::let_go);
        }
        Some(seen)
    }
}

impl Chunks for StoreChunks {
    fn count(&self) -> u32 {
        self.lease.store().chunk_count()
    }

    fn header(&self, index: u32) -> Option<[u64; CHUNK_HEADER_WORDS]> {
        self.look(index, |chunk| chunk.header_words())
    }

    fn copy(&self, index: u32, words: &mut [u64]) -> bool {
        self.look(index, |chunk| chunk.copy(words)).unwrap_or(false)
    }
}
