//! A judged job as a dataset of Parquet files. Its events are read a second time, as for a timeline: the clock that they are put on is
//! known only now.
//!
//! Files are written into a stage and take their places together, the folder of a run as a whole, and the list of what is there last.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rankscope_analyze::Classes;
use rankscope_dataset::{
    Dialect, EventsOf, FileEntry, Frame, Manifest, NO_GROUP, Numbered, RunEntry, Table, TableEntry, clock, collectives, events,
    kernels, ranks, run_name, steps, views,
};
use rankscope_document::Document;
use rankscope_run::{RunDirectory, SideFile, StagedFolders, read_side};
use rankscope_trace::Trace;
use rayon::prelude::*;

use crate::request::Judged;
use crate::{Error, Progress, Stage};

/// Ranks up to which each has a file of events to itself; of more, eight share one, so that a large job does not leave thousands.
const OWN_FILES_MAX: usize = 255;

/// Ranks that share a file, and whose events are in memory at once.
const TOGETHER: usize = 8;

/// A dataset to be written.
#[derive(Clone, Debug)]
pub struct DatasetRequest {
    /// Its folder, which may hold other runs.
    pub folder: PathBuf,
    /// Whether all arguments of events are written, which must have been read.
    pub arguments: bool,
}

/// One file of the dataset, and where it is written.
type Entry = Result<FileEntry, Error>;

/// A writer at work.
struct Writer<'a> {
    judged: &'a Judged,
    document: &'a Document,
    staged: &'a StagedFolders,
    run: &'a str,
    arguments: bool,
}

impl Judged {
    /// Writes this job, of which `document` is the whole report, into a dataset. Returns the list of what is there. Of a job that was judged
    /// by its parts there are no events.
    ///
    /// # Errors
    /// [`Error::Dataset`] for what is no dataset of ours, [`Error::Parquet`], [`Error::Run`], and those of [`trace`](Self::trace).
    pub fn write_dataset(
        &self,
        request: &DatasetRequest,
        document: &Document,
        progress: &dyn Progress,
    ) -> Result<PathBuf, Error> {
        let staged = StagedFolders::into_directory(&request.folder)?;
        let list = request.folder.join(Manifest::NAME);
        let known = match list.exists() {
            true => Manifest::read(&read_side(&list, SideFile::Record)?)
                .map_err(|source| Error::Dataset { path: list.clone(), source })?,
            false => Manifest::default(),
        };
        let run = self.run_name(&document.title);
        let writer = Writer { judged: self, document, staged: &staged, run: &run, arguments: request.arguments };
        progress.begin(Stage::Writing, self.job.ranks.len());
        let tables = writer.tables(progress);
        progress.end();
        let entry = RunEntry {
            run: run.clone(),
            rankscope_version: document.rankscope_version.clone(),
            clock: self.job.clocks.method.name().to_owned(),
            ranks: self.job.ranks.len() as u64,
            tables: tables?,
        };
        let manifest = known.with(entry);
        let text = |name: &str, text: String| {
            let refused = |source| Error::Io { path: request.folder.join(name), source };
            staged.write(name, |file| std::io::Write::write_all(file, text.as_bytes()).map_err(refused))
        };
        let dialects = [Dialect::DuckDb, Dialect::Spark];
        for dialect in dialects {
            text(dialect.file(), views(dialect, manifest.layouts()))?;
        }
        text(Manifest::NAME, manifest.to_json())?;
        let mut places: Vec<String> = Table::ALL.iter().map(|table| table.folder(&run)).collect();
        places.extend(dialects.map(|dialect| dialect.file().to_owned()));
        places.push(Manifest::NAME.to_owned());
        staged.replace(&places)?;
        Ok(list)
    }

    /// What the run is called: as its run directory says, else as the folder or file that was named, else as in headings.
    fn run_name(&self, title: &str) -> String {
        let path = Path::new(title);
        if let Ok(run) = RunDirectory::open(path) {
            return run_name(&run.manifest().run_id);
        }
        let name = path.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        run_name(name.as_deref().unwrap_or(title))
    }
}

