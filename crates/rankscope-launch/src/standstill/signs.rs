//! Signs of life of a job: what its ranks print, and what is recorded below `raw`.
//!
//! A sign is any byte that a rank started by `-n` prints, and any change of a file of the run: a new one, another length or time, or other
//! content of a live recording, which is memory and changes without either. What the recorder notes by itself, which is where clocks stand,
//! is none, and neither is that processes run: ranks that wait may spin.

use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rankscope_recording::{CHUNK_BYTES, CHUNK_HEADER_WORDS, ChunkHeader, ChunkKind, FILE_HEADER_BYTES, LIVE_MAGIC};

use crate::below::files_below;

/// Files that are looked at, at most.
const FILES_MAX: usize = 16_384;

/// Bytes of one recording that are read.
const READ_MAX: u64 = 64 << 20;

/// All signs, as one number: only whether it changes matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Signs(u64);

impl Signs {
    /// What is to be seen now.
    pub(super) fn now(raw: &Path, printed: Option<&AtomicU64>) -> Self {
        let mut hasher = DefaultHasher::new();
        printed.map(|printed| printed.load(Ordering::Relaxed)).hash(&mut hasher);
        for (path, metadata) in files_below(raw, FILES_MAX) {
            path.hash(&mut hasher);
            file(&path, &metadata, &mut hasher);
        }
        Self(hasher.finish())
    }

    #[cfg(test)]
    pub(super) const fn of(number: u64) -> Self {
        Self(number)
    }
}

fn file(path: &Path, metadata: &Metadata, hasher: &mut DefaultHasher) {
    metadata.len().hash(hasher);
    let Ok(file) = rankscope_run::open(path) else { return };
    let mut magic = [0; LIVE_MAGIC.len()];
    if file.read_exact_at(&mut magic, 0).is_err() || magic != LIVE_MAGIC {
        (metadata.mtime(), metadata.mtime_nsec()).hash(hasher);
        return;
    }
    let mut chunk = vec![0; CHUNK_BYTES];
    for at in (FILE_HEADER_BYTES as u64..READ_MAX).step_by(CHUNK_BYTES) {
        match file.read_at(&mut chunk, at) {
            Ok(0) | Err(_) => break,
            Ok(count) if holds_anchors(&chunk[..count]) => {}
            Ok(count) => hasher.write(&chunk[..count]),
        }
    }
}

/// Whether a chunk holds nothing but where clocks stand, which is noted time and again whatever the program does.
fn holds_anchors(chunk: &[u8]) -> bool {
    let words: Vec<u64> = chunk.as_chunks().0.iter().take(CHUNK_HEADER_WORDS).map(|word| u64::from_le_bytes(*word)).collect();
    let header = words.try_into().ok().and_then(|words| ChunkHeader::from_words(&words));
    header.is_some_and(|header| header.kind == ChunkKind::Anchors)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rankscope_recording::ChunkState;

    use super::*;

    #[test]
    fn printing_writing_and_recording_are_signs_and_time_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let printed = AtomicU64::new(0);
        let signs = || Signs::now(folder.path(), Some(&printed));
        let mut last = signs();
        assert_eq!(signs(), last);
        let changed = |what: &str, last: &mut Signs| {
            let now = signs();
            assert_ne!(now, *last, "{what}");
            assert_eq!(signs(), now, "{what}");
            *last = now;
        };
        printed.store(7, Ordering::Relaxed);
        changed("printed", &mut last);
        fs::create_dir(folder.path().join("rank-0.workers")).unwrap();
        let trace = folder.path().join("rank-0.workers/1.json");
        fs::write(&trace, "[").unwrap();
        changed("a new file", &mut last);
        fs::write(&trace, "[]").unwrap();
        changed("a longer file", &mut last);
        let live = folder.path().join("rank-0.rkr");
        let chunk = |kind: ChunkKind| {
            let header = ChunkHeader {
                kind,
                state: ChunkState::Open,
                shared: false,
                generation: 1,
                stream: 1,
                sequence: 0,
                base_tick: 0,
                first_id: 0,
                used_words: 0,
                crc: 0,
                last_tick: 0,
            };
            let mut bytes = header.to_words().map(u64::to_le_bytes).concat();
            bytes.resize(CHUNK_BYTES, 0);
            bytes
        };
        let mut head = LIVE_MAGIC.to_vec();
        head.resize(FILE_HEADER_BYTES, 0);
        fs::write(&live, [head, chunk(ChunkKind::Anchors), chunk(ChunkKind::Events)].concat()).unwrap();
        changed("a recording", &mut last);
        let file = fs::File::options().write(true).open(&live).unwrap();
        let time = fs::metadata(&live).unwrap().modified().unwrap();
        let write = |at: usize| {
            file.write_at(&[1], at as u64).unwrap();
            file.set_modified(time).unwrap();
        };
        write(FILE_HEADER_BYTES + 2_000);
        file.set_modified(std::time::SystemTime::now()).unwrap();
        assert_eq!(signs(), last, "where clocks stand is no sign, whenever it was written");
        write(FILE_HEADER_BYTES + CHUNK_BYTES + 2_000);
        changed("a span in a recording whose time stays", &mut last);
    }
}
