//! Live pages as what a verdict rests on, or as a witness beside dumps.
//!
//! A page is of this moment, and in a job that runs somebody is always the last to come. So nothing is judged before all ranks have
//! stood still for a while, and whoever is outside of collectives for less than a minute may be saving, unless it says what it does
//! (see `phases`). Pages hold what a program tells of its
//! collectives, and no messages: alone they never make a verdict quite sure. Those of a job whose processes have all ended do not tell whether
//! it ever stood still.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rankscope_document::{Confidence, HangDocument, HangKind, HangRoot, HangWitness};
use rankscope_recording::{LivePage, PAGE_GROUPS};

use crate::dump::Dump;
use crate::phases::Phases;
use crate::told::{Form, RankState, Scene, Told};
use crate::words;

/// Who has moved within this time runs, and within this many of its steps.
const RUNS: Duration = Duration::from_secs(1);
const STEPS: i64 = 5;

/// A job of which nobody has moved for this long, and for those steps, stands still. Before that it may take a breath.
const STILL: Duration = Duration::from_secs(10);

/// A rank that is outside of collectives for less may be saving.
const SAVING: Duration = Duration::from_secs(60);

/// A clock that is ahead of the one that ages are counted by makes progress younger than it is; by more than this it tells nothing.
const AHEAD: Duration = Duration::from_secs(1);

/// A live page, where it was found.
#[derive(Clone, Debug)]
pub struct FoundPage {
    /// The file that it is.
    pub file: String,
    /// What it says.
    pub page: LivePage,
    /// Whether the process that wrote it has ended.
    pub is_gone: bool,
}

/// The live pages of a run.
#[derive(Clone, Debug, Default)]
pub struct FoundPages {
    /// Ranks that the job has, where that is known.
    pub world_size: Option<u32>,
    /// When they were read, by the clock that they tell time by, in nanoseconds since the epoch.
    pub now_ns: i64,
    /// A rank that made progress between two looks, whatever clocks say.
    pub moving: Option<u32>,
    /// Those that could be read, one a rank.
    pub pages: Vec<FoundPage>,
}

/// How a job stands that tells of itself.
enum Standing {
    /// This rank made progress this long ago.
    Runs { rank: u32, age_ns: i64 },
    /// Nobody has for so long, and that is no long time yet.
    Pauses { age_ns: i64 },
    /// Nobody has for so long.
    Still { age_ns: i64 },
    /// The clocks of its nodes are too far apart to tell.
    NoAge,
    /// No process of it is there any more.
    Ended,
}

impl FoundPages {
    /// Whether they tell of a job that stands still, so that it is worth looking at its processes.
    pub fn stand_still(&self) -> bool {
        matches!(self.standing(), Standing::Still { .. })
    }

    fn standing(&self) -> Standing {
        let mut living = self.pages.iter().filter(|found| !found.is_gone).peekable();
        if living.peek().is_none() {
            return Standing::Ended;
        }
        if let Some(rank) = self.moving {
            return Standing::Runs { rank, age_ns: 0 };
        }
        let ages = living.map(|found| (self.age_ns(found, found.page.state.progress_ns), found.page.head.rank));
        let Some((age_ns, rank)) = ages.filter(|(age_ns, _)| *age_ns >= -nanos(AHEAD)).min() else { return Standing::NoAge };
        let longest_ns = self.pages.iter().map(|found| found.page.state.step_took_ns).max().unwrap_or(0);
        let steps_ns = longest_ns.saturating_mul(STEPS);
        match age_ns.max(0) {
            age_ns if age_ns < nanos(RUNS).max(steps_ns) => Standing::Runs { rank, age_ns },
            age_ns if age_ns < nanos(STILL).max(steps_ns) => Standing::Pauses { age_ns },
            age_ns => Standing::Still { age_ns },
        }
    }

    /// How long ago an instant of that page was.
    pub(crate) fn age_ns(&self, found: &FoundPage, raw_ns: i64) -> i64 {
        self.now_ns.saturating_sub(found.page.state.wall_ns(raw_ns))
    }

    fn told(&self) -> Told {
        let mut told = Told::new(Form::Pages, (0..self.world_size.unwrap_or(0)).collect());
        for found in &self.pages {
            told.add(found.page.head.rank, &found.file, Dump::of_page(&found.page));
        }
        told
    }

    fn page_of(&self, rank: u32) -> Option<&FoundPage> {
        self.pages.iter().find(|found| found.page.head.rank == rank)
    }

    /// Whether the page of `rank` has no room for one group more, so that what it is in may not be written there.
    fn is_full(&self, rank: u32) -> bool {
        self.page_of(rank).is_some_and(|found| found.page.groups.len() >= PAGE_GROUPS)
    }

    /// Ranks whose process has ended without saying so.
    fn gone(&self) -> BTreeSet<u32> {
        self.pages.iter().filter(|found| found.is_gone).map(|found| found.page.head.rank).collect()
    }
}

