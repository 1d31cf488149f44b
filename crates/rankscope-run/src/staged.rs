//! Folders of outputs that take their places together.
//!
//! What a dataset is made of lies in many folders, too many files to hold open at once. So they are written below one hidden folder
//! beside their places, and renamed when the last is complete: a folder that was there goes as a whole, so that nothing of an earlier
//! writer is left in it. What a killed process left goes when the next one begins, as with single files.
//!
//! A store renames nothing. What goes there is written here first and put there when all of it is complete, place by place, and then what an
//! earlier writer left in that place is taken away; whoever reads meanwhile goes by what is put last.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempDir};

use crate::open::open;
use crate::output::put_file;
use crate::stores::{Put, writable_stores};
use crate::{Error, Location, lengths_below, pending, remove_file};

/// Outputs below one folder, in the making.
#[derive(Debug)]
pub struct StagedFolders {
    target: PathBuf,
    stage: TempDir,
    /// Its lock tells others that the stage is in use; none where the target is in a store, whose stage nobody looks for.
    alive: Option<NamedTempFile>,
}

/// Encoders write small; the disk should not notice.
const BUFFER_BYTES: usize = 1 << 20;

/// Where what is replaced goes first.
const REPLACED: &str = "replaced";

impl StagedFolders {
    /// Outputs that will lie in `target`, which is made if it is not there.
    ///
    /// # Errors
    /// What the file system refuses, [`Error::Url`], and [`Error::Store`] for a web server, which takes nothing.
    pub fn into_directory(target: &Path) -> Result<Self, Error> {
        let refused = |error| Error::io(target, error);
        let local = match Location::of(target)? {
            Location::Local(local) => local,
            Location::Object(url) => {
                writable_stores(target, &url)?;
                return Ok(Self { target: target.to_owned(), stage: tempfile::tempdir().map_err(refused)?, alive: None });
            }
        };
        fs::create_dir_all(&local).map_err(refused)?;
        pending::clear_abandoned_stages(&local);
        let stage = pending::begin_stage(&local).map_err(refused)?;
        let alive = pending::begin(stage.path()).map_err(refused)?;
        Ok(Self { target: local.into_owned(), stage, alive: Some(alive) })
    }

    /// Writes the file at `place` from the target on by `fill`, in the stage for now. Any number of threads may.
    ///
    /// # Errors
    /// What `fill` fails with, and what the file system refuses, as [`Error::Io`] with the path that the file is to have.
    pub fn write<T, E>(&self, place: &str, fill: impl FnOnce(&mut BufWriter<File>) -> Result<T, E>) -> Result<T, E>
    where
        E: From<Error>,
    {
        let refused = |error| E::from(Error::io(self.target.join(place), error));
        let path = self.stage.path().join(place);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(refused)?;
        }
        let mut writer = BufWriter::with_capacity(BUFFER_BYTES, File::create(&path).map_err(refused)?);
        let filled = fill(&mut writer)?;
        writer.into_inner().map_err(|error| refused(error.into_error()))?;
        Ok(filled)
    }

    /// Gives `places` to what was written there, files and folders from the target on, in this order; what lies there goes, even where
    /// nothing was written.
    ///
    /// # Errors
    /// What the file system or the store refuses.
    pub fn replace(self, places: &[String]) -> Result<(), Error> {
        match self.alive {
            Some(_) => self.rename(places),
            None => places.iter().try_for_each(|place| self.put(place)),
        }
    }

    fn rename(&self, places: &[String]) -> Result<(), Error> {
        let replaced = self.stage.path().join(REPLACED);
        for (number, place) in places.iter().enumerate() {
            let (from, to) = (self.stage.path().join(place), self.target.join(place));
            let refused = |error| Error::io(to.clone(), error);
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).map_err(refused)?;
            }
            if to.is_dir() {
                fs::create_dir_all(&replaced).map_err(refused)?;
                fs::rename(&to, replaced.join(number.to_string())).map_err(refused)?;
            }
            if from.exists() {
                fs::rename(&from, &to).map_err(refused)?;
            }
        }
        Ok(())
    }

    fn put(&self, place: &str) -> Result<(), Error> {
        let (from, to) = (self.stage.path().join(place), self.target.join(place));
        let put = |from: &Path, to: &Path| put_file(to, &mut open(from)?, Put::Replace);
        if from.is_file() {
            return put(&from, &to);
        }
        let written = lengths_below(&from)?;
        let mut left = lengths_below(&to)?;
        for name in written.keys() {
            put(&from.join(name), &to.join(name))?;
            left.remove(name);
        }
        left.keys().try_for_each(|name| remove_file(&to.join(name)))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn write(staged: &StagedFolders, place: &str, text: &str) {
        let fill = |file: &mut BufWriter<File>| file.write_all(text.as_bytes()).map_err(|error| Error::io(place, error));
        staged.write(place, fill).expect("a disk");
    }

    #[test]
    fn a_folder_is_replaced_as_a_whole_and_others_stay() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let first = StagedFolders::into_directory(root.path()).expect("a stage");
        for place in ["events/run=a/1", "events/run=a/2", "events/run=b/1", "list"] {
            write(&first, place, "first");
        }
        assert!(!root.path().join("list").exists());
        first.replace(&["events/run=a".into(), "events/run=b".into(), "list".into()]).expect("renamed");
        let second = StagedFolders::into_directory(root.path()).expect("a stage");
        write(&second, "events/run=a/1", "second");
        write(&second, "list", "second");
        second.replace(&["events/run=a".into(), "clock/run=a".into(), "list".into()]).expect("renamed");
        let read = |place: &str| fs::read_to_string(root.path().join(place)).ok();
        assert_eq!(read("events/run=a/1").as_deref(), Some("second"));
        assert_eq!(read("list").as_deref(), Some("second"));
        assert_eq!(read("events/run=a/2"), None);
        assert_eq!(read("events/run=b/1").as_deref(), Some("first"));
        let hidden =
            fs::read_dir(root.path()).expect("there").flatten().filter(|entry| entry.file_name().as_encoded_bytes()[0] == b'.');
        assert_eq!(hidden.count(), 0);
    }

    #[test]
    fn what_fails_leaves_nothing_and_what_was_killed_is_cleared_away() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let alive = StagedFolders::into_directory(root.path()).expect("a stage");
        let failed = alive.write("events/1", |_| Err::<(), Error>(Error::NoTraces { path: "x".into() }));
        assert!(failed.is_err());
        // A killed process runs no destructors, and its lock goes with it.
        let killed = StagedFolders::into_directory(root.path()).expect("a stage");
        let StagedFolders { stage, alive: lock, .. } = killed;
        let left = stage.keep();
        let (_, path) = lock.expect("of a folder here").keep().expect("a file");
        assert!(path.exists());
        let next = StagedFolders::into_directory(root.path()).expect("a stage");
        assert!(!left.exists() && alive.stage.path().exists());
        drop((next, alive));
        assert_eq!(fs::read_dir(root.path()).expect("there").count(), 0);
    }
    #[test]
    fn where_nobody_speaks_to_stores_a_url_is_refused_and_leaves_no_folder() {
        let refused = StagedFolders::into_directory(Path::new("s3://bucket/dataset")).expect_err("a URL");
        assert!(matches!(&refused, Error::Url { path } if path == Path::new("s3://bucket/dataset")), "{refused}");
        assert!(!Path::new("s3:").exists());
    }
}