impl Writer<'_> {
    fn tables(&self, progress: &dyn Progress) -> Result<Vec<TableEntry>, Error> {
        let job = &self.judged.job;
        let mut tables = Vec::new();
        if self.judged.parts.is_none() {
            tables.push(entry(Table::Events, self.events(progress)?));
        }
        tables.push(entry(Table::Collectives, self.collectives()?));
        for frame in [steps(self.document), kernels(job), clock(job), ranks(job, self.document)] {
            let table = frame.table;
            tables.push(entry(table, vec![self.file(table, "part-0.parquet", None, [frame])?]));
        }
        Ok(tables)
    }

    fn collectives(&self) -> Result<Vec<FileEntry>, Error> {
        let buckets: Vec<(String, Vec<Frame>)> = collectives(&self.judged.job).into_iter().collect();
        let one = |(bucket, frames): (String, Vec<Frame>)| {
            let name = format!("group_hash={bucket}/part-0.parquet");
            debug_assert!(bucket != NO_GROUP || frames.iter().all(|frame| frame.rows() == 0));
            self.file(Table::Collectives, &name, None, frames)
        };
        buckets.into_par_iter().map(one).collect()
    }

    fn events(&self, progress: &dyn Progress) -> Result<Vec<FileEntry>, Error> {
        let classes = self.judged.job.rules.compiled()?;
        let numbered = Numbered::of(&self.judged.job);
        let all = self.judged.job.ranks.len();
        let mut files = Vec::new();
        for indices in self.judged.chunks(TOGETHER) {
            if progress.is_cancelled() {
                return Err(Error::Cancelled);
            }
            files.extend(match all <= OWN_FILES_MAX {
                true => self.own_files(indices.clone(), &classes, &numbered)?,
                false => vec![self.shared_file(indices.clone(), &classes, &numbered)?],
            });
            indices.for_each(|_| progress.advance());
        }
        Ok(files)
    }

    /// A file for each rank at `indices`.
    fn own_files(&self, indices: Range<usize>, classes: &Classes, numbered: &Numbered) -> Result<Vec<FileEntry>, Error> {
        let traces = self.judged.traces(indices.clone())?;
        let one = |(index, trace): (usize, Arc<Trace>)| {
            let of = self.events_of(index, &trace, classes, numbered);
            let name = format!("rank={}/part-0.parquet", self.judged.job.ranks[index].rank.0);
            self.file(Table::Events, &name, Some("rank"), events(of))
        };
        indices.into_par_iter().zip(traces).map(one).collect()
    }

    /// One file for the ranks at `indices`.
    fn shared_file(&self, indices: Range<usize>, classes: &Classes, numbered: &Numbered) -> Entry {
        let traces = self.judged.traces(indices.clone())?;
        let name = format!("part-{}.parquet", indices.start / TOGETHER);
        let frames = indices.zip(&traces).flat_map(|(index, trace)| events(self.events_of(index, trace, classes, numbered)));
        self.file(Table::Events, &name, None, frames)
    }

    fn events_of<'a>(&'a self, index: usize, trace: &'a Trace, classes: &'a Classes, numbered: &'a Numbered) -> EventsOf<'a> {
        EventsOf { job: &self.judged.job, index, trace, classes, numbered, arguments: self.arguments }
    }

    /// Writes `frames` as the file `name` of `table`.
    fn file(&self, table: Table, name: &str, in_path: Option<&str>, frames: impl IntoIterator<Item = Frame>) -> Entry {
        let path = format!("{}/{name}", table.folder(self.run));
        let refused = |source| Error::Parquet { file: path.clone(), source };
        let written =
            self.staged.write(&path, |file| rankscope_dataset::write(table, in_path, frames, file).map_err(refused))?;
        Ok(FileEntry { path, rows: written.rows, bytes: written.bytes })
    }
}

fn entry(table: Table, files: Vec<FileEntry>) -> TableEntry {
    TableEntry { table: table.name().to_owned(), rows: files.iter().map(|file| file.rows).sum(), files }
}
