//! From the paths of several runs to the sides of a comparison: traces and parts are judged, saved reports are read.

use std::path::{Path, PathBuf};

use rankscope_compare::{Run, Side};
use rankscope_document::Document;
use rankscope_job::{Analysed, JobTable, Table, TableSet, select_tables};
use rankscope_run::{RunSource, SideRuns, open_source, runs_of};
use serde::de::DeserializeOwned;

use crate::request::{Judged, Request, judged};
use crate::{Error, Progress};

/// One side that a user asks about.
#[derive(Clone, Debug)]
pub struct SideRequest {
    /// What it is called.
    pub label: String,
    /// Where its runs are: each path is one run, or a folder of several.
    pub paths: Vec<PathBuf>,
}

/// Tables of ranks that a change is told by.
const OF_RANKS: [Table; 10] = [
    Table::OpsSummary,
    Table::OpsUniqueArgs,
    Table::KernelSummary,
    Table::Overlap,
    Table::Copies,
    Table::Idle,
    Table::Modules,
    Table::ModuleKernels,
    Table::LaunchOrder,
    Table::Launches,
];

/// Tables of jobs that it is told by.
const OF_JOB: [JobTable; 5] = [
    JobTable::CollectiveSummary,
    JobTable::RankCollectiveSummary,
    JobTable::Collectives,
    JobTable::RankCollectives,
    JobTable::Stragglers,
];

/// Reads every run of `sides`, by what `like` says of reading and judging; its paths are not looked at.
///
/// # Errors
/// [`Error::Side`] names the side, and holds [`Error::Report`] for a saved report that cannot be read, else those of [`judged`].
pub fn read_sides(sides: &[SideRequest], like: &Request, progress: &dyn Progress) -> Result<Vec<Side>, Error> {
    let of = |side: &SideRequest, error| Error::Side { side: side.label.clone(), source: Box::new(error) };
    let sources = |side: &SideRequest| side.paths.iter().map(|path| Ok(runs_of(path)?)).collect::<Result<Vec<_>, Error>>();
    // All are looked for before any is read: a misspelt path is told of at once.
    let found = sides.iter().map(|side| sources(side).map_err(|error| of(side, error)).map(|sources| (side, sources)));
    let found: Vec<(&SideRequest, Vec<SideRuns>)> = found.collect::<Result<_, Error>>()?;
    let read = |(side, sources): (&SideRequest, Vec<SideRuns>)| {
        let runs = sources
            .iter()
            .flat_map(|found| &found.runs)
            .map(|source| run(source, like, progress))
            .collect::<Result<_, Error>>();
        let unfinished = sources.iter().flat_map(|found| &found.unfinished).map(|path| path.display().to_string());
        Ok(Side::new(&side.label, runs.map_err(|error| of(side, error))?).with_unfinished(unfinished.collect()))
    };
    found.into_iter().map(read).collect()
}

fn run(source: &RunSource, like: &Request, progress: &dyn Progress) -> Result<Run, Error> {
    let mut document = match source {
        RunSource::Report(path) => saved(path)?,
        source => traced(source.path(), like, &OF_RANKS, progress)?,
    };
    select_tables(&mut document, &OF_RANKS, &OF_JOB);
    Ok(Run::new(source.path().display().to_string(), document))
}

/// The report of the traces or parts at `path`, with the `tables` of ranks.
pub(crate) fn traced(path: &Path, like: &Request, tables: &[Table], progress: &dyn Progress) -> Result<Document, Error> {
    let mut request = Request { paths: vec![path.to_owned()], ..like.clone() };
    request.mapping.rules.tables = !tables.is_empty();
    request.mapping.tables = TableSet::of(tables.iter().copied());
    let Judged { job, title, .. } = judged(&request, progress).or_else(|error| match error {
        // Parts of a user who asked for no tables have accounts and collectives.
        Error::Parts { fault: crate::PartsFault::NoTables, .. } => {
            request.mapping.rules.tables = false;
            judged(&request, progress)
        }
        error => Err(error),
    })?;
    let analysed = Analysed::of(job, None)?;
    let mut document = analysed.document(&title);
    document.collective_tables = analysed.collective_tables(&OF_JOB);
    Ok(document)
}

/// Newest layout of a report that is read.
const SCHEMA: u32 = 1;

/// What is read of a saved report.
pub(crate) trait Saved: DeserializeOwned {
    /// The version of its layout.
    fn schema(&self) -> u32;
}

impl Saved for Document {
    fn schema(&self) -> u32 {
        self.schema
    }
}

/// The saved report at `path`.
pub(crate) fn saved<D: Saved>(path: &Path) -> Result<D, Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let refused = |reason: String| Error::Report { path: path.to_owned(), reason };
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut open_source(path)?, &mut bytes).map_err(io)?;
    let newer = |schema| refused(format!("schema {schema} is newer than this rankscope; use the version that wrote it"));
    match serde_json::from_slice::<D>(&bytes) {
        Ok(report) if report.schema() > SCHEMA => Err(newer(report.schema())),
        Ok(report) => Ok(report),
        // A newer layout may well not fit; then its number says more than what did not.
        Err(error) => Err(match serde_json::from_slice::<Version>(&bytes) {
            Ok(Version { schema }) if schema > SCHEMA => newer(schema),
            _ => refused(error.to_string()),
        }),
    }
}

#[derive(serde::Deserialize)]
struct Version {
    schema: u32,
}
