//! Map: every file by itself, as many at once as there are threads, to parts.

use std::path::PathBuf;
use std::sync::Mutex;

use rankscope_analyze::Classes;
use rankscope_formats::{ArgsPolicy, Error as ReadError, Member};
use rankscope_job::{Cards, Part, Parts, Place, Rules, TableSet, Unread, WhyUnread};
use rankscope_run::{Found, InputFile, discover_all};
use rayon::prelude::*;

use crate::captures::{self, Tying};
use crate::facts::SideReadings;
use crate::held::{Held, Keep};
use crate::read::{Reading, has_changed, read_members};
use crate::{Error, Progress, Stage};

/// How traces become parts.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// How much of each is read; of arguments all, where the rules ask for checks or tables.
    pub reading: Reading,
    /// What parts are made by.
    pub rules: Rules,
    /// Which traces are kept beside their parts.
    pub keep: Keep,
    /// The cards that tables go by, where the rules ask for tables.
    pub cards: Cards,
    /// Which tables are made there; parts that are kept want all.
    pub tables: TableSet,
}

/// What was mapped.
#[derive(Debug)]
pub struct Mapped {
    /// The parts.
    pub parts: Parts,
    /// The traces that were kept, and where the others are.
    pub held: Held,
}

/// Maps the files that `paths` mean, with the `readings` of tracers' clocks that lie beside them.
///
/// # Errors
/// [`Error::Run`] where nothing is found, [`Error::Pattern`] for rules that are none. A file that cannot be read is no error here.
pub fn map(paths: &[PathBuf], mapping: &Mapping, readings: &SideReadings, progress: &dyn Progress) -> Result<Mapped, Error> {
    let Found { files, attempts, .. } = discover_all(paths)?;
    let mut mapped = map_files(&files, &files, mapping, readings, progress)?;
    attempts.iter().for_each(|folder| mapped.parts.add_attempt(folder.display().to_string()));
    Ok(mapped)
}

/// Maps `files`, whose places are their numbers. Graphs that they launch may have been captured in others of the files `among` which they
/// were found.
///
/// # Errors
/// As [`map`].
pub fn map_files(
    files: &[InputFile],
    among: &[InputFile],
    mapping: &Mapping,
    readings: &SideReadings,
    progress: &dyn Progress,
) -> Result<Mapped, Error> {
    let classes = mapping.rules.compiled()?;
    let mut reading = mapping.reading;
    if mapping.rules.want_arguments() {
        reading.args = ArgsPolicy::All;
    }
    let held = Held::new(files.to_vec(), reading, mapping.keep);
    let mapper = Mapper { classes: &classes, mapping, readings, held: &held };
    progress.begin(Stage::Reading, files.len());
    let parts = Mutex::new(Ok(Parts::new(mapping.rules.clone())));
    files.par_iter().enumerate().filter(|_| !progress.is_cancelled()).for_each(|(number, file)| {
        let mut member = 0;
        read_members(file, reading, |read| {
            let place = Place { file: number as u32, member };
            member += 1;
            let changed = read.trace.as_ref().err().filter(|error| has_changed(error)).map(|_| read.label.clone());
            let outcome = mapper.outcome(file, place, read);
            let mut parts = parts.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if let Ok(known) = &mut *parts {
                let added = match (changed, outcome) {
                    (Some(file), _) => Err(Error::Changed { file }),
                    (None, Ok(part)) => known.add(place, part).map_err(Error::from),
                    (None, Err(unread)) => known.add_unread(place, unread).map_err(Error::from),
                };
                if let Err(conflict) = added {
                    *parts = Err(conflict);
                }
            }
        });
        progress.advance();
    });
    progress.end();
    if progress.is_cancelled() {
        return Err(Error::Cancelled);
    }
    let mut parts = parts.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())?;
    captures::tie(&mut parts, &Tying { files, among, held: &held, mapping, readings, classes: &classes })?;
    Ok(Mapped { parts, held })
}

struct Mapper<'a> {
    classes: &'a Classes,
    mapping: &'a Mapping,
    readings: &'a SideReadings,
    held: &'a Held,
}

impl Mapper<'_> {
    fn outcome(&self, file: &InputFile, place: Place, read: Member) -> Result<Part, Unread> {
        let Member { label, trace } = read;
        let mut trace = trace.map_err(|error| {
            self.held.lacks(place);
            unread(file, label, &error)
        })?;
        self.readings.attach(&mut trace);
        if !trace.provenance.tracer_clocks.is_empty() {
            // Its devices are put on the host's clock.
            self.held.lacks(place);
        }
        let Rules { tables, answers, checks, .. } = self.mapping.rules;
        let tables = tables.then_some((&self.mapping.cards, self.mapping.tables));
        let mut part = Part::with(&mut trace, self.classes, tables, answers);
        part.about.earlier = file.earlier;
        if checks {
            part.check(&trace);
        }
        self.held.keep(place, trace);
        Ok(part)
    }
}

/// `file`, or what is called `label` in it, as one that gave no trace.
pub fn unread(file: &InputFile, label: String, error: &ReadError) -> Unread {
    let why = match error {
        ReadError::NotATrace { found } => WhyUnread::NotATrace(found.to_string()),
        other => WhyUnread::Broken(other.to_string()),
    };
    let mut unread = Unread::new(label, why);
    unread.found_in_folder = !file.named;
    unread.earlier = file.earlier;
    unread
}
