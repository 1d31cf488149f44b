//! What a rank's time went to before it came: a partition of the time by the chain of what it waited for last, and beside it all that
//! ran in the same time, on the chain or not.
//!
//! Items are the same on every rank, so that two ranks can be compared.

use rankscope_analyze::Waiting;
use rankscope_execution::{
    Activity, Dependency, Execution, JobExecution, Key, KeyId, LaneKind, MeetingId, Participant, PieceId, Stretch, What,
};
use rustc_hash::FxHashMap;

/// What time goes to. Numbers are of keys and of names of process groups, the same on every rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Item {
    /// A kernel, a copy, or something that the host did.
    Work(u32),
    /// From the launch of this to its start, or from the end of what the host waited for to its going on.
    Latency(u32),
    /// A device had this to do and had not started it.
    Gap(u32),
    /// In a collective of this name, before the awaited rank came.
    Waiting(u32),
    /// The rest of such a collective.
    Transfer(u32),
    /// What the other rank did while it waited for this one, some collectives ago, and this one did later.
    Carried,
    /// Nothing is recorded.
    Nothing,
    /// In a collective of which nobody knows who waited for whom.
    Doubtful,
}

/// One rank's time between two meetings.
#[derive(Clone, Debug, Default)]
pub(super) struct Spent {
    /// What held the rank up. Its sum is the time.
    pub(super) held_ns: FxHashMap<Item, i64>,
    /// All work in that time: how long and how often.
    pub(super) all: FxHashMap<Item, (i64, u64)>,
    /// Waits by name of the process group and by the rank because of which they were.
    pub(super) because: FxHashMap<(u32, u32), i64>,
}

impl Spent {
    fn add(&mut self, item: Item, ns: i64) {
        if ns != 0 {
            *self.held_ns.entry(item).or_default() += ns;
        }
    }
}

/// Where a lateness began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Root {
    pub(super) rank: u32,
    /// The name of the process group in which the late rank waited for it; none where that is the late rank itself.
    pub(super) name: Option<u32>,
}

/// Looks into the graphs of a job.
pub(super) struct Spending<'a> {
    job: &'a JobExecution<'a>,
    /// By rank and key, the number of that key on all ranks.
    numbers: Vec<Vec<u32>>,
    keys: Vec<&'a Key>,
    /// By process group, the number of its name.
    names: Vec<u32>,
    labels: Vec<&'a str>,
    /// By rank and key, how often it had a share of a piece in all.
    counts: Vec<FxHashMap<u32, u64>>,
    /// By meeting, the rank because of which its last one was late, and where that one waited for it; the last one itself unless more is
    /// known.
    roots: Vec<Option<Root>>,
}

