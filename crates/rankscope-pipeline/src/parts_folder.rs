//! A folder of parts: what mappers write, in any number and any order, and a judge reads.
//!
//! Every input has a file that says what came of it, written last and in one piece: an input that has one is done, whoever did
//! it and however often it is tried again. So any engine may run mappers twice, kill them, or lose the machine they ran on.

use std::io::Write;
use std::path::{Path, PathBuf};

use rankscope_job::{Part, Parts, Place, Unread, WhyUnread};
use rankscope_part_files::{StoredPart, read_part, write_part};
use rankscope_run::{
    InputFile, Outputs, PARTS_PLAN, SideFile, file_name, is_file, open_source, parts_of_nodes, read_side_text,
    write_among_many, write_file,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::division::Shard;
use crate::error::PartsFault;
use crate::facts::{Clues, SideReadings};
use crate::freeze::{self, planned};
use crate::map::{Mapped, Mapping, map_files};
use crate::plan::{Plan, PlannedInput};
use crate::{Error, Progress, Quiet, Stage};

/// What is to be mapped, and where to.
#[derive(Clone, Debug)]
pub struct MapRequest {
    /// Files, directories, archives or patterns; none for those of the plan that is there, and its rules. Relative ones start where this
    /// process stands.
    pub paths: Vec<PathBuf>,
    /// Folder of measured clocks, where the user named one.
    pub clocks: Option<PathBuf>,
    /// How traces become parts; none are kept.
    pub mapping: Mapping,
    /// The folder of parts.
    pub parts: PathBuf,
    /// Which inputs to do.
    pub shard: Shard,
}

/// What a mapper did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MapSummary {
    /// Inputs of its shard.
    pub inputs: usize,
    /// Those that were done before.
    pub done_before: usize,
    /// Parts it wrote.
    pub parts: usize,
    /// Files and members that gave none.
    pub unread: usize,
    /// Bytes of its parts.
    pub bytes: u64,
}

/// What came of one input.
#[derive(Debug, Serialize, Deserialize)]
struct Outcome {
    parts: Vec<String>,
    unread: Vec<StoredUnread>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredUnread {
    member: u32,
    file: String,
    why: StoredWhy,
    found_in_folder: bool,
    earlier: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredWhy {
    NotATrace(String),
    Broken(String),
}

/// Maps the inputs of a shard into the folder of parts.
///
/// # Errors
/// [`Error::Parts`] where the folder holds parts of other inputs or rules, [`Error::Changed`] where an input is not what the plan
/// says, and what [`map_files`] fails with.
pub fn map_into(request: &MapRequest, progress: &dyn Progress) -> Result<MapSummary, Error> {
    let plan = planned(request)?;
    let clues = Clues { run: None, clocks: plan.clocks.clone() };
    let readings = SideReadings::of(&clues)?;
    let inputs: Vec<usize> = (0..plan.inputs.len()).filter(|at| request.shard.holds(*at)).collect();
    let mapper = Mapper {
        folder: &request.parts,
        mapping: freeze::mapping(&plan, &request.mapping),
        among: plan.inputs.iter().map(PlannedInput::file).collect(),
        readings,
        plan,
    };
    progress.begin(Stage::Reading, inputs.len());
    let one = |at: &usize| {
        let summary = mapper.map(*at);
        progress.advance();
        summary
    };
    let summaries: Result<Vec<MapSummary>, Error> = inputs.par_iter().map(one).collect();
    progress.end();
    Ok(summaries?.into_iter().fold(MapSummary::default(), MapSummary::and))
}

/// One mapper of a plan.
struct Mapper<'a> {
    folder: &'a Path,
    plan: Plan,
    mapping: Mapping,
    /// All inputs of the plan.
    among: Vec<InputFile>,
    readings: SideReadings,
}

impl Mapper<'_> {
    /// Maps the input at the place `at` of the plan, unless that is done.
    fn map(&self, at: usize) -> Result<MapSummary, Error> {
        let identity = identity(&self.plan, at);
        let done = outcome_path(self.folder, at, &identity);
        if is_file(&done)? {
            return Ok(MapSummary { inputs: 1, done_before: 1, ..MapSummary::default() });
        }
        let (input, file) = (&self.plan.inputs[at], self.among[at].clone());
        // Before anything is read that could not be written.
        let mut outputs = Outputs::among_many(self.folder)?;
        let Mapped { parts, .. } = map_files(&[file], &self.among, &self.mapping, &self.readings, &Quiet)?;
        if !input.is_unchanged() {
            return Err(Error::Changed { file: input.path.display().to_string() });
        }
        let mut summary = MapSummary { inputs: 1, ..MapSummary::default() };
        let mut outcome = Outcome { parts: Vec::new(), unread: Vec::new() };
        for (place, part) in parts.iter() {
            let place = Place { file: at as u32, ..place };
            let name = part_name(part, place, &identity);
            let path = self.folder.join(&name);
            outputs.write(&name, |file| {
                write_part(part, place, &self.mapping.rules, file).map_err(|source| Error::Part { path, source })
            })?;
            summary.parts += 1;
            outcome.parts.push(name);
        }
        for (place, unread) in parts.unread() {
            summary.unread += 1;
            outcome.unread.push(StoredUnread::of(place.member, unread));
        }
        summary.bytes = outputs.bytes()?;
        outputs.commit()?;
        let mut outputs = Outputs::among_many(self.folder)?;
        outputs.write(&file_name(&done), |file| json_into(&done, &outcome, file))?;
        outputs.commit()?;
        Ok(summary)
    }
}

