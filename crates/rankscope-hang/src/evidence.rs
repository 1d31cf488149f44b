//! The dumps of all ranks, with groups that mean the same on all of them.
//!
//! A group is known by its name and, where dumps say them, its ranks: two groups may have one name on different ranks. Gloo configures
//! all groups under one empty name, so that of those the ranks are who used them; the default group is everybody.

use std::collections::{BTreeMap, BTreeSet};

use rankscope_document::HangDocument;

use crate::dump::Dump;
use crate::progress::{Point, Progress};
use crate::ras::RasAnswer;
use crate::stack::{self, Observed};
use crate::witness;

/// What is known of a job that stands still.
#[derive(Debug, Default)]
pub struct Evidence {
    ranks: BTreeMap<u32, Dumped>,
    ras: Vec<RasAnswer>,
    observed: Vec<Observed>,
    problems: Vec<String>,
}

/// What one rank left.
#[derive(Debug, Default)]
pub(crate) struct Dumped {
    pub(crate) files: Vec<String>,
    pub(crate) dumps: Vec<Dump>,
}

/// A group, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct GroupId(pub(crate) usize);

/// A process group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) description: String,
    /// In the order of the group, which messages count by.
    pub(crate) ranks: Vec<u32>,
    /// Whether those are all of it: else they are those who are known to have used it.
    pub(crate) is_listed: bool,
}

/// A rank and what is known of it.
#[derive(Debug)]
pub(crate) struct RankState<'a> {
    pub(crate) rank: u32,
    /// None where it left nothing, or nothing that can be gone by.
    pub(crate) dumped: Option<&'a Dumped>,
    pub(crate) progress: Progress,
    /// Its dump is of another time than all others.
    pub(crate) is_stale: bool,
}

impl RankState<'_> {
    /// Whether there is a dump that can be gone by.
    pub(crate) const fn is_known(&self) -> bool {
        self.dumped.is_some() && !self.is_stale
    }

    /// What it is stuck in, if its dump can be gone by.
    pub(crate) fn stuck_in(&self) -> Option<Point> {
        self.progress.head.map(|(point, _)| point).filter(|_| !self.is_stale)
    }
}

/// All of it.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) groups: Vec<Group>,
    /// By rank.
    pub(crate) ranks: Vec<RankState<'a>>,
}

impl Evidence {
    /// Adds what `rank` dumped into `file`. A rank may have several, of several recorders or in both forms.
    pub fn add(&mut self, rank: u32, file: &str, dump: Dump) {
        let dumped = self.ranks.entry(rank).or_default();
        dumped.files.push(file.to_owned());
        dumped.dumps.push(dump);
    }

    /// Adds what NCCL's service says.
    pub fn add_ras(&mut self, answer: RasAnswer) {
        self.ras.push(answer);
    }

    /// Adds what a process was seen doing.
    pub fn add_observed(&mut self, observed: Observed) {
        self.observed.push(observed);
    }

    /// Adds what could not be used, in words for people.
    pub fn problem(&mut self, problem: String) {
        self.problems.push(problem);
    }

