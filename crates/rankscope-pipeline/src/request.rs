//! From a user's request to a judged job.

use std::path::{Path, PathBuf};

use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_job::{ClockChoice, Job, Judging, judge};
use rankscope_run::InputFile;

use crate::facts::{Clues, SideReadings, facts, known_clocks};
use crate::held::{Held, Keep};
use crate::map::{Mapped, Mapping, Visit, map, map_files};
use crate::parts_folder::read_folder;
use crate::read::Reading;
use crate::{Error, Progress};

/// What a user asks about.
#[derive(Clone, Debug)]
pub struct Request {
    /// Files, directories, archives or patterns.
    pub paths: Vec<PathBuf>,
    /// Folder of measured clocks, where the user named one.
    pub clocks: Option<PathBuf>,
    /// How traces become parts.
    pub mapping: Mapping,
    /// How the job is judged.
    pub judging: Judging,
}

/// A judged job, and the traces it was made of as far as they were kept.
#[derive(Debug)]
pub struct Judged {
    /// The job.
    pub job: Job,
    /// Its traces.
    pub held: Held,
    /// Readings of tracers' clocks beside them.
    pub readings: SideReadings,
}

/// What was asked for, for headings.
pub fn title(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
}

/// Reads the job that `request` is about and judges it.
///
/// # Errors
/// [`Error`].
pub fn judged(request: &Request, progress: &dyn Progress) -> Result<Judged, Error> {
    judged_visiting(request, &|_, _| (), progress)
}

/// The same, with somebody who sees every trace while it is there.
///
/// # Errors
/// [`Error`].
pub fn judged_visiting(request: &Request, visit: Visit<'_>, progress: &dyn Progress) -> Result<Judged, Error> {
    judged_by(request, |mapping, readings| map(&request.paths, mapping, readings, visit, progress))
}

/// The same of `files`, which were found in the paths of `request`.
///
/// # Errors
/// [`Error`].
pub fn judged_files(request: &Request, files: &[InputFile], progress: &dyn Progress) -> Result<Judged, Error> {
    judged_by(request, |mapping, readings| map_files(files, mapping, readings, &|_, _| (), progress))
}

/// Judges the parts in `folder`, by the clocks in the folder `clocks` where the user named one. With the job comes what it is called.
/// No trace is there for whoever wants its events.
///
/// # Errors
/// [`Error`].
pub fn judged_parts(
    folder: &Path,
    clocks: Option<&Path>,
    judging: Judging,
    progress: &dyn Progress,
) -> Result<(Judged, String), Error> {
    let (plan, parts) = read_folder(folder, judging.partial, progress)?;
    let mut known = plan.facts();
    let measured = clocks.or(plan.clocks.as_deref());
    if let Some(measured) = measured.filter(|_| judging.clocks == ClockChoice::Best) {
        if !measured.is_dir() {
            return Err(Error::NoClockFolder { folder: measured.to_owned() });
        }
        known.clocks = known_clocks(measured, clocks.is_some())?;
    }
    let job = judge(parts, &known, judging)?;
    let reading = Reading { args: ArgsPolicy::Analysis, scope: Scope::All };
    Ok((Judged { job, held: Held::new(Vec::new(), reading, Keep::Nothing), readings: SideReadings::default() }, plan.title))
}

fn judged_by(request: &Request, map: impl FnOnce(&Mapping, &SideReadings) -> Result<Mapped, Error>) -> Result<Judged, Error> {
    let clues = Clues::of(&request.paths, request.clocks.as_deref());
    // What was asked for wrongly is told before anything is looked for.
    request.mapping.rules.compiled()?;
    let facts = facts(&clues, request.judging.clocks == ClockChoice::Best)?;
    let readings = SideReadings::of(&clues)?;
    let Mapped { parts, held } = map(&request.mapping, &readings)?;
    let job = judge(parts, &facts, request.judging)?;
    Ok(Judged { job, held, readings })
}
