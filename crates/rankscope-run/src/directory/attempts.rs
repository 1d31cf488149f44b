//! Beginning again: what the attempt before left in `raw/` moves to `raw/attempt-<n>/`, and what nodes and ranks said of it from
//! `nodes/` to `nodes/attempt-<n>/`, so that nothing is overwritten and two attempts are never read as one.
//!
//! Moves come before the manifest that counts the new attempt. If they are cut short, the next beginning makes the rest of them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

const FOLDER: &str = "attempt-";

/// Where a rank's earlier traces of the same attempt lie: the newest is the one that counts.
const MORE: &str = "more";

/// Why a trace is not what its rank is first judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aside {
    /// It was followed by a newer trace of the same attempt.
    Followed,
    /// It belongs to an attempt that is over.
    EarlierAttempt,
}

/// Why `path`, in the folder `raw` of a run or of an attempt, lies aside, if it does.
pub(crate) fn set_aside(raw: &Path, path: &Path) -> Option<Aside> {
    let first = path.strip_prefix(raw).ok()?.components().next()?;
    let name = first.as_os_str();
    if name == MORE {
        return Some(Aside::Followed);
    }
    number(&name.to_string_lossy()).map(|_| Aside::EarlierAttempt)
}

/// The folder of the newest attempt that any of `paths` belongs to, unless one of them is the present attempt's.
pub(crate) fn newest_attempt(raw: &Path, paths: &[PathBuf]) -> Option<PathBuf> {
    let folder = |path: &PathBuf| {
        let first = path.strip_prefix(raw).ok()?.components().next()?;
        Some((number(&first.as_os_str().to_string_lossy())?, raw.join(first)))
    };
    let folders: Option<Vec<(u64, PathBuf)>> = paths.iter().map(folder).collect();
    folders?.into_iter().max().map(|(_, folder)| folder)
}

/// Moves what the attempt `number` left in `parent`, if that is there, into its folder.
pub(super) fn put_aside(parent: &Path, number: u32) -> Result<(), Error> {
    let refused = |path: &Path| {
        let path = path.to_owned();
        move |error| Error::io(path, error)
    };
    let folder = parent.join(format!("{FOLDER}{number}"));
    let entries = match fs::read_dir(parent) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(refused(parent))?,
    };
    for entry in entries {
        let entry = entry.map_err(refused(parent))?;
        let name = entry.file_name();
        if self::number(&name.to_string_lossy()).is_some() {
            continue;
        }
        fs::create_dir_all(&folder).map_err(refused(&folder))?;
        let place = free_place(&folder, &name.to_string_lossy());
        fs::rename(entry.path(), &place).map_err(refused(&place))?;
    }
    Ok(())
}

/// The number of the attempt whose folder is called `name`.
fn number(name: &str) -> Option<u64> {
    name.strip_prefix(FOLDER).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

/// Where `name` can lie in `folder` without hiding another.
fn free_place(folder: &Path, name: &str) -> PathBuf {
    let mut place = folder.join(name);
    for number in 2.. {
        if place.symlink_metadata().is_err() {
            break;
        }
        place = folder.join(format!("{number}-{name}"));
    }
    place
}
