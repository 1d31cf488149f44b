//! Files of a run's folders, for who reads what ranks write there: workers' folders included, links not followed.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

/// Folders that are looked into: workers of ranks, and theirs.
const DEPTH_MAX: usize = 3;

/// The first `most` files below `folder`, those of each folder in order of their names, with what the file system says of each.
pub(crate) fn files_below(folder: &Path, most: usize) -> Vec<(PathBuf, Metadata)> {
    let mut found = Vec::new();
    gather(folder, DEPTH_MAX, most, &mut found);
    found
}

fn gather(folder: &Path, depth: usize, most: usize, found: &mut Vec<(PathBuf, Metadata)>) {
    let mut paths: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if metadata.is_dir() && depth > 1 {
            gather(&path, depth - 1, most, found);
        } else if metadata.is_file() && found.len() < most {
            found.push((path, metadata));
        }
    }
}