/// All parts in `folder`, with the plan they were made by. With `partial`, inputs that nobody has mapped yet are gone without.
pub(crate) fn read_folder(folder: &Path, partial: bool, progress: &dyn Progress) -> Result<(Plan, Parts), Error> {
    let plans = read_plans(folder)?;
    let plan = Plan::joined(folder, &plans)?;
    progress.begin(Stage::Reading, plan.inputs.len());
    let read = read_all_of(&plans, &plan, progress);
    progress.end();
    let (all, mut missing) = read?;
    if !missing.is_empty() && !partial {
        let (inputs, of) = (missing.len(), plan.inputs.len());
        missing.truncate(NAMED_MAX);
        let fault = PartsFault::NotMapped { first: missing, inputs, of, folder: folder.to_owned() };
        return Err(Error::Parts { path: folder.to_owned(), fault });
    }
    Ok((plan, all))
}

/// All parts of `plans`, which are joined in `plan`, and the inputs that nobody has mapped.
fn read_all_of(plans: &[(PathBuf, Plan)], plan: &Plan, progress: &dyn Progress) -> Result<(Parts, Vec<String>), Error> {
    let mut all = Parts::new(plan.rules());
    plan.attempts.iter().for_each(|attempt| all.add_attempt(attempt.clone()));
    let firsts = plans.iter().scan(0, |first, (_, plan)| Some(std::mem::replace(first, *first + plan.inputs.len())));
    let places: Vec<(&(PathBuf, Plan), usize, usize)> =
        plans.iter().zip(firsts).flat_map(|(own, first)| (0..own.1.inputs.len()).map(move |at| (own, at, first))).collect();
    let mut missing = Vec::new();
    for own in places.chunks(READ_AT_A_TIME) {
        let one = |((folder, plan), at, first): &(&(PathBuf, Plan), usize, usize)| read_one(folder, plan, *at, *first);
        let read: Vec<Result<Option<Parts>, Error>> = own.par_iter().map(one).inspect(|_| progress.advance()).collect();
        for (((_, plan), at, _), parts) in own.iter().zip(read) {
            match parts? {
                Some(parts) => all = all.join(parts)?,
                None => missing.push(plan.inputs[*at].path.display().to_string()),
            }
        }
    }
    Ok((all, missing))
}

/// Inputs read before their parts are put to the others, whose lists of ranks they share: enough for all threads to have work.
const READ_AT_A_TIME: usize = 256;

/// Inputs that are not mapped and named all the same; thousands may be missing.
const NAMED_MAX: usize = 3;

/// The parts of one input, of a plan whose inputs are counted from `first` on; none where it is not done.
fn read_one(folder: &Path, plan: &Plan, at: usize, first: usize) -> Result<Option<Parts>, Error> {
    let path = outcome_path(folder, at, &identity(plan, at));
    if !is_file(&path)? {
        return Ok(None);
    }
    let outcome: Outcome = read_json(&path)?;
    let mut parts = Parts::new(plan.rules());
    for name in outcome.parts {
        let path = folder.join(&name);
        let file = open_source(&path)?;
        let StoredPart { rules, place, part } =
            read_part(std::io::BufReader::new(file)).map_err(|source| Error::Part { path: path.clone(), source })?;
        if rules != plan.rules() || place.file as usize != at {
            return Err(Error::Parts { path, fault: PartsFault::OtherPlan });
        }
        let place = Place { file: (at + first) as u32, ..place };
        parts.add(place, part)?;
    }
    for unread in outcome.unread {
        let (place, unread) = unread.told((at + first) as u32);
        parts.add_unread(place, unread)?;
    }
    Ok(Some(parts))
}

