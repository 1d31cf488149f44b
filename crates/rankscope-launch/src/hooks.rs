//! The Python files that keep a copy of every profile a job exports, and switch profilers on from outside, put where each of its
//! interpreters looks first.

use rankscope_run::{SideFile, read_side};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const FILES: [(&str, &str); 10] = [
    ("sitecustomize.py", include_str!("hooks/sitecustomize.py")),
    ("rankscope_hooks.py", include_str!("hooks/rankscope_hooks.py")),
    ("rankscope_gpus.py", include_str!("hooks/rankscope_gpus.py")),
    ("rankscope_words.py", include_str!("hooks/rankscope_words.py")),
    ("rankscope_windows.py", include_str!("hooks/rankscope_windows.py")),
    ("rankscope_profile.py", include_str!("hooks/rankscope_profile.py")),
    ("rankscope_plan.py", include_str!("hooks/rankscope_plan.py")),
    ("rankscope_agree.py", include_str!("hooks/rankscope_agree.py")),
    // The package's own.
    ("rankscope_job.py", include_str!("../../../python/rankscope/_job.py")),
    ("rankscope_clock_plane.py", include_str!("../../../python/rankscope/_clock_plane.py")),
];

/// A run may begin in a folder that holds what begins so.
pub(crate) const FOLDER: &str = ".rankscope-hooks";

/// Writes them below `run`.
///
/// # Errors
/// What the file system refuses.
pub(crate) fn write(run: &Path) -> io::Result<PathBuf> {
    let folder = run.join(FOLDER);
    fs::create_dir_all(&folder)?;
    for (name, text) in FILES {
        let path = folder.join(name);
        // Another node's processes may be reading it.
        if !read_side(&path, SideFile::Record).is_ok_and(|there| there == text.as_bytes()) {
            fs::write(&path, text)?;
        }
    }
    Ok(folder)
}

/// Takes them away again, with what Python made of them.
pub(crate) fn remove(run: &Path) {
    // A process that the job left behind may be writing there; then they stay.
    let _stays = fs::remove_dir_all(run.join(FOLDER));
}

/// `PYTHONPATH` with `folder` in front of `rest`, which is what it would be otherwise.
pub(crate) fn python_path(folder: &Path, rest: Option<OsString>) -> OsString {
    let mut path = folder.as_os_str().to_owned();
    if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
        path.push(":");
        path.push(rest);
    }
    path
}
