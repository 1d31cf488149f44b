//! A judged job as a dataset of Parquet files. Its events are read a second time, as for a timeline: the clock that they are put on is
//! known only now.
//!
//! Files are written into a stage and take their places together, the folder of a run as a whole, and the list of what is there last. In a store,
//! which renames nothing, they come one after the other, and the list last.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rankscope_align::GpuEvent;
use rankscope_analyze::Classes;
use rankscope_dataset::{
    Dialect, EventsOf, FileEntry, Frame, Manifest, NO_GROUP, Numbered, RunEntry, Table, TableEntry, clock, collectives, events,
    is_bounded, kernels, ranks, run_name, steps, views,
};
use rankscope_document::Document;
use rankscope_run::{RunDirectory, SideFile, StagedFolders, is_file, is_stored, read_side};
use rankscope_time::Rank;
use rankscope_trace::Trace;
use rayon::prelude::*;

use crate::frozen_events::write_frozen_events;
use crate::place::add_gpu_events;
use crate::request::Judged;
use crate::{Error, Progress, Stage};

/// Ranks up to which each has a file of events to itself; of more, eight share one, so that a large job does not leave thousands.
pub(crate) const OWN_FILES_MAX: usize = 255;

/// Ranks that share a file, and whose events are in memory at once.
pub(crate) const TOGETHER: usize = 8;

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
        self.write_run(request, document, progress).map(|_| request.folder.join(Manifest::NAME))
    }

    /// Writes this job of parts into a dataset, as [`write_dataset`](Self::write_dataset) does, and beside its parts what a second map wants that
    /// writes its events. Returns the list of what is there.
    ///
    /// # Errors
    /// As [`write_dataset`](Self::write_dataset), and [`Error::Parts`] where nobody wrote the clocks beside the parts.
    pub fn write_dataset_of_parts(
        &self,
        request: &DatasetRequest,
        document: &Document,
        progress: &dyn Progress,
    ) -> Result<PathBuf, Error> {
        let entry = self.write_run(request, document, progress)?;
        if let Some(parts) = &self.parts {
            write_frozen_events(parts, &self.job, entry)?;
        }
        Ok(request.folder.join(Manifest::NAME))
    }

    fn write_run(&self, request: &DatasetRequest, document: &Document, progress: &dyn Progress) -> Result<RunEntry, Error> {
        let staged = StagedFolders::into_directory(&request.folder)?;
        let known = known(&request.folder)?;
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
        let manifest = known.with(entry.clone());
        let lists = lists(&manifest);
        for (name, text) in &lists {
            let refused = |source| Error::Io { path: request.folder.join(name), source };
            staged.write(name, |file| std::io::Write::write_all(file, text.as_bytes()).map_err(refused))?;
        }
        let places = Table::ALL.iter().map(|table| table.folder(&run)).chain(lists.map(|(name, _)| name.to_owned()));
        staged.replace(&places.collect::<Vec<_>>())?;
        Ok(entry)
    }

    /// What the run is called: as its run directory says, else as the folder or file that was named, else as in headings.
    fn run_name(&self, title: &str) -> String {
        let path = Path::new(title);
        if let Ok(run) = RunDirectory::open(path) {
            return run_name(&run.manifest().run_id);
        }
        let place = if is_stored(path) { Some(path.to_owned()) } else { path.canonicalize().ok() };
        let name = place.and_then(|place| Some(place.file_name()?.to_string_lossy().into_owned()));
        run_name(name.as_deref().unwrap_or(title))
    }
}

impl Writer<'_> {
    fn tables(&self, progress: &dyn Progress) -> Result<Vec<TableEntry>, Error> {
        let job = &self.judged.job;
        let mut tables = Vec::new();
        if self.judged.parts.is_none() {
            tables.push(TableEntry::of(Table::Events, self.events(progress)?));
        }
        tables.push(TableEntry::of(Table::Collectives, self.collectives()?));
        for frame in [steps(self.document), kernels(job), clock(job), ranks(job, self.document)] {
            let table = frame.table;
            tables.push(TableEntry::of(table, vec![self.file(table, "part-0.parquet", None, [frame])?]));
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
        let one = |(index, mut trace): (usize, Arc<Trace>)| {
            let gpu = add_gpu_events(&mut trace, self.judged.job.ranks[index].exports.len());
            let of = self.events_of(index, (&trace, &gpu), classes, numbered);
            self.file(Table::Events, &own_name(of.rank), Some(IN_PATH), events(of))
        };
        indices.into_par_iter().zip(traces).map(one).collect()
    }

    /// One file for the ranks at `indices`.
    fn shared_file(&self, indices: Range<usize>, classes: &Classes, numbered: &Numbered) -> Entry {
        let mut traces = self.judged.traces(indices.clone())?;
        let name = shared_name(indices.start);
        let ranks = &self.judged.job.ranks[indices.clone()];
        let gpu: Vec<Vec<GpuEvent>> =
            traces.iter_mut().zip(ranks).map(|(trace, rank)| add_gpu_events(trace, rank.exports.len())).collect();
        let traces = traces.iter().zip(&gpu).map(|(trace, gpu)| (&**trace, &gpu[..]));
        let frames = indices.zip(traces).flat_map(|(index, trace)| events(self.events_of(index, trace, classes, numbered)));
        self.file(Table::Events, &name, None, frames)
    }

    /// Of the rank at `index`, whose trace has what its GPU did.
    fn events_of<'a>(
        &'a self,
        index: usize,
        (trace, gpu): (&'a Trace, &'a [GpuEvent]),
        classes: &'a Classes,
        numbered: &'a Numbered,
    ) -> EventsOf<'a> {
        let (rank, clock) = (&self.judged.job.ranks[index], &self.judged.job.clocks.ranks[index]);
        EventsOf {
            rank: rank.rank,
            map: &clock.map,
            is_bounded: is_bounded(clock),
            steps: &rank.report.steps,
            collectives: numbered.of_rank(index),
            trace,
            gpu,
            classes,
            arguments: self.arguments,
        }
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

/// What is known of the dataset in `folder`.
pub(crate) fn known(folder: &Path) -> Result<Manifest, Error> {
    let list = folder.join(Manifest::NAME);
    if !is_file(&list)? {
        return Ok(Manifest::default());
    }
    Manifest::read(&read_side(&list, SideFile::Record)?).map_err(|source| Error::Dataset { path: list.clone(), source })
}

/// The files that say what is in a dataset, by their names; the list, which goes by the others, last.
pub(crate) fn lists(manifest: &Manifest) -> [(&'static str, String); 3] {
    let views = |dialect: Dialect| (dialect.file(), views(dialect, manifest.layouts()));
    [views(Dialect::DuckDb), views(Dialect::Spark), (Manifest::NAME, manifest.to_json())]
}

/// The column that the path of a file says where a rank has one to itself.
pub(crate) const IN_PATH: &str = "rank";

/// The file of events of `rank`, below the folder of the run.
pub(crate) fn own_name(rank: Rank) -> String {
    format!("{IN_PATH}={}/part-0.parquet", rank.0)
}

/// The file of events of the ranks from the place `first` on.
pub(crate) fn shared_name(first: usize) -> String {
    format!("part-{}.parquet", first / TOGETHER)
}
