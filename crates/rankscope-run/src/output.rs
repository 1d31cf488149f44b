//! Outputs that appear whole or not at all.
//!
//! Every file is written beside its place under a temporary name; only when all of them are complete do they take their names.
//! Whatever goes wrong before leaves what was there before. What a killed process left under such a name goes when the next one
//! writes into the same directory. What goes to a store is written here first, and then put there in one piece.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::stores::{Put, at, stores, writable_stores};
use crate::{Error, Location, ObjectUrl, folder_of, pending};

/// The files of one report, in the making.
#[derive(Debug)]
pub struct Outputs {
    directory: PathBuf,
    /// What becomes of an object that is there; none where files are written.
    store: Option<Put>,
    pending: Vec<(PathBuf, NamedTempFile)>,
    /// Whether what a killed writer left in the directory has been cleared away.
    swept: bool,
}

/// Encoders write small; the disk should not notice.
const BUFFER_BYTES: usize = 1 << 20;

impl Outputs {
    /// Outputs that will lie in `directory`, which is made if it is not there.
    ///
    /// # Errors
    /// What the file system refuses, [`Error::Url`], and [`Error::Store`] for a web server, which takes nothing.
    pub fn into_directory(directory: &Path) -> Result<Self, Error> {
        match Location::of(directory)? {
            Location::Local(local) => {
                fs::create_dir_all(&local).map_err(|error| Error::io(directory, error))?;
                Ok(Self { directory: local.into_owned(), store: None, pending: Vec::new(), swept: false })
            }
            Location::Object(url) => {
                writable_stores(directory, &url)?;
                Ok(Self { directory: directory.to_owned(), store: Some(Put::Replace), pending: Vec::new(), swept: true })
            }
        }
    }

    /// The same for one writer of thousands into one directory: what killed ones left there stays for others to clear away, as looking
    /// for it takes as long as the directory is. Of objects that several write, which are the same ones, the first stays.
    ///
    /// # Errors
    /// As [`Self::into_directory`].
    pub fn among_many(directory: &Path) -> Result<Self, Error> {
        let outputs = Self::into_directory(directory)?;
        Ok(Self { swept: true, store: outputs.store.map(|_| Put::Once), ..outputs })
    }

    /// The same where an object that is there is replaced: it may be of an earlier writing, which was another one.
    #[must_use]
    pub fn replacing(self) -> Self {
        Self { store: self.store.map(|_| Put::Replace), ..self }
    }

    /// Writes the file `name` by `fill`, under a temporary name for now.
    ///
    /// # Errors
    /// What `fill` fails with, and what the file system refuses, as [`Error::Io`] with the path.
    pub fn write<E>(&mut self, name: &str, fill: impl FnOnce(&mut BufWriter<&mut File>) -> Result<(), E>) -> Result<(), E>
    where
        E: From<Error>,
    {
        let path = self.directory.join(name);
        let refused = |error: io::Error| E::from(Error::io(path.clone(), error));
        let begun = if self.store.is_some() { NamedTempFile::new() } else { pending::begin(&self.directory) };
        let mut file = begun.map_err(refused)?;
        if !std::mem::replace(&mut self.swept, true) {
            pending::clear_abandoned(&self.directory, &file);
        }
        {
            let mut writer = BufWriter::with_capacity(BUFFER_BYTES, file.as_file_mut());
            fill(&mut writer)?;
            writer.flush().map_err(refused)?;
        }
        self.pending.push((path, file));
        Ok(())
    }

    /// How many bytes are written so far.
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn bytes(&self) -> Result<u64, Error> {
        let of_one = |(path, file): &(PathBuf, NamedTempFile)| match file.as_file().metadata() {
            Ok(about) => Ok(about.len()),
            Err(error) => Err(Error::io(path, error)),
        };
        self.pending.iter().map(of_one).sum()
    }

    /// Gives every file its name, and returns their paths.
    ///
    /// # Errors
    /// What the file system or the store refuses.
    pub fn commit(self) -> Result<Vec<PathBuf>, Error> {
        let mut paths = Vec::with_capacity(self.pending.len());
        for (path, mut file) in self.pending {
            match self.store {
                None => {
                    let begun = file.path().to_owned();
                    file.persist(&path).map_err(|error| Error::io(path.clone(), error.error))?;
                    pending::named(&begun);
                }
                Some(put) => put_file(&path, file.as_file_mut(), put)?,
            }
            paths.push(path);
        }
        Ok(paths)
    }
}

/// Puts `content` where the URL `path` leads.
pub(crate) fn put_file(path: &Path, content: &mut File, put: Put) -> Result<(), Error> {
    let Some(url) = Location::object(path)? else {
        return Err(Error::io(path, io::Error::new(io::ErrorKind::AlreadyExists, "a file of this name appeared meanwhile")));
    };
    content.rewind().map_err(|error| Error::io(path, error))?;
    at(path, stores(&url)?.put(&url, content, put))
}

