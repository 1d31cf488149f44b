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

/// Whether `path`, in the folder `raw` of a run, belongs to an attempt that is over, or was followed by a newer trace.
pub(crate) fn is_set_aside(raw: &Path, path: &Path) -> bool {
    let first = path.strip_prefix(raw).ok().and_then(|below| below.components().next());
    first.is_some_and(|name| name.as_os_str() == MORE || is_folder(&name.as_os_str().to_string_lossy()))
}

/// Moves what the attempt `number` left in `parent`, if that is there, into its folder.
pub(super) fn set_aside(parent: &Path, number: u32) -> Result<(), Error> {
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
        if is_folder(&name.to_string_lossy()) {
            continue;
        }
        fs::create_dir_all(&folder).map_err(refused(&folder))?;
        let place = free_place(&folder, &name.to_string_lossy());
        fs::rename(entry.path(), &place).map_err(refused(&place))?;
    }
    Ok(())
}

fn is_folder(name: &str) -> bool {
    name.strip_prefix(FOLDER).is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
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
