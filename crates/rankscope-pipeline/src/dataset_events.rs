//! The second map of a dataset: the events of each rank, on the job's clock, made by any number of workers once a merge has written all the rest.
//!
//! Each file appears whole, with a note of its rows beside it, so that what is done is not done again. Whoever finds all files there lists them in the
//! dataset and takes the notes away: what is there then is what `report --parquet` writes of the same traces, byte by byte.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use rankscope_align::GpuEvent;
use rankscope_analyze::Classes;
use rankscope_dataset::{EventsOf, FileEntry, RunEntry, Table, TableEntry, events};
use rankscope_formats::ArgsPolicy;
use rankscope_run::{Outputs, lengths_below, remove_file, write_file};
use rankscope_time::Rank;
use rankscope_trace::Trace;
use rayon::prelude::*;

use crate::dataset::{IN_PATH, OWN_FILES_MAX, TOGETHER, known, lists, own_name, shared_name};
use crate::division::Shard;
use crate::error::PartsFault;
use crate::frozen_events::{KnownOfEvents, MergedRun};
use crate::job_clocks::{FrozenClocks, FrozenRank, read_frozen_clocks};
use crate::parts_folder::{read_json, read_plan_of, replace_json};
use crate::place::add_gpu_events;
use crate::traces_again::TracesAgain;
use crate::{Error, Progress, Stage};

/// Which events are to be written, and where to.
#[derive(Clone, Debug)]
pub struct EventsRequest {
    /// The folder of parts, which were merged into the dataset. Relative paths of its plan start where this process stands.
    pub parts: PathBuf,
    /// The dataset.
    pub dataset: PathBuf,
    /// Which of its files of events to do.
    pub shard: Shard,
    /// Whether all arguments of events are written.
    pub arguments: bool,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventsSummary {
    /// Files of the shard.
    pub files: usize,
    /// Those that were done before.
    pub done_before: usize,
    /// Rows of its files.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files of the job that are not done yet, by anybody.
    pub missing: usize,
}

/// Writes the events of a shard of the ranks into the dataset that the last merge of `request` wrote.
///
/// # Errors
/// [`Error::Parts`] where nobody has merged into a dataset, or into another one, [`Error::Changed`] for a trace that is not what was mapped, and
/// what writing fails with.
pub fn write_events(request: &EventsRequest, progress: &dyn Progress) -> Result<EventsSummary, Error> {
    let plan = read_plan_of(&request.parts)?;
    let clocks = read_frozen_clocks(&request.parts)?;
    let run = MergedRun::read(&request.parts)?;
    let classes = plan.rules().compiled()?;
    let args = if request.arguments { ArgsPolicy::All } else { ArgsPolicy::Analysis };
    let writer = Writer {
        request,
        folder: request.dataset.join(Table::Events.folder(&run.entry.run)),
        traces: TracesAgain::of(&plan, args)?,
        files: files(&clocks),
        clocks,
        classes,
        run,
    };
    match known(&request.dataset)?.run(&writer.run.entry.run) {
        Some(there) if *there == writer.run.entry => writer.map(progress),
        // All of it is done.
        Some(there) if is_with_events(there, &writer.run.entry) => Ok(writer.listed(there)),
        _ => {
            let fault = PartsFault::OtherDataset { parts: request.parts.clone(), dataset: request.dataset.clone() };
            Err(Error::Parts { path: request.dataset.clone(), fault })
        }
    }
}

/// Whether `there` is `merged`, and its events.
fn is_with_events(there: &RunEntry, merged: &RunEntry) -> bool {
    let events = there.tables.iter().find(|table| table.table == Table::Events.name());
    events.is_some_and(|events| *there == merged.clone().with(events.clone()))
}

/// One file of events.
struct EventsFile {
    /// From the folder of the run on.
    name: String,
    /// The places of its ranks.
    ranks: Range<usize>,
    in_path: Option<&'static str>,
}

/// Those of a job, as `report --parquet` lays them out.
fn files(clocks: &FrozenClocks) -> Vec<EventsFile> {
    let ranks = &clocks.ranks;
    if ranks.len() <= OWN_FILES_MAX {
        let own = |(at, rank): (usize, &FrozenRank)| EventsFile {
            name: own_name(rank.rank()),
            ranks: at..at + 1,
            in_path: Some(IN_PATH),
        };
        return ranks.iter().enumerate().map(own).collect();
    }
    let shared =
        |first: usize| EventsFile { name: shared_name(first), ranks: first..ranks.len().min(first + TOGETHER), in_path: None };
    (0..ranks.len()).step_by(TOGETHER).map(shared).collect()
}

struct Writer<'a> {
    request: &'a EventsRequest,
    /// Of events of the run.
    folder: PathBuf,
    traces: TracesAgain<'a>,
    files: Vec<EventsFile>,
    clocks: FrozenClocks,
    classes: Classes,
    run: MergedRun,
}

/// A rank, as far as its events want it.
struct RankRead {
    rank: Rank,
    map: rankscope_align::RankMap,
    known: KnownOfEvents,
    trace: Arc<Trace>,
    gpu: Vec<GpuEvent>,
}

