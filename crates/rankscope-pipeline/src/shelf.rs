//! Runs of a folder, as a server sees them: their list, their files, and what of their traces is asked for.
//!
//! Whatever is asked for by a name is opened beneath the folder, by [`open_beneath`]: no link and no `..` leads anywhere else. Only traces may
//! lie outside, where whoever started the server said so.

mod calls;
mod client;
mod headline;
mod kernels;
mod reading;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use rankscope_run::{RunDirectory, open_beneath};
use rankscope_serve::{
    Fault, FileCard, KernelQuery, Kernels, NameQuery, Names, Opened, OperatorQuery, Operators, RunCard, Shelf, Tree, TreeQuery,
};

use crate::beside::PAGES;
pub use client::{Client, Patient};
use headline::Headlines;
use reading::{RankRead, TracesRead};

/// A folder with runs in it, or a run by itself.
#[derive(Debug)]
pub struct RunShelf {
    folder: PathBuf,
    /// What the folder is called where it is a run itself.
    single: Option<String>,
    traces: Option<PathBuf>,
    viewer: Option<PathBuf>,
    headlines: Headlines,
    read: TracesRead,
}

/// Files of one run that are listed.
const FILES_MAX: usize = 500;

/// Where the page of `validate --html` is looked for.
const VALIDATIONS: [&[&str]; 2] = [&["report", "validation.html"], &["validation.html"]];
const TIMELINE: &str = "timeline.pftrace";

impl RunShelf {
    /// The runs in `folder`, or the one that it is.
    ///
    /// # Errors
    /// What the file system refuses, and where it is no folder.
    pub fn over(folder: &Path) -> io::Result<Self> {
        if !fs::metadata(folder)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let whole = std::path::absolute(folder)?;
        let name = || whole.file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned());
        let single = is_run(folder).then(name);
        let (headlines, read) = (Headlines::default(), TracesRead::default());
        Ok(Self { folder: whole, single, traces: None, viewer: None, headlines, read })
    }

    /// Details are read from the traces in `traces`, where it is given.
    #[must_use]
    pub fn with_traces(mut self, traces: Option<PathBuf>) -> Self {
        self.traces = traces;
        self
    }

    /// Perfetto's UI is in the folder `viewer`, where it is given.
    #[must_use]
    pub fn with_viewer(mut self, viewer: Option<PathBuf>) -> Self {
        self.viewer = viewer;
        self
    }

    /// What is on it for `client`.
    pub fn for_client(&self, client: Arc<dyn Client>) -> Visit<'_> {
        Visit { shelf: self, client }
    }

    /// What the run is called that the folder is itself, if it is one.
    pub fn single(&self) -> Option<&str> {
        self.single.as_deref()
    }

    fn run(&self, name: &str) -> Result<PathBuf, Fault> {
        let path = match &self.single {
            Some(single) if single == name => return Ok(self.folder.clone()),
            Some(_) => return Err(Fault::NoRun),
            None if name.starts_with('.') || Path::new(name).components().count() != 1 => return Err(Fault::NoRun),
            None => self.folder.join(name),
        };
        let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
        if is_folder && is_run(&path) { Ok(path) } else { Err(Fault::NoRun) }
    }

    fn card(&self, name: String, path: &Path) -> RunCard {
        let has = |names: &[&str]| open_beneath(path, names).is_ok();
        let first_of = |all: &[&[&str]]| all.iter().find(|names| has(names)).map(|names| names.join("/"));
        let (page, validation) = (first_of(&PAGES), first_of(&VALIDATIONS));
        let timeline = has(&[TIMELINE]).then(|| TIMELINE.to_owned());
        let said = self.headlines.of(path);
        let mut card =
            RunCard { name, page, validation, timeline, started_unix_ns: said.written_unix_ns, ..RunCard::default() };
        card.rank = said.place.map(|place| place.rank);
        card.timeline_at = said.place.map(|place| place.arguments()).unwrap_or_default();
        (card.headline, card.ranks, card.problem) = (said.headline, said.ranks, said.problem);
        if RunDirectory::is_run(path) {
            match RunDirectory::open(path) {
                Ok(run) => {
                    card.state = run.manifest().state.name().to_owned();
                    card.started_unix_ns = run.started_unix_ns();
                    card.ranks = card.ranks.or_else(|| run.rank_count());
                }
                Err(error) => card.problem = Some(error.to_string()),
            }
        }
        card
    }
}

