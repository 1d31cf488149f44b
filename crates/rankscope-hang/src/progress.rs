//! How far one rank has come in each of its groups, and what it is stuck in: the oldest call that has not ended.

use crate::call::{Call, Once, Shape, Way};
use crate::dump::Dump;
use crate::told::GroupId;

/// How far a rank has come in one group.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reached {
    /// The last collective that it called, if it called any.
    pub(crate) called: Option<u64>,
    /// The last that ended, with all before it, as the watchdog saw it.
    pub(crate) completed: Option<u64>,
}

/// A call that is kept: of a collective or message that several dumps of a rank tell of, what they tell together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) group: GroupId,
    pub(crate) call: Call,
    /// The dump that has its shape and site.
    dump: u32,
}

/// What a rank is stuck in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Point {
    /// A collective.
    Collective { group: GroupId, sequence: u64 },
    /// A message to or from another rank.
    Message { group: GroupId, own: u32, other: u32, way: Way },
}

impl Point {
    pub(crate) const fn group(self) -> GroupId {
        match self {
            Self::Collective { group, .. } | Self::Message { group, .. } => group,
        }
    }
}

/// One rank.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// By group, for those that it is known to have used.
    pub(crate) reached: Vec<Option<Reached>>,
    /// Collectives in order of group and number, then messages in order of time.
    kept: Vec<Kept>,
    /// What it is stuck in, and the place of its call, if that is still remembered.
    pub(crate) head: Option<(Point, Option<usize>)>,
    /// When it made the first and the last call that is remembered.
    pub(crate) span_ns: Option<(i64, i64)>,
}

impl Progress {
    /// That of a rank by its `dumps`, whose groups are those of `groups`, of which there are `count`. `end` is the other end of a message.
    pub(crate) fn of(
        dumps: &[Dump],
        groups: &[Vec<GroupId>],
        count: usize,
        rank: u32,
        end: impl Fn(GroupId, u32) -> u32,
    ) -> Self {
        let mut progress = Self { reached: vec![None; count], ..Self::default() };
        for (dump, groups) in dumps.iter().zip(groups) {
            for (group, called, completed) in &dump.status {
                let reached = progress.reached[groups[*group as usize].0].get_or_insert_default();
                reached.called = reached.called.max(*called);
                reached.completed = reached.completed.max(*completed);
            }
        }
        progress.kept = kept(dumps, groups);
        for one in progress.kept.iter().filter(|one| one.call.message.is_none()) {
            let reached = progress.reached[one.group.0].get_or_insert_default();
            reached.called = reached.called.max(Some(one.call.sequence));
        }
        let times = || progress.kept.iter().map(|one| one.call.created_ns);
        progress.span_ns = times().min().zip(times().max());
        progress.head = progress.stuck(rank, end);
        progress
    }

    /// Whether anything is known of it.
    pub(crate) fn is_known(&self) -> bool {
        self.reached.iter().any(Option::is_some) || !self.kept.is_empty()
    }

    fn stuck(&self, rank: u32, end: impl Fn(GroupId, u32) -> u32) -> Option<(Point, Option<usize>)> {
        let open = self.kept.iter().enumerate().filter(|(_, one)| !self.has_ended(one));
        let oldest = open.min_by_key(|(_, one)| one.call.age());
        if let Some((place, one)) = oldest {
            let group = one.group;
            let point = match one.call.message {
                Some((way, other)) => Point::Message { group, own: rank, other: end(group, other), way },
                None => Point::Collective { group, sequence: one.call.sequence },
            };
            return Some((point, Some(place)));
        }
        // The ring has forgotten the call, and the watchdog still counts it.
        let forgotten = self.reached.iter().enumerate().find_map(|(group, reached)| {
            let Reached { called, completed } = (*reached)?;
            let completed = completed.filter(|completed| *completed > 0 && called > Some(*completed))?;
            let sequence = completed + 1;
            let group = GroupId(group);
            self.find(group, sequence).is_none().then_some(Point::Collective { group, sequence })
        });
        forgotten.map(|point| (point, None))
    }

    fn has_ended(&self, one: &Kept) -> bool {
        one.call.done || (one.call.message.is_none() && self.is_counted_as_ended(one.group, one.call.sequence))
    }

    /// The call of a collective, if it is remembered.
    pub(crate) fn find(&self, group: GroupId, sequence: u64) -> Option<usize> {
        let key = |one: &Kept| (one.call.message.is_some(), one.group, one.call.sequence);
        self.kept.binary_search_by_key(&(false, group, sequence), key).ok()
    }

    /// Whether the collective ended for this rank.
    pub(crate) fn has_left(&self, group: GroupId, sequence: u64) -> bool {
        self.is_counted_as_ended(group, sequence)
            || self.find(group, sequence).is_some_and(|place| self.has_ended(&self.kept[place]))
    }

    fn is_counted_as_ended(&self, group: GroupId, sequence: u64) -> bool {
        self.reached[group.0].is_some_and(|reached| reached.completed >= Some(sequence))
    }

    /// The last call it made.
    pub(crate) fn last(&self) -> Option<usize> {
        (0..self.kept.len()).max_by_key(|place| self.kept[*place].call.age())
    }

    pub(crate) fn at(&self, place: usize) -> &Kept {
        &self.kept[place]
    }
}

impl Kept {
    pub(crate) fn shape<'d>(&self, dumps: &'d [Dump]) -> &'d Shape {
        let Once { list, .. } = &dumps[self.dump as usize].shapes;
        &list[self.call.shape.0 as usize]
    }

    pub(crate) fn site<'d>(&self, dumps: &'d [Dump]) -> Option<&'d str> {
        self.call.site.map(|site| &*dumps[self.dump as usize].sites.list[site as usize])
    }
}

/// The calls of all dumps of a rank, each once.
fn kept(dumps: &[Dump], groups: &[Vec<GroupId>]) -> Vec<Kept> {
    let mut kept: Vec<Kept> = Vec::with_capacity(dumps.iter().map(|dump| dump.calls.len()).max().unwrap_or(0));
    for (number, (dump, groups)) in (0..).zip(dumps.iter().zip(groups)) {
        kept.extend(dump.calls.iter().map(|call| Kept { group: groups[call.group as usize], call: *call, dump: number }));
    }
    // Of one call, that with a site first.
    let key = |one: &Kept| {
        let message = one.call.message;
        let age = if message.is_some() { one.call.age() } else { (0, 0) };
        (message.is_some(), one.group, one.call.sequence, age, message)
    };
    kept.sort_by_key(|one| (key(one), one.call.site.is_none()));
    kept.dedup_by(|again, first| {
        let same = key(again) == key(first);
        first.call.done |= same && again.call.done;
        same
    });
    kept
}
