//! What ran on a rank, read from its trace when somebody asks, and kept while others may ask for more of it.
//!
//! Times are of the rank's own clock and told from the start of the step, so no clock of the job is needed. One trace is read at a time: it may
//! take as much memory as a report on it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rankscope_analyze::{Classes, RankReport, Side, StepWindow};
use rankscope_collectives::RankCollectives;
use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_run::{InputFile, discover};
use rankscope_serve::{Fault, KernelQuery, KernelRow, Kernels, NameQuery, NameRow, Names};
use rankscope_time::Rank;
use rankscope_trace::{StrId, Trace, TrackId, TrackKey, rank_of_name};

use super::written_unix_ns;
use crate::read::{Reading, read_members};

/// Ranks whose work is kept: a step of one is looked at beside that of another.
const KEPT: usize = 4;

/// Files without a rank in their names that are looked into for one.
const UNNAMED_MAX: usize = 16;

/// Work of ranks that was read.
#[derive(Debug, Default)]
pub(super) struct TracesRead {
    kept: Mutex<Vec<(Key, Arc<RankWork>)>>,
    reading: Mutex<()>,
}

/// A rank of the traces in a folder, as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    folder: PathBuf,
    rank: u32,
    files: Vec<(PathBuf, u64, i64)>,
}

impl TracesRead {
    /// What ran on `rank`, whose trace is in `folder`.
    pub(super) fn of(&self, folder: &Path, rank: u32) -> Result<Arc<RankWork>, Fault> {
        let files = files_of(folder, rank)?;
        let stamp = |file: &InputFile| {
            let found = fs::metadata(&file.path).ok();
            let stamp = found.map_or((0, 0), |found| (found.len(), written_unix_ns(&found)));
            (file.path.clone(), stamp.0, stamp.1)
        };
        let key = Key { folder: folder.to_owned(), rank, files: files.iter().map(stamp).collect() };
        if let Some(work) = self.known(&key) {
            return Ok(work);
        }
        let _one_at_a_time = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody may have asked for the same meanwhile.
        if let Some(work) = self.known(&key) {
            return Ok(work);
        }
        let work = Arc::new(read(&files, rank)?);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.truncate(KEPT - 1);
        kept.insert(0, (key, Arc::clone(&work)));
        Ok(work)
    }

    fn known(&self, key: &Key) -> Option<Arc<RankWork>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(own, _)| own == key)?;
        kept[..=at].rotate_right(1);
        kept.first().map(|(_, work)| Arc::clone(work))
    }
}

/// The files in `folder` that may hold `rank`: those named so, else those whose names say no rank.
fn files_of(folder: &Path, rank: u32) -> Result<Vec<InputFile>, Fault> {
    let files = discover(&[folder.to_owned()]).map_err(|error| Fault::NoTraces { why: error.to_string() })?;
    let of = |file: &InputFile| rank_of_name(&file.path.to_string_lossy());
    let (named, unnamed): (Vec<InputFile>, Vec<InputFile>) = files.into_iter().partition(|file| of(file).is_some());
    let own: Vec<InputFile> = named.into_iter().filter(|file| of(file) == Some(Rank(rank))).collect();
    let files = if own.is_empty() { unnamed.into_iter().take(UNNAMED_MAX).collect() } else { own };
    if files.is_empty() { Err(Fault::NoRank { rank }) } else { Ok(files) }
}

fn read(files: &[InputFile], rank: u32) -> Result<RankWork, Fault> {
    let reading = Reading { args: ArgsPolicy::Analysis, scope: Scope::All };
    let (mut work, mut found, mut failed) = (RankWork::default(), false, None);
    for file in files {
        read_members(file, reading, |member| match member.trace {
            Ok(trace) if is_of(&trace, rank, files.len()) => {
                found = true;
                work.add(rank, &trace);
            }
            Ok(_) => {}
            Err(error) => failed = Some(error.to_string()),
        });
    }
    match (found, failed) {
        (true, _) => {
            work.rank = rank;
            work.rows.sort_by_key(|row| row.start_ns);
            Ok(work)
        }
        (false, Some(why)) => Err(Fault::Unreadable { why }),
        (false, None) => Err(Fault::NoRank { rank }),
    }
}

/// Whether `trace`, of so many files, is that of `rank`: a file by itself that says no rank is rank 0, as in reports.
fn is_of(trace: &Trace, rank: u32, files: usize) -> bool {
    trace.provenance.own_rank().map_or(files == 1 && rank == 0, |own| own == Rank(rank))
}

/// What ran on a rank, on its own clock.
#[derive(Debug, Default)]
pub(super) struct RankWork {
    rank: u32,
    side: Side,
    steps: Vec<StepWindow>,
    names: Vec<String>,
    streams: Vec<String>,
    /// In order of their start.
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    start_ns: i64,
    duration_ns: i64,
    class: &'static str,
    name: usize,
    stream: usize,
}

