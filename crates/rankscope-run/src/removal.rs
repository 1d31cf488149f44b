//! The runs of a folder, and taking one away.
//!
//! A run is renamed to `.trash-rankscope-...` before anything in it is deleted: cut short at any moment, it is either whole under
//! its name or no run any more, and the rest goes the next time. Nothing is deleted that is not a run directory lying in the
//! folder itself, none that is being written, and no link is followed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::directory::WriterLock;
use crate::{Error, RunDirectory, StoredRun};

/// What lies in a folder of runs.
#[derive(Debug, Default)]
pub struct Runs {
    /// Runs, newest first.
    pub runs: Vec<RunDirectory>,
    /// Runs that cannot be read, which nothing touches.
    pub unreadable: Vec<Error>,
    /// What is left of runs whose removal was cut short.
    pub leftovers: Vec<PathBuf>,
}

const TRASH: &str = ".trash-rankscope-";

/// Looks into the folder `parent`. A link to a run is not one of its runs.
///
/// # Errors
/// What the file system refuses of the folder itself.
pub fn runs_in(parent: &Path) -> Result<Runs, Error> {
    let mut found = Runs::default();
    for entry in fs::read_dir(parent).map_err(|error| Error::io(parent, error))? {
        let entry = entry.map_err(|error| Error::io(parent, error))?;
        let path = entry.path();
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if entry.file_name().to_string_lossy().starts_with(TRASH) {
            found.leftovers.push(path);
        } else if RunDirectory::is_run(&path) {
            match RunDirectory::open(&path) {
                Ok(run) => found.runs.push(run),
                Err(error) => found.unreadable.push(error),
            }
        }
    }
    found.runs.sort_by_cached_key(|run| (std::cmp::Reverse(run.started_unix_ns()), run.name()));
    found.leftovers.sort();
    Ok(found)
}

/// Takes the run away that `planned` describes, if it is still that run.
///
/// # Errors
/// [`Error::RunInUse`] where it is being written by now, [`Error::OtherRun`] where another one has come in its place, and what the
/// file system refuses.
pub fn remove_run(parent: &Path, planned: &StoredRun) -> Result<(), Error> {
    let path = parent.join(&planned.name);
    let metadata = path.symlink_metadata().map_err(|error| Error::io(&path, error))?;
    let is_child = Path::new(&planned.name).components().count() == 1 && path.file_name().is_some();
    if !metadata.is_dir() || !is_child || !RunDirectory::is_run(&path) {
        return Err(Error::NotARun { path });
    }
    let lock = WriterLock::take(&path)?;
    let run = RunDirectory::open(&path)?;
    if run.started_unix_ns() != planned.started_unix_ns {
        let there = run.manifest().run_id.clone();
        return Err(Error::OtherRun { path, there, wanted: planned.name.clone() });
    }
    let trash = parent.join(format!("{TRASH}{}-{}", planned.name, planned.started_unix_ns));
    fs::rename(&path, &trash).map_err(|error| Error::io(&path, error))?;
    drop(lock);
    remove_leftover(&trash)
}

/// Deletes what [`runs_in`] found of a run whose removal was cut short.
///
/// # Errors
/// What the file system refuses; what could be deleted is gone.
pub fn remove_leftover(trash: &Path) -> Result<(), Error> {
    let named = trash.file_name().is_some_and(|name| name.to_string_lossy().starts_with(TRASH));
    if !named {
        return Err(Error::NotARun { path: trash.to_owned() });
    }
    fs::remove_dir_all(trash).map_err(|error| Error::io(trash, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Exit, NewRun};

    fn make(parent: &Path, name: &str) -> RunDirectory {
        let new = NewRun {
            run_id: name.to_owned(),
            command: vec!["train".to_owned()],
            world_size: None,
            reference_node: 0,
            restart: 0,
        };
        let run = RunDirectory::create(&parent.join(name), new).unwrap();
        fs::write(run.raw().join("rank-0.json"), "{}").unwrap();
        run
    }

    fn stored(parent: &Path, name: &str) -> StoredRun {
        RunDirectory::open(&parent.join(name)).unwrap().stored().unwrap()
    }

    #[test]
    fn runs_are_found_newest_first_and_nothing_else_is_a_run() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["first", "second", "third"] {
            make(parent.path(), name).finish(Exit::Code(0)).unwrap();
        }
        fs::create_dir(parent.path().join("datasets")).unwrap();
        fs::create_dir(parent.path().join("broken")).unwrap();
        fs::write(parent.path().join("broken/run.json"), "{").unwrap();
        std::os::unix::fs::symlink(parent.path().join("first"), parent.path().join("latest")).unwrap();
        let found = runs_in(parent.path()).unwrap();
        assert_eq!(found.runs.iter().map(RunDirectory::name).collect::<Vec<_>>(), ["third", "second", "first"]);
        assert_eq!((found.unreadable.len(), found.leftovers.len()), (1, 0));
    }

    #[test]
    fn only_the_planned_run_goes() {
        let parent = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("precious"), "").unwrap();
        let running = make(parent.path(), "running");
        assert!(matches!(remove_run(parent.path(), &stored(parent.path(), "running")), Err(Error::RunInUse { .. })));
        drop(running);
        let planned = stored(parent.path(), "running");
        let stale = StoredRun { started_unix_ns: 1, ..planned.clone() };
        assert!(matches!(remove_run(parent.path(), &stale), Err(Error::OtherRun { .. })));

        let inside = parent.path().join("running/raw");
        std::os::unix::fs::symlink(elsewhere.path(), inside.join("link")).unwrap();
        std::os::unix::fs::symlink(parent.path().join("running"), parent.path().join("latest")).unwrap();
        for name in ["latest", "../x", ".", "datasets"] {
            let other = StoredRun { name: name.to_owned(), ..planned.clone() };
            assert!(remove_run(parent.path(), &other).is_err(), "{name}");
        }
        remove_run(parent.path(), &planned).unwrap();
        let left: Vec<_> = fs::read_dir(parent.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["latest"]);
        assert!(elsewhere.path().join("precious").exists(), "links are not followed");
    }

    #[test]
    fn a_removal_that_was_cut_short_is_found_again() {
        let parent = tempfile::tempdir().unwrap();
        drop(make(parent.path(), "run"));
        let trash = parent.path().join(".trash-rankscope-run-5");
        fs::rename(parent.path().join("run"), &trash).unwrap();
        fs::remove_file(trash.join("run.json")).unwrap();
        let found = runs_in(parent.path()).unwrap();
        assert_eq!((found.runs.len(), &found.leftovers), (0, &vec![trash.clone()]));
        remove_leftover(&trash).unwrap();
        assert!(!trash.exists());
        assert!(remove_leftover(parent.path()).is_err());
    }
}
