//! The runs of a folder, and taking one away.
//!
//! A run is renamed to `.trash-rankscope-...` before anything in it is deleted: cut short at any moment, it is either whole under
//! its name or no run any more, and the rest goes the next time. Nothing is deleted that is not a run directory lying in the
//! folder itself, none that is being written, and of a run only what is its own (see [`crate::clearing`]): what is not comes back
//! under the name of the run.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::clearing::{Task, clear};
use crate::directory::WriterLock;
use crate::{Error, Left, RunDirectory, StoredRun};

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
        if Trash::at(&path).is_some() {
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

/// What would stay of the run `name` in `parent` if it went, sorted.
///
/// # Errors
/// What the file system refuses.
pub fn what_stays(parent: &Path, name: &str) -> Result<Vec<Left>, Error> {
    clear(parent, name.as_ref(), Task::Look)
}

/// Takes the run away that `planned` describes, if it is still that run, and returns what stays of its directory.
///
/// # Errors
/// [`Error::RunInUse`] where it is being written by now, [`Error::OtherRun`] where another one has come in its place, and what
/// the file system refuses.
pub fn remove_run(parent: &Path, planned: &StoredRun) -> Result<Vec<Left>, Error> {
    let path = parent.join(&planned.name);
    let metadata = path.symlink_metadata().map_err(|error| Error::io(&path, error))?;
    let is_child = Path::new(&planned.name).components().count() == 1 && path.file_name().is_some();
    if !metadata.is_dir() || !is_child || !RunDirectory::is_run(&path) {
        return Err(Error::NotARun { path });
    }
    let stays = clear(parent, planned.name.as_ref(), Task::Look)?;
    if stays.iter().any(|left| left.path.as_os_str().is_empty()) {
        return Ok(stays);
    }
    let lock = WriterLock::take(&path)?;
    let run = RunDirectory::open(&path)?;
    if run.started_unix_ns() != planned.started_unix_ns {
        let there = run.manifest().run_id.clone();
        return Err(Error::OtherRun { path, there, wanted: planned.name.clone() });
    }
    let trash = parent.join(Trash::name_for(planned));
    fs::rename(&path, &trash).map_err(|error| Error::io(&path, error))?;
    drop(lock);
    remove_leftover(&trash)
}

/// Deletes what [`runs_in`] found of a run whose removal was cut short, and returns what stays of its directory.
///
/// # Errors
/// What the file system refuses; what could be deleted is gone.
pub fn remove_leftover(trash: &Path) -> Result<Vec<Left>, Error> {
    let Some(Trash { parent, name, of_run }) = Trash::at(trash) else {
        return Err(Error::NotARun { path: trash.to_owned() });
    };
    let left = clear(parent, name.as_ref(), Task::Remove)?;
    if left.is_empty() {
        return remove_emptied(trash).map(|()| left);
    }
    // As long as the manifest is there it says what is the run's: a removal that is cut short here goes on as that of a run.
    let back = parent.join(of_run);
    let place = if RunDirectory::is_run(trash) && !back.exists() && fs::rename(trash, &back).is_ok() { &back } else { trash };
    remove_manifest(place)?;
    Ok(left)
}

/// Deletes what is the run's at `path`, in place, and the directory if nothing else lies there. For the writer of a run that is
/// nothing yet.
pub(crate) fn take_back(path: &Path) -> Result<(), Error> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    match clear(parent, name, Task::Remove)?.is_empty() {
        true => remove_emptied(path),
        false => remove_manifest(path),
    }
}

/// The name of a run on its way out: `.trash-rankscope-<name>-<start>`.
struct Trash<'a> {
    parent: &'a Path,
    name: &'a str,
    of_run: &'a str,
}

impl<'a> Trash<'a> {
    const PREFIX: &'static str = ".trash-rankscope-";

    fn name_for(run: &StoredRun) -> String {
        format!("{}{}-{}", Self::PREFIX, run.name, run.started_unix_ns.max(0))
    }

    fn at(path: &'a Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let (of_run, start) = name.strip_prefix(Self::PREFIX)?.rsplit_once('-')?;
        let is_named = !of_run.is_empty() && !start.is_empty() && start.bytes().all(|byte| byte.is_ascii_digit());
        is_named.then_some(Self { parent: path.parent()?, name, of_run })
    }
}

fn remove_manifest(run: &Path) -> Result<(), Error> {
    let path = run.join("run.json");
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io(path, error)),
        _ => Ok(()),
    }
}

fn remove_emptied(run: &Path) -> Result<(), Error> {
    remove_manifest(run)?;
    fs::remove_dir(run).map_err(|error| Error::io(run, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Exit, NewRun, Stays};

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
        assert_eq!(remove_leftover(&trash).unwrap(), []);
        assert!(!trash.exists());
        assert!(remove_leftover(parent.path()).is_err());
        for somebodys in [".trash-rankscope-mine", ".trash-rankscope--5", "trash"] {
            fs::create_dir(parent.path().join(somebodys)).unwrap();
            assert!(remove_leftover(&parent.path().join(somebodys)).is_err(), "{somebodys}");
        }
        assert_eq!(runs_in(parent.path()).unwrap().leftovers.len(), 0);
    }

    #[test]
    fn what_is_not_the_runs_stays_where_it_was() {
        let parent = tempfile::tempdir().unwrap();
        let mut run = make(parent.path(), "run");
        fs::create_dir(run.path().join("out")).unwrap();
        fs::write(run.path().join("out/model.bin"), "of the job").unwrap();
        run.finish(Exit::Code(0)).unwrap();
        drop(run);
        let at = |below: &str| parent.path().join("run").join(below);
        drop(make(&at("out"), "inner"));
        fs::create_dir_all(at("thesis/figures")).unwrap();
        fs::create_dir(at("empty")).unwrap();
        fs::create_dir(at("report")).unwrap();
        for file in ["thesis/text.tex", "raw/notes.txt", "raw/rank-1.json.gz", "report/report.html", "timeline.pftrace"] {
            fs::write(at(file), "later").unwrap();
        }
        let expected: Vec<Left> =
            [("out/inner", Stays::OtherRun), ("raw/notes.txt", Stays::Foreign), ("thesis", Stays::Foreign)]
                .map(|(path, why)| Left { path: path.into(), why })
                .into();
        assert_eq!(what_stays(parent.path(), "run").unwrap(), expected);
        assert!(at("timeline.pftrace").exists(), "to look removes nothing");
        assert_eq!(remove_run(parent.path(), &stored(parent.path(), "run")).unwrap(), expected);
        let mut files: Vec<_> = glob::glob(&at("**/*").display().to_string()).unwrap().map(Result::unwrap).collect();
        files.retain(|path| path.is_file() && !path.starts_with(at("out/inner")));
        assert_eq!(files, [at("raw/notes.txt"), at("thesis/text.tex")]);
        assert!(at("thesis/figures").is_dir() && RunDirectory::is_run(&at("out/inner")) && !RunDirectory::is_run(&at("")));
        let found = runs_in(parent.path()).unwrap();
        assert_eq!((found.runs.len(), found.leftovers.len()), (0, 0));
    }
}