impl RankWork {
    fn add(&mut self, rank: u32, trace: &Trace) {
        let classes = Classes::default();
        // Steps and work need no collectives.
        let none = RankCollectives { rank: Rank(rank), groups: Vec::new(), collectives: Vec::new().into(), steps: Vec::new() };
        let report = RankReport::of(trace, &none, &classes);
        let (side, work) = classes.work(trace);
        self.side = side;
        self.steps.extend(report.steps);
        let mut names: HashMap<StrId, usize> = HashMap::new();
        let mut streams: HashMap<TrackId, usize> = HashMap::new();
        for piece in work {
            let row = trace.spans.row(piece.span);
            let name = *names.entry(row.name).or_insert_with(|| {
                self.names.push(trace.strings.text(row.name).to_owned());
                self.names.len() - 1
            });
            let stream = *streams.entry(row.track).or_insert_with(|| {
                self.streams.push(stream(trace, row.track));
                self.streams.len() - 1
            });
            let (start_ns, duration_ns) = (piece.start_ns, piece.end_ns.saturating_sub(piece.start_ns));
            self.rows.push(Row { start_ns, duration_ns, class: piece.class.name(), name, stream });
        }
    }

    /// The kernels that are asked for.
    pub(super) fn kernels(&self, query: &KernelQuery) -> Result<Kernels, Fault> {
        let (start_ns, end_ns) = match query.step {
            Some(number) => self.window(number)?,
            None => {
                let ends = self.rows.iter().map(|row| row.start_ns.saturating_add(row.duration_ns));
                let start_ns = self.rows.first().map_or(0, |row| row.start_ns);
                (start_ns, ends.max().unwrap_or(0).max(start_ns).saturating_add(1))
            }
        };
        let from = self.rows.partition_point(|row| row.start_ns < start_ns);
        let to = self.rows.partition_point(|row| row.start_ns < end_ns);
        let wanted = self.matching(&query.name);
        let own = || self.rows[from..to.max(from)].iter().filter(|row| wanted[row.name]);
        let row = |row: &Row| KernelRow {
            name: self.names[row.name].clone(),
            class: row.class,
            start_ns: row.start_ns - start_ns,
            duration_ns: row.duration_ns,
            stream: self.streams[row.stream].clone(),
        };
        let count = own().count();
        Ok(Kernels {
            rank: self.rank,
            step: query.step,
            side: if self.side == Side::Device { "device" } else { "host" },
            length_ns: end_ns - start_ns,
            count: count as u64,
            cut: count > query.limit,
            kernels: own().take(query.limit).map(row).collect(),
        })
    }

    fn window(&self, number: i64) -> Result<(i64, i64), Fault> {
        let step = self.steps.iter().find(|step| step.number == number);
        let numbers = || self.steps.iter().map(|step| step.number);
        let there = || numbers().min().zip(numbers().max());
        step.map(|step| (step.start_ns, step.end_ns)).ok_or_else(|| Fault::NoStep { step: number, there: there() })
    }

    /// For each name whether it contains `text`, in any case.
    fn matching(&self, text: &str) -> Vec<bool> {
        let text = text.to_lowercase();
        self.names.iter().map(|name| text.is_empty() || name.to_lowercase().contains(&text)).collect()
    }

    /// The names that are asked for.
    pub(super) fn names(&self, query: &NameQuery) -> Names {
        let wanted = self.matching(&query.text);
        let mut totals: HashMap<&str, (u64, i64)> = HashMap::new();
        for row in self.rows.iter().filter(|row| wanted[row.name]) {
            let total = totals.entry(&self.names[row.name]).or_default();
            *total = (total.0 + 1, total.1.saturating_add(row.duration_ns));
        }
        let row = |(name, (count, total_ns)): (&str, (u64, i64))| NameRow { name: name.to_owned(), count, total_ns };
        let mut names: Vec<NameRow> = totals.into_iter().map(row).collect();
        names.sort_by(|a, b| (b.total_ns, &a.name).cmp(&(a.total_ns, &b.name)));
        let count = names.len();
        names.truncate(query.limit);
        Names { rank: self.rank, count: count as u64, cut: count > names.len(), names }
    }
}

/// What a stream or a thread is called: its name, else its number.
fn stream(trace: &Trace, track: TrackId) -> String {
    let track = trace.tracks.get(track);
    match (trace.strings.text(track.name), track.key) {
        ("", TrackKey::Number(number)) => number.to_string(),
        ("", TrackKey::Text(text)) => trace.strings.text(text).to_owned(),
        (name, _) => name.to_owned(),
    }
}
