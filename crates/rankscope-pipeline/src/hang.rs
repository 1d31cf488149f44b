//! From whatever tells of a job that stands still to the verdict: dumps, live pages, whoever of the job can be asked, and processes of this
//! host.
//!
//! A file that is no dump is passed over, and one that is damaged costs its rank alone; so does one who does not answer.

mod asked;
mod dumps;
mod followed;
mod kept;
mod pages;

use std::path::PathBuf;

use rankscope_document::HangDocument;
use rankscope_hang::Evidence;

use crate::{Error, Progress};
pub use followed::{FirstJudged, Followed, follow_ras};
use kept::Keeping;

/// A process of the job that can be asked, with its rank, where somebody said it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfRank<T> {
    /// The rank.
    pub rank: Option<u32>,
    /// What it is of.
    pub what: T,
}

/// What tells of a job that stands still.
#[derive(Clone, Debug, Default)]
pub struct HangSources {
    /// Dumps, or folders of them, and at most one run directory whose ranks keep live pages.
    pub paths: Vec<PathBuf>,
    /// Where NCCL's RAS service listens.
    pub ras: Option<String>,
    /// Worker servers of torch's processes. Of one whose rank nobody said, it is the place in this list.
    pub workers: Vec<OfRank<String>>,
    /// Numbers of processes of this host.
    pub processes: Vec<OfRank<u32>>,
    /// A folder, made if it is not there, for all that was told, and the verdict.
    pub keep: Option<PathBuf>,
}

/// Why a job stands still, by what `sources` tell.
///
/// # Errors
/// [`Error::Run`] for paths that cannot be listed or written, [`Error::NoDumps`] where there is none, [`Error::SeveralRuns`] for more than one
/// run, and the first of those who do not answer where nobody else tells anything.
pub fn hang(sources: &HangSources, progress: &dyn Progress) -> Result<HangDocument, Error> {
    let mut evidence = Evidence::default();
    let keeping = Keeping::of(sources.keep.as_deref())?;
    // What moves is looked at first.
    asked::look_at_processes(&sources.processes, &mut evidence, &keeping)?;
    let mut silent = asked::ask_workers(&sources.workers, &mut evidence, &keeping)?;
    if let Some(address) = &sources.ras {
        silent.extend(asked::ask_ras(address, &mut evidence, &keeping).err());
    }
    let (runs, mut paths): (Vec<_>, Vec<_>) = sources.paths.iter().cloned().partition(|path| pages::may_be_in(path));
    if let [first, second, ..] = &runs[..] {
        return Err(Error::SeveralRuns { first: first.clone(), second: second.clone() });
    }
    let run = runs.first();
    if let Some(run) = run {
        match pages::read_pages(run, &mut evidence, &keeping)? {
            Some(found) if sources.processes.is_empty() => asked::look_at_processes(&found, &mut evidence, &keeping)?,
            Some(_) => {}
            // Without pages it is a folder like any other.
            None => paths.push(run.clone()),
        }
    }
    dumps::read_dumps(&paths, &mut evidence, progress)?;
    if evidence.is_empty() {
        if let Some(run) = run {
            return Err(Error::NoPages { path: run.clone() });
        }
        let path = sources.paths.first().cloned();
        return Err(match (path, silent.into_iter().next()) {
            (None, Some(silent)) => silent,
            (path, _) => Error::NoDumps { path: path.unwrap_or_default() },
        });
    }
    silent.iter().for_each(|silent| evidence.problem(crate::told(silent)));
    let document = evidence.verdict(&title(sources));
    keeping.verdict(&document)?;
    Ok(document)
}

fn title(sources: &HangSources) -> String {
    let paths = sources.paths.iter().map(|path| path.display().to_string());
    let ras = sources.ras.iter().map(|address| format!("RAS at {address}"));
    let workers = match sources.workers.len() {
        0 => None,
        1 => Some("1 worker server".to_owned()),
        some => Some(format!("{some} worker servers")),
    };
    let processes = match sources.processes.len() {
        0 => None,
        1 => Some("1 process".to_owned()),
        some => Some(format!("{some} processes")),
    };
    let all: Vec<String> = paths.chain(workers).chain(ras).chain(processes).collect();
    match all.as_slice() {
        [] => String::new(),
        some if some.len() <= 3 => some.join(", "),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}