/// What tells an input and its rules from all others, in 16 digits.
fn identity(plan: &Plan, at: usize) -> String {
    let mut hasher = blake3::Hasher::new();
    let json = serde_json::to_vec(&(&plan.inputs[at], at, &plan.rules)).unwrap_or_default();
    hasher.update(&json);
    hasher.finalize().to_hex()[..16].to_owned()
}

fn outcome_path(folder: &Path, at: usize, identity: &str) -> PathBuf {
    folder.join(format!("input-{at:06}-{identity}.json"))
}

/// By its rank where the file or its name tells it, and by its place among the inputs.
fn part_name(part: &Part, place: Place, identity: &str) -> String {
    let rank = part.about.own_rank().map_or_else(|| "unknown".to_owned(), |rank| format!("r{:06}", rank.0));
    format!("part-{rank}-{identity}-{:04}.rkpart", place.member)
}

/// The plan of the parts in `folder`, those of several nodes as one.
pub(crate) fn read_plan_of(folder: &Path) -> Result<Plan, Error> {
    Plan::joined(folder, &read_plans(folder)?)
}

/// The folders of parts that `folder` means, itself or its nodes', with their plans.
fn read_plans(folder: &Path) -> Result<Vec<(PathBuf, Plan)>, Error> {
    let nodes = parts_of_nodes(folder);
    let folders = if nodes.is_empty() { vec![folder.to_owned()] } else { nodes };
    folders.into_iter().map(|folder| read_plan(&folder.join(PARTS_PLAN)).map(|plan| (folder, plan))).collect()
}

pub(crate) fn read_plan(path: &Path) -> Result<Plan, Error> {
    read_json::<Plan>(path)?.understood(path)
}

/// The document at `path` in a folder of parts.
pub(crate) fn read_json<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T, Error> {
    let text = read_side_text(path, SideFile::Parts)?;
    let fault = |error: serde_json::Error| PartsFault::Malformed { reason: error.to_string() };
    serde_json::from_str(&text).map_err(|error| Error::Parts { path: path.to_owned(), fault: fault(error) })
}

pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    write_among_many(path, |file| json_into(path, value, file))
}

/// The same of what a merge writes, of which the last one counts.
pub(crate) fn replace_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    write_file(path, |file| json_into(path, value, file))
}

/// The same, without a line for each number.
#[cfg(feature = "parquet")]
pub(crate) fn replace_json_packed(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let refused = |error: serde_json::Error| Error::Io { path: path.to_owned(), source: error.into() };
    write_file(path, |file| serde_json::to_writer(file, value).map_err(refused))
}

fn json_into(path: &Path, value: &impl Serialize, file: &mut impl Write) -> Result<(), Error> {
    serde_json::to_writer_pretty(file, value).map_err(|error| Error::Io { path: path.to_owned(), source: error.into() })
}

impl MapSummary {
    fn and(self, other: Self) -> Self {
        Self {
            inputs: self.inputs + other.inputs,
            done_before: self.done_before + other.done_before,
            parts: self.parts + other.parts,
            unread: self.unread + other.unread,
            bytes: self.bytes + other.bytes,
        }
    }
}

impl StoredUnread {
    fn of(member: u32, unread: &Unread) -> Self {
        let why = match &unread.why {
            WhyUnread::NotATrace(text) => StoredWhy::NotATrace(text.clone()),
            WhyUnread::Broken(text) => StoredWhy::Broken(text.clone()),
        };
        let Unread { file, found_in_folder, earlier, .. } = unread.clone();
        Self { member, file, why, found_in_folder, earlier }
    }

    fn told(self, file: u32) -> (Place, Unread) {
        let why = match self.why {
            StoredWhy::NotATrace(text) => WhyUnread::NotATrace(text),
            StoredWhy::Broken(text) => WhyUnread::Broken(text),
        };
        let mut unread = Unread::new(self.file, why);
        (unread.found_in_folder, unread.earlier) = (self.found_in_folder, self.earlier);
        (Place { file, member: self.member }, unread)
    }
}
