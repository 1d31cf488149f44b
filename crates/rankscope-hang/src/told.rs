//! What ranks left of one form, all of it: dumps, or live pages; with groups that mean the same on all of them.
//!
//! A group is known by its name and, where dumps say them, its ranks: two groups may have one name on different ranks. Gloo configures
//! all groups under one empty name, so that of those the ranks are who used them; the default group is everybody. A page tells how many
//! ranks a group has: those who used it are all of it if they are as many.

use std::collections::{BTreeMap, BTreeSet};

use rankscope_document::HangSource;

use crate::dump::Dump;
use crate::progress::{Point, Progress};

/// What was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Dumps of flight recorders.
    Dumps,
    /// Live pages.
    Pages,
}

impl Form {
    /// One of them.
    pub(crate) const fn one(self) -> &'static str {
        match self {
            Self::Dumps => "dump",
            Self::Pages => "live page",
        }
    }

    /// One that tells something.
    pub(crate) const fn telling(self) -> &'static str {
        match self {
            Self::Dumps => "dump that holds a call",
            Self::Pages => "live page",
        }
    }

    /// What sizes of collectives are counted in.
    pub(crate) const fn unit(self) -> &'static str {
        match self {
            Self::Dumps => "elements",
            Self::Pages => "bytes",
        }
    }

    pub(crate) const fn source(self) -> HangSource {
        match self {
            Self::Dumps => HangSource::FlightRecorder,
            Self::Pages => HangSource::LivePages,
        }
    }

    /// What has become of who left none, with what to do.
    pub(crate) const fn of_silent(self) -> &'static str {
        match self {
            Self::Dumps => "probably dead. If it is alive, gather its dump.",
            Self::Pages => "it has ended or died. Look at its process and its log.",
        }
    }

    /// Dumps may be of a job that runs; pages are only judged of one that stands still.
    pub(crate) const fn unless_it_runs(self) -> &'static str {
        match self {
            Self::Dumps => {
                ", or the dumps are of a job that runs. Dump again after a minute: where the numbers have grown, it runs."
            }
            Self::Pages => ".",
        }
    }
}

/// All of it.
#[derive(Debug)]
pub(crate) struct Told {
    form: Form,
    /// Ranks that the job is known to have.
    world: BTreeSet<u32>,
    ranks: BTreeMap<u32, Dumped>,
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
    /// Several groups of one name, that cannot be told apart.
    pub(crate) is_several: bool,
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
    pub(crate) form: Form,
    pub(crate) groups: Vec<Group>,
    /// By rank.
    pub(crate) ranks: Vec<RankState<'a>>,
}

impl Told {
    pub(crate) const fn new(form: Form, world: BTreeSet<u32>) -> Self {
        Self { form, world, ranks: BTreeMap::new() }
    }

    /// Adds what `rank` left in `file`.
    pub(crate) fn add(&mut self, rank: u32, file: &str, dump: Dump) {
        let dumped = self.ranks.entry(rank).or_default();
        dumped.files.push(file.to_owned());
        dumped.dumps.push(dump);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// All of it, with groups and ranks as they are to each other.
    pub(crate) fn scene(&self) -> Scene<'_> {
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
                let has_groups = self.form == Form::Pages || dumps.iter().any(|dump| !dump.members.is_empty());
                let dumped = dumped.filter(|_| has_groups || progress.is_known());
                RankState { rank: *rank, dumped, progress, is_stale: false }
            })
            .collect();
        mark_stale(&mut ranks);
        Scene { form: self.form, groups, ranks }
    }

    /// Every rank that left something, or that a group lists.
    fn world(&self) -> BTreeSet<u32> {
        let listed = self.dumps().flat_map(|(_, dump)| dump.members.iter().flat_map(|(_, ranks)| ranks.iter().copied()));
        listed.chain(self.ranks.keys().copied()).chain(self.world.iter().copied()).collect()
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
        self.count_members(&mut groups, &places, &world);
        (groups, places)
    }

    /// Groups whose number of ranks is told are those who used them, if they are as many, or everybody.
    fn count_members(&self, groups: &mut [Group], places: &BTreeMap<u32, Vec<Vec<GroupId>>>, world: &[u32]) {
        let of_rank = |(rank, dumped): (&u32, &Dumped)| -> Vec<(GroupId, usize)> {
            let of_dump = |(dump, ids): (&Dump, &Vec<GroupId>)| -> Vec<(GroupId, usize)> {
                dump.sizes.iter().map(|(group, size)| (ids[*group as usize], *size as usize)).collect()
            };
            dumped.dumps.iter().zip(places.get(rank).into_iter().flatten()).flat_map(of_dump).collect()
        };
        let mut sizes: BTreeMap<GroupId, BTreeSet<usize>> = BTreeMap::new();
        for (id, size) in self.ranks.iter().flat_map(of_rank) {
            sizes.entry(id).or_default().insert(size);
        }
        for (id, sizes) in sizes {
            let group = &mut groups[id.0];
            group.ranks.sort_unstable();
            let size = sizes.last().copied().unwrap_or_default();
            group.is_several = sizes.len() > 1 || group.ranks.len() > size;
            if size == world.len() {
                group.ranks = world.to_vec();
            }
            group.is_listed = !group.is_several && group.ranks.len() == size;
        }
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
