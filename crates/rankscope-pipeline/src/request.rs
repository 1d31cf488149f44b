//! From a user's request to a judged job.

use std::path::{Path, PathBuf};

use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_job::{Cards, ClockChoice, Job, Judging, Rules, judge};
use rankscope_run::{InputFile, is_folder, is_parts_folder};

use crate::error::PartsFault;
use crate::facts::{Clues, SideReadings, facts, known_clocks};
use crate::held::{Held, Keep};
use crate::map::{Mapped, Mapping, map, map_files};
use crate::node_counters::NodeCounters;
use crate::parts_folder::{read_folder, read_plan_of};
use crate::read::Reading;
use crate::{Error, Progress};

/// What a user asks about.
#[derive(Clone, Debug)]
pub struct Request {
    /// Files, directories, archives or patterns; or one folder of parts.
    pub paths: Vec<PathBuf>,
    /// Folder of measured clocks, where the user named one.
    pub clocks: Option<PathBuf>,
    /// How traces become parts. Parts that are there keep to the rules they were made by.
    pub mapping: Mapping,
    /// How the job is judged.
    pub judging: Judging,
}

/// A judged job, and the traces it was made of as far as they were kept.
#[derive(Debug)]
pub struct Judged {
    /// The job.
    pub job: Job,
    /// What it is called in headings.
    pub title: String,
    /// The folder of the parts it was judged by, where they were there; its events are not, then.
    pub parts: Option<PathBuf>,
    /// Its traces.
    pub held: Held,
    /// Readings of tracers' clocks beside them.
    pub readings: SideReadings,
    /// Counters of its nodes.
    pub counters: NodeCounters,
}

/// Paths that a title has room for.
const TITLE_PATHS: usize = 64;

/// What was asked for, for headings.
pub fn title(paths: &[PathBuf]) -> String {
    let shown = paths.iter().take(TITLE_PATHS).map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ");
    match paths.len().saturating_sub(TITLE_PATHS) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The folder that the clocks of the job in `paths` are read from: the one that the user named for `clocks`, else its run
/// directory, or that of the traces where `paths` are a folder of parts.
///
/// # Errors
/// [`Error::Parts`] where the plan of the parts cannot be read.
pub fn clock_folder(paths: &[PathBuf], clocks: Option<&Path>) -> Result<Option<PathBuf>, Error> {
    match (paths, clocks) {
        ([folder], None) if is_parts_folder(folder) => Ok(read_plan_of(folder)?.clock_folder()),
        _ => Ok(Clues::of(paths, clocks).clock_folder().map(Path::to_owned)),
    }
}

/// Reads the job that `request` is about, traces or a folder of parts, and judges it.
///
/// # Errors
/// [`Error`].
pub fn judged(request: &Request, progress: &dyn Progress) -> Result<Judged, Error> {
    if let [folder] = request.paths.as_slice()
        && is_parts_folder(folder)
    {
        let Mapping { rules, cards, .. } = &request.mapping;
        return judged_parts(folder, rules, cards, request.clocks.as_deref(), request.judging, progress);
    }
    judged_by(request, |mapping, readings| map(&request.paths, mapping, readings, progress))
}

/// The same of `files`, which were found in the paths of `request`.
///
/// # Errors
/// [`Error`].
pub fn judged_files(request: &Request, files: &[InputFile], progress: &dyn Progress) -> Result<Judged, Error> {
    judged_by(request, |mapping, readings| map_files(files, files, mapping, readings, progress))
}

/// Judges the parts in `folder` for who `wanted` such parts, with the rooflines of `cards`, by the clocks in the folder `clocks` where the user named one.
///
/// # Errors
/// [`Error`]; [`Error::Parts`] where the parts were made by other rules than are wanted, too.
pub fn judged_parts(
    folder: &Path,
    wanted: &Rules,
    cards: &Cards,
    clocks: Option<&Path>,
    judging: Judging,
    progress: &dyn Progress,
) -> Result<Judged, Error> {
    serve(&read_plan_of(folder)?.rules(), wanted).map_err(|fault| Error::Parts { path: folder.to_owned(), fault })?;
    let (plan, mut parts) = read_folder(folder, judging.partial, progress)?;
    parts.use_cards(cards);
    let mut known = plan.facts();
    let measured = clocks.map(Path::to_owned).or_else(|| plan.clock_folder());
    if let Some(measured) = measured.filter(|_| judging.clocks == ClockChoice::Best) {
        if !is_folder(&measured)? {
            return Err(Error::NoClockFolder { folder: measured });
        }
        known.clocks = known_clocks(&measured, clocks.is_some())?;
    }
    known.gpus = plan.counters().gpus_of(&parts, plan.rules().answers);
    let reading = Reading { args: ArgsPolicy::Analysis, scope: Scope::All };
    Ok(Judged {
        job: judge(parts, &known, judging)?,
        title: plan.title,
        parts: Some(folder.to_owned()),
        held: Held::new(Vec::new(), reading, Keep::Nothing),
        readings: SideReadings::default(),
        counters: NodeCounters::default(),
    })
}

/// Whether parts that were made by `rules` answer who asks for `wanted`. The usual rules are asked for by whoever asks for none.
fn serve(rules: &Rules, wanted: &Rules) -> Result<(), PartsFault> {
    // Parts without execution graphs serve those who want answers with everything else.
    let plain = |rules: &Rules| rules.clone().with_checks(false).with_tables(false).with_answers(false);
    let is_usual = plain(wanted) == Rules::default();
    match () {
        () if !is_usual && plain(wanted) != plain(rules) => Err(PartsFault::OtherRules),
        () if wanted.checks && !rules.checks => Err(PartsFault::NoChecks),
        () if wanted.tables && !rules.tables => Err(PartsFault::NoTables),
        () => Ok(()),
    }
}

fn judged_by(request: &Request, map: impl FnOnce(&Mapping, &SideReadings) -> Result<Mapped, Error>) -> Result<Judged, Error> {
    let clues = Clues::of(&request.paths, request.clocks.as_deref());
    // What was asked for wrongly is told before anything is looked for.
    request.mapping.rules.compiled()?;
    let mut facts = facts(&clues, request.judging.clocks == ClockChoice::Best)?;
    let counters = NodeCounters::of(&clues);
    let readings = SideReadings::of(&clues)?;
    let Mapped { parts, held } = map(&request.mapping, &readings)?;
    facts.gpus = counters.gpus_of(&parts, request.mapping.rules.answers);
    let job = judge(parts, &facts, request.judging)?;
    Ok(Judged { job, title: title(&request.paths), parts: None, held, readings, counters })
}
