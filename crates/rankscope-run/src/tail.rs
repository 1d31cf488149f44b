//! The end of a file that others write line by line, for who looks at it again and again.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use crate::{Error, open};

/// The last whole lines of the file at `path`, of at most `bytes_max` bytes: all of a file that is no longer. A line that is longer than
/// that is left out.
///
/// # Errors
/// As [`open`], and what the file system refuses.
pub fn last_lines(path: &Path, bytes_max: u64) -> Result<Vec<u8>, Error> {
    let refused = |error| Error::io(path, error);
    let mut file = open(path)?;
    let length = file.metadata().map_err(refused)?.len();
    let mut lines = Vec::new();
    if length <= bytes_max {
        file.take(bytes_max).read_to_end(&mut lines).map_err(refused)?;
        return Ok(lines);
    }
    // With the byte before, which says whether a line begins there.
    file.seek(SeekFrom::Start(length - bytes_max - 1)).map_err(refused)?;
    file.take(bytes_max + 1).read_to_end(&mut lines).map_err(refused)?;
    let begin = lines.iter().position(|byte| *byte == b'\n').map_or(lines.len(), |at| at + 1);
    lines.drain(..begin);
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_of_the_end_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        std::fs::write(&path, "one\ntwo\nthree\n").unwrap();
        for (bytes_max, expected) in [
            (100, "one\ntwo\nthree\n"),
            (14, "one\ntwo\nthree\n"),
            (13, "two\nthree\n"),
            (10, "two\nthree\n"),
            (9, "three\n"),
            (6, "three\n"),
            (5, ""),
        ] {
            assert_eq!(last_lines(&path, bytes_max).unwrap(), expected.as_bytes(), "{bytes_max}");
        }
        // One that is still written stands at the end.
        std::fs::write(&path, "one\ntw").unwrap();
        assert_eq!(last_lines(&path, 5).unwrap(), b"tw");
        assert!(last_lines(&folder.path().join("nothing"), 5).is_err());
    }
}
