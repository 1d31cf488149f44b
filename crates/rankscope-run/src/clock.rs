//! Files of clock synchronisation, told apart by their names, and where a name says nothing by what they hold.
//!
//! `windows-node<k>.jsonl` holds windows, as do the origin's `probe_windows_node<ID>.jsonl`; `offsets.jsonl` and its
//! `round_offsets.jsonl` hold offsets. In a run directory they lie in `clock/`.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::{Error, files_in, is_file, is_folder, open_source};

/// Files of clock synchronisation, each once and in order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockFiles {
    /// Of windows, one a node.
    pub windows: Vec<PathBuf>,
    /// Of offsets.
    pub offsets: Vec<PathBuf>,
}

/// What `paths` mean: files as they are, and of directories those that are named like files of clock synchronisation.
///
/// # Errors
/// [`Error::Missing`], [`Error::NoClocks`], and what the file system refuses.
pub fn clock_files(paths: &[PathBuf]) -> Result<ClockFiles, Error> {
    let mut found = ClockFiles::default();
    for path in paths {
        if is_folder(path)? {
            in_directory(path, &mut found)?;
        } else if path.exists() || is_file(path)? {
            let list = if holds_offsets(path) { &mut found.offsets } else { &mut found.windows };
            list.push(path.clone());
        } else {
            return Err(Error::Missing { path: path.clone() });
        }
    }
    for list in [&mut found.windows, &mut found.offsets] {
        list.sort();
        list.dedup();
    }
    Ok(found)
}

/// Whether a file that somebody named is one of offsets. One that cannot be read is taken for windows, whose reader says why.
fn holds_offsets(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if name.contains("offsets") || name.contains("windows") {
        return name.contains("offsets");
    }
    let mut head = Vec::new();
    let read = open_source(path).map(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    let head = String::from_utf8_lossy(&head);
    matches!(read, Ok(Ok(_))) && head.contains("\"offset_ns\"") && !head.contains("\"edges\"")
}

/// Holds the header and a row of either kind.
const HEAD_BYTES: u64 = 65_536;

fn in_directory(directory: &Path, found: &mut ClockFiles) -> Result<(), Error> {
    let inner = directory.join("clock");
    let directory = if is_folder(&inner)? { inner } else { directory.to_owned() };
    let before = found.windows.len() + found.offsets.len();
    for path in files_in(&directory)? {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name == "offsets.jsonl" || name == "round_offsets.jsonl" {
            found.offsets.push(path);
        } else if name.ends_with(".jsonl") && name.contains("windows") && name.contains("node") && !name.starts_with('.') {
            found.windows.push(path);
        }
    }
    if found.windows.len() + found.offsets.len() == before {
        return Err(Error::NoClocks { path: directory });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn names_tell_windows_from_offsets() {
        let root = tempfile::tempdir().unwrap();
        let clock = root.path().join("clock");
        fs::create_dir(&clock).unwrap();
        for name in ["windows-node1.jsonl", "probe_windows_node0.jsonl", "offsets.jsonl", "snapshots-node0.jsonl", "notes.txt"]
        {
            fs::write(clock.join(name), "").unwrap();
        }
        let (own, solved) = (clock.join("mine.jsonl"), clock.join("solved.jsonl"));
        fs::write(&own, "").unwrap();
        fs::write(&solved, r#"{"node_id":1,"offset_ns":5}"#).unwrap();
        let found = clock_files(&[root.path().to_owned(), own.clone(), own.clone(), solved.clone()]).unwrap();
        assert_eq!(found.windows, [own, clock.join("probe_windows_node0.jsonl"), clock.join("windows-node1.jsonl")]);
        assert_eq!(found.offsets, [clock.join("offsets.jsonl"), solved]);
    }

    #[test]
    fn nothing_there_is_said() {
        let root = tempfile::tempdir().unwrap();
        assert!(matches!(clock_files(&[root.path().to_owned()]), Err(Error::NoClocks { .. })));
        assert!(matches!(clock_files(&[root.path().join("x")]), Err(Error::Missing { .. })));
    }
}