    /// Whether there is nothing to judge by.
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty() && self.ras.is_empty() && self.observed.is_empty()
    }

    /// Who waits for whom, and who waits for nobody. `title` is what the evidence was found in.
    pub fn verdict(&self, title: &str) -> HangDocument {
        let mut document = crate::verdict::document(&self.scene(), &self.problems, title);
        self.ras.iter().for_each(|answer| witness::hear_ras(&mut document, answer));
        stack::hear(&mut document, &self.observed);
        witness::weigh(&mut document.verdict);
        document
    }

    fn scene(&self) -> Scene<'_> {
        let (groups, places) = self.groups();
        let world = self.world();
        let nothing: Vec<Vec<GroupId>> = Vec::new();
        let mut ranks: Vec<RankState<'_>> = world
            .iter()
            .map(|rank| {
                let dumped = self.ranks.get(rank);
                let dumps = dumped.map_or(&[][..], |dumped| &dumped.dumps);
                let end = |group: GroupId, place: u32| groups[group.0].ranks.get(place as usize).copied().unwrap_or(place);
                let progress = Progress::of(dumps, places.get(rank).unwrap_or(&nothing), groups.len(), *rank, end);
                // Who has configured groups and called nothing is known to have called nothing; a recorder that is not used has no groups.
                let has_groups = dumps.iter().any(|dump| !dump.members.is_empty());
                let dumped = dumped.filter(|_| has_groups || progress.is_known());
                RankState { rank: *rank, dumped, progress, is_stale: false }
            })
            .collect();
        mark_stale(&mut ranks);
        Scene { groups, ranks }
    }

    /// Every rank that left something, or that a group lists.
    fn world(&self) -> BTreeSet<u32> {
        let listed = self.dumps().flat_map(|(_, dump)| dump.members.iter().flat_map(|(_, ranks)| ranks.iter().copied()));
        listed.chain(self.ranks.keys().copied()).collect()
    }

    fn dumps(&self) -> impl Iterator<Item = (u32, &Dump)> {
        self.ranks.iter().flat_map(|(rank, dumped)| dumped.dumps.iter().map(|dump| (*rank, dump)))
    }

    /// The groups, and by rank, dump and the dump's number of a group which of them it is.
    fn groups(&self) -> (Vec<Group>, BTreeMap<u32, Vec<Vec<GroupId>>>) {
        // Lists of ranks, by the name that they were configured under.
        let mut lists: BTreeMap<&str, BTreeSet<&[u32]>> = BTreeMap::new();
        for (name, ranks) in
            self.dumps().flat_map(|(_, dump)| &dump.members).filter(|(name, ranks)| !name.is_empty() && !ranks.is_empty())
        {
            lists.entry(name).or_default().insert(ranks);
        }
        let world: Vec<u32> = self.world().into_iter().collect();
        let mut groups: Vec<Group> = Vec::new();
        let mut known: BTreeMap<(&str, Option<&[u32]>), GroupId> = BTreeMap::new();
        let mut places: BTreeMap<u32, Vec<Vec<GroupId>>> = BTreeMap::new();
        for (rank, dump) in self.dumps() {
            let names = dump.groups.list.iter().zip(&dump.descriptions);
            let of_dump = names.map(|(name, description)| {
                let listed = lists.get(&**name).into_iter().flatten().find(|ranks| ranks.contains(&rank)).copied();
                let id = *known.entry((name, listed)).or_insert_with(|| {
                    groups.push(Group {
                        name: name.to_string(),
                        ranks: listed.unwrap_or_default().to_vec(),
                        is_listed: listed.is_some(),
                        ..Group::default()
                    });
                    GroupId(groups.len() - 1)
                });
                let group = &mut groups[id.0];
                if group.description.is_empty() {
                    group.description = description.to_string();
                }
                if listed.is_none() && !group.ranks.contains(&rank) {
                    group.ranks.push(rank);
                }
                id
            });
            let of_dump = of_dump.collect();
            places.entry(rank).or_default().push(of_dump);
        }
        for ((_, listed), id) in &known {
            let group = &mut groups[id.0];
            if listed.is_none() && (group.description == DEFAULT_GROUP || (group.description.is_empty() && group.name == "0")) {
                group.ranks.clone_from(&world);
                group.is_listed = true;
            }
        }
        (groups, places)
    }
}

/// What torch calls the group of everybody.
const DEFAULT_GROUP: &str = "default_pg";

/// Between the last call of an attempt and the first that the next one remembers there is at least that.
const ATTEMPTS_APART_NS: i64 = 60_000_000_000;

/// Marks ranks whose last call lies well before the first that any other remembers: dumps of an attempt before this one, left in the
/// folder. Of ranks that wait for each other the memories overlap.
fn mark_stale(ranks: &mut [RankState<'_>]) {
    let spans: Vec<Option<(i64, i64)>> = ranks.iter().map(|state| state.progress.span_ns).collect();
    for (at, state) in ranks.iter_mut().enumerate() {
        let Some((_, last_ns)) = spans[at] else { continue };
        let mut others = spans.iter().enumerate().filter(|(other, _)| *other != at).filter_map(|(_, span)| *span).peekable();
        state.is_stale =
            others.peek().is_some() && others.all(|(first_ns, _)| first_ns.saturating_sub(last_ns) > ATTEMPTS_APART_NS);
    }
}
