//! Dumps of torch's flight recorder: each file by itself, as many at a time as there are processors.

use std::path::{Path, PathBuf};

use rankscope_hang::{Dump, Evidence, rank_of_file};
use rankscope_run::{SideFile, files_in, is_folder};
use rayon::prelude::*;

use crate::inflate::{Inflated, read_inflated};
use crate::{Error, Progress, Stage};

/// Folders below the one that is named: one for each node, and one for each attempt.
const DEPTH_MAX: usize = 3;

/// What the files at `paths` tell.
pub(super) fn read_dumps(paths: &[PathBuf], evidence: &mut Evidence, progress: &dyn Progress) -> Result<(), Error> {
    let mut files = Vec::new();
    for path in paths {
        list(path, DEPTH_MAX, &mut files)?;
    }
    progress.begin(Stage::Reading, files.len());
    let read: Vec<Option<Result<Dump, String>>> = files
        .par_iter()
        .map(|path| {
            let outcome = read(path);
            progress.advance();
            outcome
        })
        .collect();
    progress.end();
    for (path, outcome) in files.iter().zip(read) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        match outcome {
            Some(Ok(dump)) => match dump.rank().or_else(|| rank_of_file(&name)) {
                Some(rank) => evidence.add(rank, &path.display().to_string(), dump),
                None => evidence.problem(format!("{}: left out, as no number in its name says whose it is.", path.display())),
            },
            Some(Err(why)) => evidence.problem(format!("{}: {why}", path.display())),
            None => {}
        }
    }
    Ok(())
}

/// The dump that a file is, or what is wrong with it; nothing where it is something else.
fn read(path: &Path) -> Option<Result<Dump, String>> {
    let bytes = match read_inflated(path, SideFile::FlightRecorder) {
        Ok(bytes) => bytes,
        Err(Inflated::Run(error) | Inflated::Damaged(error)) => return Some(Err(crate::told(&error))),
    };
    match Dump::read(&bytes) {
        Ok(dump) => Some(Ok(dump)),
        Err(error) if error.is_no_dump() => None,
        Err(error) => Some(Err(error.to_string())),
    }
}

/// The files at `path` and below it, in order. Hidden ones are none of a job's.
fn list(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    if !is_folder(path)? {
        files.push(path.to_owned());
        return Ok(());
    }
    let is_hidden = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    for entry in files_in(path)?.into_iter().filter(|entry| !is_hidden(entry)) {
        // What a store lists are objects; asking it of each whether that is a folder would be a request for each.
        if !entry.is_dir() {
            files.push(entry);
        } else if depth > 1 {
            list(&entry, depth - 1, files)?;
        }
    }
    Ok(())
}
