//! The live file that the recorder of a process keeps while that runs, and that is left when it dies.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use rankscope_formats::recording::{self, LiveFile, Recording, packed};

use crate::{Error, open};

/// Opens the live file `path`.
///
/// # Errors
/// [`Error::Packed`] where it is a complete recording, [`Error::Live`] where nothing of it can be read, and what the file system
/// refuses.
pub fn open_live(path: &Path) -> Result<Recording<LiveFile<File>>, Error> {
    let mut file = open(path)?;
    let mut magic = [0; packed::MAGIC.len()];
    if file.read(&mut magic).map_err(|error| Error::io(path, error))? == magic.len() && magic == packed::MAGIC {
        return Err(Error::Packed { path: path.to_owned() });
    }
    file.rewind().map_err(|error| Error::io(path, error))?;
    let live = |reason: recording::Error| Error::Live { path: path.to_owned(), reason: reason.into() };
    Recording::open(LiveFile::open(file).map_err(live)?).map_err(live)
}

/// Where what is recovered of `path` goes: `rank0.recovered.rkr` for `rank0.rkr`, and `rank0.1.recovered.rkr` for the earlier
/// `rank0.rkr.1`, which must not be mixed up.
pub fn recovered_path(path: &Path) -> PathBuf {
    let number =
        path.extension().filter(|it| it.as_encoded_bytes().iter().all(u8::is_ascii_digit)).map(|it| it.to_string_lossy());
    match (number, path.file_stem()) {
        (Some(number), Some(stem)) => path.with_file_name(Path::new(stem).with_extension(format!("{number}.recovered.rkr"))),
        _ => path.with_extension("recovered.rkr"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_earlier_file_has_an_output_of_its_own() {
        for (input, expected) in [
            ("a/rank0.rkr", "a/rank0.recovered.rkr"),
            ("a/rank0.rkr.1", "a/rank0.1.recovered.rkr"),
            ("rank0.rkr.12", "rank0.12.recovered.rkr"),
            ("rank0", "rank0.recovered.rkr"),
        ] {
            assert_eq!(recovered_path(Path::new(input)), Path::new(expected));
        }
    }
}