impl Writer<'_> {
    fn map(&self, progress: &dyn Progress) -> Result<EventsSummary, Error> {
        let own: Vec<usize> = (0..self.files.len()).filter(|at| self.request.shard.holds(*at)).collect();
        let there = lengths_below(&self.folder)?;
        progress.begin(Stage::Writing, own.len());
        let one = |at: &usize| {
            let done = self.write_once(*at, &there);
            progress.advance();
            done
        };
        // The traces of a file that ranks share are in memory at once; those of several would be too many.
        let is_shared = self.files.len() < self.clocks.ranks.len();
        let done: Result<Vec<EventsSummary>, Error> =
            if is_shared { own.iter().map(one).collect() } else { own.par_iter().map(one).collect() };
        progress.end();
        let mut summary = done?.into_iter().fold(EventsSummary::default(), EventsSummary::and);
        summary.missing = self.list()?;
        Ok(summary)
    }

    /// Writes the file at the place `at`, unless that is done by what is `there`.
    fn write_once(&self, at: usize, there: &BTreeMap<String, u64>) -> Result<EventsSummary, Error> {
        let file = &self.files[at];
        if let Some(done) = self.done(at, there) {
            return Ok(EventsSummary { done_before: 1, ..EventsSummary::of(&done) });
        }
        let ranks: Vec<RankRead> =
            self.clocks.ranks[file.ranks.clone()].par_iter().map(|rank| self.read(rank)).collect::<Result<_, _>>()?;
        let path = self.folder.join(&file.name);
        let (folder, name) = (path.parent().unwrap_or(&self.folder), rankscope_run::file_name(&path));
        let mut outputs = Outputs::among_many(folder)?.replacing();
        let mut rows = 0;
        outputs.write(&name, |to| {
            let frames = ranks.iter().flat_map(|rank| events(self.events_of(rank)));
            let refused = |source| Error::Parquet { file: self.place(file), source };
            rows = rankscope_dataset::write(Table::Events, file.in_path, frames, to).map_err(refused)?.rows;
            Ok::<(), Error>(())
        })?;
        let done = FileEntry { path: self.place(file), rows, bytes: outputs.bytes()? };
        outputs.commit()?;
        replace_json(&self.folder.join(Self::note(at)), &done)?;
        Ok(EventsSummary::of(&done))
    }

    fn read(&self, rank: &FrozenRank) -> Result<RankRead, Error> {
        let fault = |fault| Error::Parts { path: self.request.parts.clone(), fault };
        let (map, known) = (rank.map().map_err(fault)?, self.run.events_of(&self.request.parts, rank.rank())?);
        let mut trace = Arc::new(self.traces.of_rank(rank)?);
        let gpu = add_gpu_events(&mut trace, rank.traces.len());
        Ok(RankRead { rank: rank.rank(), map, known, trace, gpu })
    }

    fn events_of<'a>(&'a self, rank: &'a RankRead) -> EventsOf<'a> {
        EventsOf {
            rank: rank.rank,
            map: &rank.map,
            is_bounded: rank.known.is_bounded,
            steps: &rank.known.steps,
            collectives: &rank.known.collectives,
            trace: &rank.trace,
            gpu: &rank.gpu,
            classes: &self.classes,
            arguments: self.request.arguments,
        }
    }

    /// Where `file` lies in the dataset.
    fn place(&self, file: &EventsFile) -> String {
        format!("{}/{}", Table::Events.folder(&self.run.entry.run), file.name)
    }

    /// What notes that the file at the place `at` is done is called, in the folder. Engines pass over such names.
    fn note(at: usize) -> String {
        format!("_done-{at:06}.json")
    }

    /// What is noted of the file at the place `at`, if that lies among what is `there` in the folder, by how long each is.
    fn done(&self, at: usize, there: &BTreeMap<String, u64>) -> Option<FileEntry> {
        let note = Self::note(at);
        let done: FileEntry = there.contains_key(&note).then(|| read_json(&self.folder.join(&note)).ok()).flatten()?;
        let file = &self.files[at];
        (done.path == self.place(file) && there.get(&file.name) == Some(&done.bytes)).then_some(done)
    }

    /// Lists the events in the dataset, if all of them are there; returns how many files are not.
    fn list(&self) -> Result<usize, Error> {
        let there = lengths_below(&self.folder)?;
        let done: Vec<FileEntry> = (0..self.files.len()).into_par_iter().filter_map(|at| self.done(at, &there)).collect();
        let missing = self.files.len() - done.len();
        let dataset = &self.request.dataset;
        let known = known(dataset)?;
        if missing > 0 {
            // Another one may have listed them meanwhile, and taken the notes.
            let there = known.run(&self.run.entry.run);
            return Ok(if there.is_some_and(|there| is_with_events(there, &self.run.entry)) { 0 } else { missing });
        }
        let manifest = known.with(self.run.entry.clone().with(TableEntry::of(Table::Events, done)));
        for (name, text) in lists(&manifest) {
            let path = dataset.join(name);
            let refused = |source| Error::Io { path: path.clone(), source };
            write_file(&path, |file| std::io::Write::write_all(file, text.as_bytes()).map_err(refused))?;
        }
        // Whoever comes later goes by the list.
        (0..self.files.len()).for_each(|at| drop(remove_file(&self.folder.join(Self::note(at)))));
        Ok(0)
    }

    /// What the shard comes to, where all of it is listed in `there`.
    fn listed(&self, there: &RunEntry) -> EventsSummary {
        let files = there.tables.iter().filter(|table| table.table == Table::Events.name()).flat_map(|table| &table.files);
        let own = files.enumerate().filter(|(at, _)| self.request.shard.holds(*at));
        own.map(|(_, file)| EventsSummary { done_before: 1, ..EventsSummary::of(file) })
            .fold(EventsSummary::default(), EventsSummary::and)
    }
}

impl EventsSummary {
    fn of(file: &FileEntry) -> Self {
        Self { files: 1, rows: file.rows, bytes: file.bytes, ..Self::default() }
    }

    fn and(self, other: Self) -> Self {
        Self {
            files: self.files + other.files,
            done_before: self.done_before + other.done_before,
            rows: self.rows + other.rows,
            bytes: self.bytes + other.bytes,
            missing: self.missing + other.missing,
        }
    }
}
