//! From whatever tells of a job that stands still to the verdict: dumps of torch's flight recorder, each file by itself and as many at a
//! time as there are processors, and whoever of the job can be asked.
//!
//! A file that is no dump is passed over, and one that is damaged costs its rank alone; so does one who does not answer.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rankscope_document::HangDocument;
use rankscope_hang::{Dump, Evidence, RasAnswer, rank_of_file};
use rankscope_run::{SideFile, files_in, is_folder};
use rankscope_witness::ras;
use rayon::prelude::*;

use crate::inflate::{Inflated, read_inflated};
use crate::{Error, Progress, Stage};

/// Folders below the one that is named: one for each node, and one for each attempt.
const DEPTH_MAX: usize = 3;

/// How long anybody is waited for who is asked.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// What tells of a job that stands still.
#[derive(Clone, Debug, Default)]
pub struct HangSources {
    /// Dumps, or folders of them.
    pub paths: Vec<PathBuf>,
    /// Where NCCL's RAS service listens.
    pub ras: Option<String>,
}

/// Why a job stands still, by what `sources` tell.
///
/// # Errors
/// [`Error::Run`] for paths that cannot be listed, [`Error::NoDumps`] where there is none, and [`Error::Witness`] where nobody else tells
/// anything.
pub fn hang(sources: &HangSources, progress: &dyn Progress) -> Result<HangDocument, Error> {
    let mut evidence = Evidence::default();
    read_dumps(&sources.paths, &mut evidence, progress)?;
    let silent = sources.ras.as_ref().and_then(|address| ask_ras(address, &mut evidence).err());
    match silent {
        Some(silent) if evidence.is_empty() && sources.paths.is_empty() => Err(silent),
        _ if evidence.is_empty() => Err(Error::NoDumps { path: sources.paths.first().cloned().unwrap_or_default() }),
        silent => {
            silent.into_iter().for_each(|silent| evidence.problem(crate::told(&silent)));
            Ok(evidence.verdict(&title(sources)))
        }
    }
}

/// What NCCL's service says.
fn ask_ras(address: &str, evidence: &mut Evidence) -> Result<(), Error> {
    let bytes = ras::ask(address, ANSWER_WITHIN)?;
    let answer = RasAnswer::read(&bytes).map_err(|source| Error::RasAnswer { address: address.to_owned(), source })?;
    evidence.add_ras(answer);
    Ok(())
}

/// What the files at `paths` tell.
fn read_dumps(paths: &[PathBuf], evidence: &mut Evidence, progress: &dyn Progress) -> Result<(), Error> {
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

fn title(sources: &HangSources) -> String {
    let paths = sources.paths.iter().map(|path| path.display().to_string());
    let all: Vec<String> = paths.chain(sources.ras.iter().map(|address| format!("RAS at {address}"))).collect();
    match all.as_slice() {
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
        [] => String::new(),
    }
}
