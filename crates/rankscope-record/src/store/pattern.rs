//! Placeholders in the path of a live file, so that processes started with the same arguments get files of their own.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::ranks;

/// The path with `%p` as this process's number, `%r` as its rank (0 where no launcher gave it one) and `%%` as a percent sign.
///
/// # Errors
/// The first `%` with anything else behind it, and what that is.
pub(crate) fn filled(path: &Path) -> Result<PathBuf, String> {
    let process = || std::process::id().to_string();
    let rank = || ranks::own().map_or(0, |place| place.rank).to_string();
    filled_with(path, process, rank)
}

/// The path as a pattern that stands for itself.
pub(crate) fn literal(path: &Path) -> PathBuf {
    let doubled =
        path.as_os_str().as_bytes().iter().flat_map(|byte| std::iter::repeat_n(*byte, 1 + usize::from(*byte == b'%')));
    PathBuf::from(OsString::from_vec(doubled.collect()))
}

fn filled_with(path: &Path, process: impl Fn() -> String, rank: impl Fn() -> String) -> Result<PathBuf, String> {
    let mut filled = Vec::new();
    let mut rest = path.as_os_str().as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        filled.extend_from_slice(&rest[..at]);
        match rest.get(at + 1) {
            Some(b'p') => filled.extend_from_slice(process().as_bytes()),
            Some(b'r') => filled.extend_from_slice(rank().as_bytes()),
            Some(b'%') => filled.push(b'%'),
            _ => return Err(String::from_utf8_lossy(&rest[at..]).chars().take(2).collect()),
        }
        rest = &rest[at + 2..];
    }
    filled.extend_from_slice(rest);
    Ok(PathBuf::from(OsString::from_vec(filled)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(path: &str) -> Result<PathBuf, String> {
        filled_with(Path::new(path), || "12".to_owned(), || "3".to_owned())
    }

    #[test]
    fn placeholders_are_filled_in_and_unknown_ones_refused() {
        for (path, expected) in [
            ("a/b.rkr", Ok("a/b.rkr")),
            ("%r/trace-%p.rkr", Ok("3/trace-12.rkr")),
            ("100%%/%%p", Ok("100%/%p")),
            ("%h.rkr", Err("%h")),
            ("a%ä", Err("%ä")),
            ("a%", Err("%")),
        ] {
            assert_eq!(fill(path), expected.map(PathBuf::from).map_err(str::to_owned), "{path}");
        }
    }

    #[test]
    fn a_literal_stands_for_itself() {
        for path in ["a%20b/%p%%", "plain"] {
            assert_eq!(filled(&literal(Path::new(path))), Ok(PathBuf::from(path)));
        }
    }
}