/// The verdict over pages alone.
pub(crate) fn document(found: &FoundPages, problems: &[String], title: &str) -> HangDocument {
    let told = found.told();
    let scene = told.scene();
    let mut document = crate::verdict::document(&scene, problems, title);
    let phases = Phases::of(found);
    match found.standing() {
        Standing::Runs { rank, age_ns } => {
            let summary = format!("The job runs: rank {rank} made progress {} ago.{}", seconds(age_ns), longest(found));
            overrule(&mut document, HangKind::Healthy, Confidence::High, summary);
            document.verdict.waiting.clear();
        }
        Standing::Pauses { age_ns } if phases.may_last() => {
            let summary = format!("No rank has made progress for {}. {}", seconds(age_ns), phases.sentence());
            overrule(&mut document, HangKind::Healthy, Confidence::Medium, summary);
        }
        Standing::Pauses { age_ns } => {
            let why = format!(
                "No rank has made progress for {}. That may be a pause, such as saving or compiling: ask again when it has lasted {}.",
                seconds(age_ns),
                seconds(nanos(STILL))
            );
            overrule(&mut document, HangKind::Unclear, Confidence::Low, why);
        }
        Standing::Ended => {
            let why = "All processes of the job that tell of themselves have ended, and their live pages do not say whether it stood still before.";
            overrule(&mut document, HangKind::Unclear, Confidence::Low, why.to_owned());
        }
        Standing::NoAge => {
            let why = "The clocks of the job's nodes are ahead of this one's by more than a second, so how long ago ranks made progress is not known. Ask on a node of the job.";
            overrule(&mut document, HangKind::Unclear, Confidence::Low, why.to_owned());
        }
        Standing::Still { age_ns } => temper(&mut document, found, &phases, &scene, age_ns),
    }
    // Of several pages of a rank the first tells.
    let marks: BTreeMap<u32, &str> =
        found.pages.iter().rev().map(|found| (found.page.head.rank, found.page.state.mark.phase.name())).collect();
    for rank in &mut document.ranks {
        rank.phase = marks.get(&rank.rank).filter(|phase| !phase.is_empty()).map(|phase| (*phase).to_owned());
    }
    for witness in &mut document.verdict.witnesses {
        witness.says.clone_from(&document.verdict.summary);
        witness.agrees = (!document.verdict.roots.is_empty()).then_some(true);
    }
    document
}

/// What pages cannot tell makes the verdict less sure, or none; and what they tell beyond calls makes it another.
fn temper(document: &mut HangDocument, found: &FoundPages, phases: &Phases, scene: &Scene<'_>, age_ns: i64) {
    let still = format!("No rank has made progress for {}.", seconds(age_ns));
    if let Some(why) = untold(document, found, scene) {
        return overrule(document, HangKind::Unclear, Confidence::Low, format!("{still} {why}"));
    }
    let is_excused = phases.excuse(&mut document.verdict);
    if name_gone(document, found, scene) {
        document.verdict.summary = format!("{still} {}", document.verdict.summary);
        return;
    }
    let nobody_is_to_blame = is_excused && document.verdict.roots.is_empty();
    if nobody_is_to_blame || document.verdict.kind == HangKind::Healthy {
        return at_work(document, found, phases, &still);
    }
    let verdict = &mut document.verdict;
    phases.explain(&mut verdict.roots);
    let is_silent = verdict.roots.iter().any(|root| !phases.is_marked(root.rank));
    let may_save = verdict.kind == HangKind::Missing && age_ns < nanos(SAVING) && is_silent;
    verdict.confidence = match verdict.confidence {
        Confidence::High | Confidence::Medium if !may_save => Confidence::Medium,
        _ => Confidence::Low,
    };
    let saving = if may_save { " That may be saving or compiling: ask again in a minute." } else { "" };
    let marked = phases.sentence();
    let marked = if marked.is_empty() { marked } else { format!(" {marked}") };
    verdict.summary = format!("{still} {}{marked}{saving}", verdict.summary);
}

/// Nobody is waited for, or only ranks that say that they are in a phase that may last.
fn at_work(document: &mut HangDocument, found: &FoundPages, phases: &Phases, still: &str) {
    let late = phases.beyond();
    let said = phases.sentence();
    if !late.is_empty() {
        let summary = format!("{still} {said} That is longer than it may take: look at what it writes to or waits for.");
        overrule(document, HangKind::Outside, Confidence::Medium, summary);
        document.verdict.roots = late;
        return;
    }
    let living = found.pages.iter().filter(|one| !one.is_gone);
    let outside = living.filter(|one| one.page.open().is_none()).map(|one| one.page.head.rank);
    if phases.explain_all(outside) {
        let summary = format!("{still} {said} That may last up to {}.", phases.limit());
        return overrule(document, HangKind::Healthy, Confidence::Medium, summary);
    }
    let said = if said.is_empty() { said } else { format!(" {said}") };
    let why = "None is in a collective that was recorded: all are at work of their own, such as loading or compiling.";
    overrule(document, HangKind::Unclear, Confidence::Low, format!("{still} {why}{said}"));
}