/// Whether a folder is one run: a run directory, or what a report was written into.
fn is_run(folder: &Path) -> bool {
    RunDirectory::is_run(folder) || PAGES.iter().any(|names| open_beneath(folder, names).is_ok())
}

/// A shelf as one client sees it: what is read for it is given up once it has gone away.
pub struct Visit<'a> {
    shelf: &'a RunShelf,
    client: Arc<dyn Client>,
}

impl Visit<'_> {
    fn read(&self, run: &str, rank: u32) -> Result<Arc<RankRead>, Fault> {
        self.shelf.read.of(&self.shelf.traces_of(run)?, rank, &self.client)
    }
}

impl Shelf for Visit<'_> {
    fn runs(&self) -> Result<Vec<RunCard>, Fault> {
        let mut cards = match &self.shelf.single {
            Some(name) => vec![self.shelf.card(name.clone(), &self.shelf.folder)],
            None => {
                let names = names_in(&self.shelf.folder)?;
                names
                    .into_iter()
                    .filter_map(|name| self.shelf.run(&name).ok().map(|path| self.shelf.card(name, &path)))
                    .collect()
            }
        };
        cards.sort_by(|a, b| (b.started_unix_ns, &a.name).cmp(&(a.started_unix_ns, &b.name)));
        Ok(cards)
    }

    fn files(&self, run: &str) -> Result<Vec<FileCard>, Fault> {
        let path = self.shelf.run(run)?;
        let mut files = Vec::new();
        for folder in ["", "report"] {
            let Ok(names) = names_in(&path.join(folder)) else { continue };
            for name in names {
                let names = [folder, name.as_str()].into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>();
                let Ok(file) = open_beneath(&path, &names) else { continue };
                files.push(FileCard { path: names.join("/"), bytes: file.metadata()?.len() });
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.truncate(FILES_MAX);
        Ok(files)
    }

    fn open(&self, run: &str, path: &[&str]) -> Result<Opened, Fault> {
        opened(&self.shelf.run(run)?, path)
    }

    fn viewer(&self, path: &[&str]) -> Result<Opened, Fault> {
        opened(self.shelf.viewer.as_ref().ok_or(Fault::NoFile)?, path)
    }

    fn has_viewer(&self) -> bool {
        self.shelf.viewer.is_some()
    }

    fn kernels(&self, run: &str, query: &KernelQuery) -> Result<Kernels, Fault> {
        self.read(run, query.rank)?.work.kernels(query)
    }

    fn names(&self, run: &str, query: &NameQuery) -> Result<Names, Fault> {
        Ok(self.read(run, query.rank)?.work.names(query))
    }

    fn operators(&self, run: &str, query: &OperatorQuery) -> Result<Operators, Fault> {
        calls::operators(&*self.read(run, query.rank)?, query)
    }

    fn tree(&self, run: &str, query: &TreeQuery) -> Result<Tree, Fault> {
        calls::tree(&*self.read(run, query.rank)?, query)
    }
}

impl RunShelf {
    /// Where the traces of `run` are.
    fn traces_of(&self, run: &str) -> Result<PathBuf, Fault> {
        let path = self.run(run)?;
        Ok(match &self.traces {
            // Of several runs each has a folder of its name there, or there is one for all.
            Some(traces) if traces.join(run).is_dir() => traces.join(run),
            Some(traces) => traces.clone(),
            None => path,
        })
    }
}

fn opened(folder: &Path, path: &[&str]) -> Result<Opened, Fault> {
    // What begins with a dot is a lock, or half written.
    if path.iter().any(|name| name.starts_with('.')) {
        return Err(Fault::NoFile);
    }
    let file = open_beneath(folder, path)?;
    Ok(Opened { bytes: file.metadata()?.len(), file: Box::new(file) })
}

/// Names in `folder` that are not hidden, in order.
fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(folder)?.filter_map(Result::ok);
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    Ok(names)
}

/// When a file was written, in nanoseconds since 1970; 0 where the file system does not tell.
fn written_unix_ns(found: &fs::Metadata) -> i64 {
    let since = found.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}