/// Writes the one object `url`, which was given as `path`.
fn write_object<E: From<Error>>(
    path: &Path,
    url: &ObjectUrl,
    put: Put,
    fill: impl FnOnce(&mut BufWriter<&mut File>) -> Result<(), E>,
) -> Result<(), E> {
    stores(url)?;
    let refused = |error: io::Error| E::from(Error::io(path, error));
    let mut file = tempfile::tempfile().map_err(refused)?;
    let mut writer = BufWriter::with_capacity(BUFFER_BYTES, &mut file);
    fill(&mut writer)?;
    writer.flush().map_err(refused)?;
    drop(writer);
    Ok(put_file(path, &mut file, put)?)
}

/// As [`write_file`], of what several write at the same time, which is the same: in a store the first one stays.
///
/// # Errors
/// As [`write_file`].
pub fn write_among_many<E>(path: &Path, fill: impl FnOnce(&mut BufWriter<&mut File>) -> Result<(), E>) -> Result<(), E>
where
    E: From<Error>,
{
    write_to(path, Put::Once, fill)
}

/// Writes the one file `path` by `fill`. Where a link leads stays where it is, and what is no ordinary file (a device, a pipe) is
/// written into, not replaced.
///
/// # Errors
/// What `fill` fails with, and what the file system refuses.
pub fn write_file<E>(path: &Path, fill: impl FnOnce(&mut BufWriter<&mut File>) -> Result<(), E>) -> Result<(), E>
where
    E: From<Error>,
{
    write_to(path, Put::Replace, fill)
}

/// Writes the one file or object `path`; `put` says what becomes of an object that is there.
fn write_to<E>(path: &Path, put: Put, fill: impl FnOnce(&mut BufWriter<&mut File>) -> Result<(), E>) -> Result<(), E>
where
    E: From<Error>,
{
    match Location::of(path)? {
        Location::Local(local) => write_local(&local, fill),
        Location::Object(url) => write_object(path, &url, put, fill),
    }
}

fn write_local<E>(path: &Path, fill: impl FnOnce(&mut BufWriter<&mut File>) -> Result<(), E>) -> Result<(), E>
where
    E: From<Error>,
{
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => return Err(Error::io(path, io::ErrorKind::IsADirectory.into()).into()),
        Ok(there) if !there.is_file() => return write_into(path, fill),
        _ => {}
    }
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let path = if path.is_symlink() { &target } else { path };
    let Some(name) = path.file_name() else {
        return Err(Error::io(path, io::Error::new(io::ErrorKind::InvalidInput, "not a file name")).into());
    };
    // Whoever names a file is told of that file.
    let mut outputs = Outputs::into_directory(folder_of(path)).map_err(|error| match error {
        Error::Io { reason, .. } => Error::io(path, reason),
        other => other,
    })?;
    outputs.write(&name.to_string_lossy(), fill)?;
    outputs.commit()?;
    Ok(())
}

/// Writes into what is there already; nothing of it can be taken back.
fn write_into<E: From<Error>>(path: &Path, fill: impl FnOnce(&mut BufWriter<&mut File>) -> Result<(), E>) -> Result<(), E> {
    let refused = |error: io::Error| E::from(Error::io(path, error));
    let mut file = File::options().write(true).open(path).map_err(refused)?;
    let mut writer = BufWriter::with_capacity(BUFFER_BYTES, &mut file);
    fill(&mut writer)?;
    writer.flush().map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_appear_together() {
        let root = tempfile::tempdir().unwrap();
        let mut outputs = Outputs::into_directory(&root.path().join("new/report")).unwrap();
        let say = |text: &'static str| {
            move |file: &mut BufWriter<&mut File>| -> Result<(), Error> {
                file.write_all(text.as_bytes()).map_err(|error| Error::io("", error))
            }
        };
        outputs.write("a.txt", say("one")).unwrap();
        outputs.write("b.txt", say("two")).unwrap();
        assert!(!root.path().join("new/report/a.txt").exists());
        outputs.commit().unwrap();
        assert_eq!(names(&root.path().join("new/report")), ["a.txt", "b.txt"]);
    }

    #[test]
    fn a_failure_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let mut outputs = Outputs::into_directory(root.path()).unwrap();
        outputs.write("a.txt", |_| Ok::<_, Error>(())).unwrap();
        let failed = outputs.write("b.txt", |_| Err(Error::NoTraces { path: "x".into() }));
        assert!(failed.is_err());
        drop(outputs);
        assert!(names(root.path()).is_empty());
    }

    #[test]
    fn links_stay_links_and_devices_stay_devices() {
        let root = tempfile::tempdir().unwrap();
        let [link, aim] = ["link", "aim"].map(|name| root.path().join(name));
        fs::write(&aim, "before").unwrap();
        std::os::unix::fs::symlink(&aim, &link).unwrap();
        let say = |file: &mut BufWriter<&mut File>| file.write_all(b"after").map_err(|error| Error::io("", error));
        write_file(&link, say).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&aim).unwrap(), b"after");

        // A link to it, so that a mistake costs the link and not the device.
        let device = root.path().join("device");
        std::os::unix::fs::symlink("/dev/full", &device).unwrap();
        assert!(matches!(write_file(&device, say), Err(Error::Io { .. })));
        assert!(device.is_symlink());
        assert!(matches!(write_file(root.path(), say), Err(Error::Io { .. })));
        assert_eq!(names(root.path()), ["aim", "device", "link"]);
    }
}