impl<'a> Spending<'a> {
    pub(super) fn of(job: &'a JobExecution<'a>, groups: &'a [String]) -> Self {
        let (mut keys, mut known) = (Vec::new(), FxHashMap::<&Key, u32>::default());
        let mut number = |key: &'a Key| {
            *known.entry(key).or_insert_with(|| {
                keys.push(key);
                keys.len() as u32 - 1
            })
        };
        let numbers: Vec<Vec<u32>> = job.ranks.iter().map(|rank| rank.keys().iter().map(&mut number).collect()).collect();
        let counts = job.ranks.iter().zip(&numbers).map(|(rank, numbers)| counts(rank, numbers)).collect();
        let (mut labels, mut by_label) = (Vec::new(), FxHashMap::<&str, u32>::default());
        let mut name = |label: &'a String| {
            *by_label.entry(label).or_insert_with(|| {
                labels.push(label.as_str());
                labels.len() as u32 - 1
            })
        };
        let names = groups.iter().map(&mut name).collect();
        Self { job, numbers, keys, names, labels, counts, roots: vec![None; job.meetings.len()] }
    }

    /// A key, by its number.
    pub(super) fn key(&self, number: u32) -> &'a Key {
        self.keys[number as usize]
    }

    /// The name of process groups, by its number.
    pub(super) fn label(&self, number: u32) -> &'a str {
        self.labels.get(number as usize).copied().unwrap_or_default()
    }

    /// The lateness of the last one to come to `meeting` began there.
    pub(super) fn set_root(&mut self, meeting: MeetingId, root: Root) {
        self.roots[meeting.0 as usize] = Some(root);
    }

    /// Where that lateness began, if it is known.
    pub(super) fn root(&self, meeting: MeetingId) -> Option<Root> {
        self.roots[meeting.0 as usize]
    }

    /// How many times more often `item` ran on the rank `late` than on `median`, in all that was recorded.
    pub(super) fn more_often(&self, item: Item, late: u32, median: u32) -> i64 {
        let Item::Work(key) = item else { return 0 };
        let count = |rank: u32| self.counts[rank as usize].get(&key).copied().unwrap_or(0) as i64;
        count(late) - count(median)
    }

    /// What the time of `rank` from `from_ns` to the start of `piece` went to, on its own clock.
    pub(super) fn until(&self, rank: usize, piece: PieceId, from_ns: i64) -> Spent {
        let mut spent = self.held(rank, piece, from_ns);
        self.add_all(&mut spent, rank, from_ns, self.job.ranks[rank].start_ns(piece));
        spent
    }

    /// What held `one` up in the last `ns` before it came.
    pub(super) fn before(&self, one: &Participant, ns: i64) -> Spent {
        let came_ns = self.job.ranks[one.rank as usize].start_ns(one.piece);
        self.held(one.rank as usize, one.piece, came_ns.saturating_sub(ns))
    }

    /// The chain that leads to the start of `piece`, from `from_ns` on.
    fn held(&self, rank: usize, piece: PieceId, from_ns: i64) -> Spent {
        let execution = self.job.ranks[rank];
        let mut spent = Spent::default();
        for stretch in execution.back(piece, from_ns) {
            match stretch.what {
                What::Ran(ran) if is_communication(execution, ran) => self.add_communication(&mut spent, rank, ran, &stretch),
                What::Ran(ran) => {
                    let mut rest_ns = stretch.ns();
                    portions(execution, ran, (stretch.start_ns, stretch.end_ns), |key, ns| {
                        spent.add(Item::Work(self.number(rank, key)), ns);
                        rest_ns -= ns;
                    });
                    spent.add(Item::Nothing, rest_ns);
                }
                What::Lag(late, how) => spent.add(self.lag(rank, late, how), stretch.ns()),
                What::Unknown(_) => spent.add(Item::Nothing, stretch.ns()),
            }
        }
        spent
    }

    fn number(&self, rank: usize, key: KeyId) -> u32 {
        self.numbers[rank][key.0 as usize]
    }

    fn lag(&self, rank: usize, late: PieceId, how: Dependency) -> Item {
        let piece = self.job.ranks[rank].piece(late);
        let key = self.number(rank, piece.key);
        match (self.job.ranks[rank].lane(piece.lane).kind, how) {
            (LaneKind::Stream, Dependency::Launch) | (LaneKind::Thread, Dependency::Wait | Dependency::Launch) => {
                Item::Latency(key)
            }
            (LaneKind::Stream, Dependency::Lane | Dependency::Wait) => Item::Gap(key),
            (LaneKind::Thread, Dependency::Lane) => Item::Nothing,
        }
    }

    fn add_communication(&self, spent: &mut Spent, rank: usize, ran: PieceId, stretch: &Stretch) {
        let Some(id) = self.job.meeting(rank, ran) else { return spent.add(Item::Doubtful, stretch.ns()) };
        let meeting = self.job.get(id);
        let name = self.names.get(meeting.group).copied().unwrap_or(u32::MAX);
        let own_ns = super::part_of(meeting, rank as u32).map_or(0, |own| own.came_ns);
        let awaited = meeting.awaited(rank as u32);
        let waits_ns = awaited.map_or(0, |other| other.came_ns.saturating_sub(own_ns).max(0));
        let until_ns = self.job.ranks[rank].start_ns(ran).saturating_add(waits_ns);
        let wait_ns = until_ns.min(stretch.end_ns).saturating_sub(stretch.start_ns).max(0);
        match awaited {
            Some(_) if meeting.waiting == Waiting::ForSome => spent.add(Item::Doubtful, wait_ns),
            Some(other) if wait_ns > 0 => {
                spent.add(Item::Waiting(name), wait_ns);
                let root = self.root(id).map_or(other.rank, |root| root.rank);
                *spent.because.entry((name, root)).or_default() += wait_ns;
            }
            _ => {}
        }
        spent.add(Item::Transfer(name), stretch.ns() - wait_ns);
    }

    /// All work of `rank` from `from_ns` to `to_ns`.
    fn add_all(&self, spent: &mut Spent, rank: usize, from_ns: i64, to_ns: i64) {
        let execution = self.job.ranks[rank];
        let mut add = |piece: PieceId| {
            if !is_communication(execution, piece) {
                portions(execution, piece, (from_ns, to_ns), |key, ns| {
                    let all = spent.all.entry(Item::Work(self.number(rank, key))).or_default();
                    *all = (all.0 + ns, all.1 + 1);
                });
            }
        };
        let first = execution.last_started(from_ns).map_or(0, |piece| piece.0);
        let mut seen = vec![false; execution.lanes().len()];
        for at in (first..execution.len() as u32).map(PieceId) {
            if execution.start_ns(at) >= to_ns {
                break;
            }
            // What its lane began before may reach into this time.
            if !std::mem::replace(&mut seen[execution.lane_of(at).0 as usize], true)
                && let Some(before) = execution.previous(at)
            {
                add(before);
            }
            add(at);
        }
    }
}

/// How often each key has a share of a piece, by its number on all ranks: counted as [`Spending::add_all`] counts, so that the two compare.
fn counts(execution: &Execution, numbers: &[u32]) -> FxHashMap<u32, u64> {
    let mut counts = vec![0_u64; numbers.len()];
    for piece in execution.ids() {
        execution.shares(piece).for_each(|share| counts[share.key.0 as usize] += 1);
    }
    numbers.iter().copied().zip(counts).collect()
}

fn is_communication(execution: &Execution, piece: PieceId) -> bool {
    execution.key(execution.key_of(piece)).activity == Activity::Communication
}

/// What the part of a piece within `span_ns` goes to.
fn portions(execution: &Execution, piece: PieceId, span_ns: (i64, i64), mut add: impl FnMut(KeyId, i64)) {
    let mut at_ns = execution.start_ns(piece);
    for share in execution.shares(piece) {
        let end_ns = at_ns.saturating_add(share.ns);
        let ns = end_ns.min(span_ns.1).saturating_sub(at_ns.max(span_ns.0));
        if ns > 0 {
            add(share.key, ns);
        }
        at_ns = end_ns;
    }
}