/// Why pages do not tell who is to blame.
fn untold(document: &HangDocument, found: &FoundPages, scene: &Scene<'_>) -> Option<String> {
    let group_of = |state: &RankState<'_>| Some(&scene.groups[state.stuck_in()?.group().0]);
    if let Some(group) = scene.ranks.iter().filter_map(group_of).find(|group| group.is_several) {
        return Some(format!(
            "Ranks are stuck in group {}, and several groups have that name: live pages do not say who meets with whom. Give groups names of their own.",
            group.name
        ));
    }
    let full: Vec<u32> = document.verdict.roots.iter().map(|root| root.rank).filter(|rank| found.is_full(*rank)).collect();
    if !full.is_empty() {
        return Some(format!(
            "{} used more than {PAGE_GROUPS} process groups, of which a live page keeps no more: what it is in is not known.",
            words::ranks(&full)
        ));
    }
    None
}

/// Names ranks whose process is gone, where others wait in collectives and nobody else is to blame.
fn name_gone(document: &mut HangDocument, found: &FoundPages, scene: &Scene<'_>) -> bool {
    let gone = found.gone();
    let verdict = &mut document.verdict;
    let waits = |state: &RankState<'_>| !gone.contains(&state.rank) && state.stuck_in().is_some();
    let waiters = scene.ranks.iter().filter(|state| waits(state)).count();
    if gone.is_empty() || waiters == 0 || !verdict.roots.iter().all(|root| gone.contains(&root.rank)) {
        return false;
    }
    let of = |rank: u32| verdict.roots.iter().find(|root| root.rank == rank).cloned().unwrap_or_default();
    let pid = |rank: u32| found.page_of(rank).map_or(0, |found| found.page.head.pid);
    let root = |rank: u32| HangRoot { rank, why: format!("is gone: process {} has ended", pid(rank)), ..of(rank) };
    let roots: Vec<HangRoot> = gone.iter().map(|rank| root(*rank)).collect();
    let ranks = words::ranks(&gone.iter().copied().collect::<Vec<_>>());
    verdict.summary = format!(
        "{ranks} {} gone, and {} {} in a collective: see how the process ended, in its log, the kernel's and the scheduler's.",
        if gone.len() == 1 { "is" } else { "are" },
        words::number_of_ranks(waiters),
        if waiters == 1 { "waits" } else { "wait" },
    );
    verdict.confidence = if verdict.kind == HangKind::Unclear { Confidence::Medium } else { Confidence::High };
    (verdict.kind, verdict.roots) = (HangKind::Dead, roots);
    true
}

fn overrule(document: &mut HangDocument, kind: HangKind, confidence: Confidence, summary: String) {
    let verdict = &mut document.verdict;
    (verdict.kind, verdict.confidence, verdict.summary) = (kind, confidence, summary);
    verdict.roots.clear();
}

/// Who has been in one collective for long while others move, as a sentence.
fn longest(found: &FoundPages) -> String {
    let open = found.pages.iter().filter(|one| !one.is_gone).filter_map(|one| {
        let open = one.page.open()?;
        let age_ns = found.age_ns(one, open.arrived_ns);
        (age_ns > nanos(STILL)).then_some((age_ns, one, open))
    });
    open.max_by_key(|(age_ns, ..)| *age_ns).map_or_else(String::new, |(age_ns, one, open)| {
        let (rank, group) = (one.page.head.rank, &one.page.groups[open.group].name);
        format!(" Rank {rank} has been in {} {} of {group} for {}.", open.op.name(), open.sequence, seconds(age_ns))
    })
}

/// Hears pages beside dumps.
pub(crate) fn hear(document: &mut HangDocument, found: &FoundPages) {
    let pages = self::document(found, &[], "").verdict;
    let of = |roots: &[HangRoot]| -> BTreeSet<u32> { roots.iter().map(|root| root.rank).collect() };
    let (named, seen) = (of(&document.verdict.roots), of(&pages.roots));
    let is_well = pages.kind == HangKind::Healthy;
    let knows_nobody = matches!(document.verdict.kind, HangKind::Unclear | HangKind::Healthy);
    let says = pages.summary.clone();
    let agrees = match (named.is_empty(), seen.is_empty()) {
        (true, false) if knows_nobody => {
            let witnesses = std::mem::take(&mut document.verdict.witnesses);
            document.verdict = pages;
            document.verdict.witnesses.extend(witnesses.into_iter().map(|witness| HangWitness { agrees: None, ..witness }));
            return;
        }
        (false, true) if is_well => Some(false),
        (false, false) => Some(!named.is_disjoint(&seen)),
        _ => None,
    };
    document.verdict.witnesses.push(HangWitness { source: Form::Pages.source(), agrees, says });
}

const fn nanos(time: Duration) -> i64 {
    time.as_nanos() as i64
}

/// `12 s`, `3.4 s`.
pub(crate) fn seconds(ns: i64) -> String {
    let tenths = ns / 100_000_000;
    if tenths >= 100 { format!("{} s", tenths / 10) } else { format!("{}.{} s", tenths / 10, tenths % 10) }
}
