//! An output whose name says how it is compressed, and which is never one of the inputs.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use rankscope_formats::{Encoder, Encoding};

use crate::{Error, Location, write_file};

/// Writes the file `path` by `fill`, compressed if its name says so. It is there when all of it is, or not at all.
///
/// # Errors
/// What `fill` says, and what the file system refuses.
pub fn write_encoded<E: From<Error>>(
    path: &Path,
    fill: impl FnOnce(&mut Encoder<&mut BufWriter<&mut File>>) -> Result<(), E>,
) -> Result<(), E> {
    write_file(path, |file| {
        let mut encoder = Encoding::of_name(&file_name(path)).encoder(file).map_err(|error| Error::io(path, error))?;
        fill(&mut encoder)?;
        Ok(encoder.finish().map_err(|error| Error::io(path, error))?)
    })
}

/// The last part of `path`, of which the suffix says what is written.
pub fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The folder that `path` lies in: of a mere name the one in which this process is.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether two paths lead to one file, or to one object.
pub fn same_file(a: &Path, b: &Path) -> bool {
    match (Location::of(a), Location::of(b)) {
        (Ok(Location::Local(a)), Ok(Location::Local(b))) => {
            matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
        }
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// Refuses to write what is being read.
///
/// # Errors
/// [`Error::SameFile`] names the input.
pub fn refuse_same_file(inputs: &[PathBuf], output: &Path) -> Result<(), Error> {
    match inputs.iter().find(|input| same_file(input, output)) {
        Some(input) => Err(Error::SameFile { path: input.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn an_input_is_never_an_output_whatever_it_is_called() {
        let root = tempfile::tempdir().unwrap();
        let input = root.path().join("a.json");
        std::fs::write(&input, "x").unwrap();
        let link = root.path().join("b.json");
        std::os::unix::fs::symlink(&input, &link).unwrap();
        let refused = refuse_same_file(std::slice::from_ref(&input), &link).unwrap_err().to_string();
        assert!(
            refused.ends_with("a.json: input and output are the same file, and rankscope never changes its inputs"),
            "{refused}"
        );
        refuse_same_file(&[input], &root.path().join("c.json")).unwrap();
        let object = PathBuf::from("s3://bucket/a.json");
        assert!(refuse_same_file(std::slice::from_ref(&object), Path::new("s3://bucket/a.json")).is_err());
        refuse_same_file(&[object], Path::new("s3://bucket/b.json")).unwrap();
    }

    #[test]
    fn what_fails_halfway_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.json.gz");
        let failed = write_encoded(&path, |encoder| {
            encoder.write_all(b"half").map_err(|error| Error::io(&path, error))?;
            Err(Error::WrongClock)
        });
        assert!(failed.is_err() && !path.exists());
        write_encoded(&path, |encoder| encoder.write_all(b"all").map_err(|error| Error::io(&path, error))).unwrap();
        assert_eq!(std::fs::read(&path).unwrap()[..2], [0x1f, 0x8b]);
    }
}
