//! Signs of life of a job: what its ranks print, and what is recorded below `raw`.
//!
//! A sign is any byte that a rank started by `-n` prints, and any change of a file of the run: a new one, another length or time, or other
//! content of a live recording, which is memory and changes without either. That processes run is none: ranks that wait may spin.

use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rankscope_recording::LIVE_MAGIC;

/// Folders below `raw` that are looked into: workers of ranks, and theirs.
const DEPTH_MAX: usize = 3;

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
        let mut left = FILES_MAX;
        folder(raw, DEPTH_MAX, &mut left, &mut hasher);
        Self(hasher.finish())
    }

    #[cfg(test)]
    pub(super) const fn of(number: u64) -> Self {
        Self(number)
    }
}

fn folder(path: &Path, depth: usize, left: &mut usize, hasher: &mut DefaultHasher) {
    let mut paths: Vec<_> = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if metadata.is_dir() && depth > 1 {
            folder(&path, depth - 1, left, hasher);
        } else if metadata.is_file() && *left > 0 {
            *left -= 1;
            path.hash(hasher);
            file(&path, &metadata, hasher);
        }
    }
}

fn file(path: &Path, metadata: &Metadata, hasher: &mut DefaultHasher) {
    (metadata.len(), metadata.mtime(), metadata.mtime_nsec()).hash(hasher);
    let Ok(mut file) = rankscope_run::open(path) else { return };
    let mut head = [0; LIVE_MAGIC.len()];
    if file.read_exact(&mut head).is_err() || head != LIVE_MAGIC {
        return;
    }
    let (mut block, mut read) = (vec![0; 1 << 20], 0);
    while read < READ_MAX {
        match file.read(&mut block) {
            Ok(0) | Err(_) => break,
            Ok(count) => {
                hasher.write(&block[..count]);
                read += count as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
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
        fs::write(&live, [&LIVE_MAGIC[..], &[0; 4096]].concat()).unwrap();
        changed("a recording", &mut last);
        let file = fs::File::options().write(true).open(&live).unwrap();
        let time = fs::metadata(&live).unwrap().modified().unwrap();
        std::os::unix::fs::FileExt::write_at(&file, &[1], 2000).unwrap();
        file.set_modified(time).unwrap();
        changed("a span in a recording whose time stays", &mut last);
    }
}
