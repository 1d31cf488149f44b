//! Blame: why the last rank to come to a collective came last.
//!
//! The last rank is compared with the median one, from the last collective that both had left together. What each of the two did since is
//! a partition of its time; what the late one has more is why it is late, and the differences add up to the lateness, to the
//! nanosecond. Time that the late rank waited for others in other groups is inherited, and followed to the rank where it
//! began. What the clocks leave open is uncertain, and so is everything before the first collective that both are known to have left.
//!
//! Only collectives in which everybody waits for the last are judged; where a root decides, and in messages, who comes last need not be
//! late. Time is O(events) for each process group that a rank is in: between two collectives of one group a rank's events are looked
//! at once.

mod compared;
mod culprits;
mod reasons;
mod spent;
mod stages;
mod upstream;

use rankscope_analyze::Waiting;
use rankscope_execution::{JobExecution, Meeting, MeetingId, Participant};
use rustc_hash::FxHashSet;

use crate::pattern::Pattern;
use compared::{Difference, differences};
use culprits::Series;
use reasons::Reasons;
use spent::{Item, Root, Spending};

pub use culprits::{Culprit, Culprits, Family, Suspect};
pub use reasons::{Reason, ReasonKind};
pub use stages::{Heavy, heavy};

/// What blame is found in.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The graph.
    pub job: &'a JobExecution<'a>,
    /// Names of the process groups, by [`Meeting::group`]. Groups of one name do the same for other ranks.
    pub groups: &'a [String],
    /// What the clocks leave open between two ranks, in nanoseconds; `i64::MAX` where nothing bounds them.
    pub open_ns: i64,
    /// How many steps there are.
    pub steps: usize,
    /// The place of the step that each meeting lies in.
    pub step: &'a [Option<usize>],
    /// A step in which a rank causes no more than this is none that it is late in, in nanoseconds.
    pub floor_ns: i64,
}

/// How one rank made others wait. Times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blame {
    /// By how much it came after the median rank, where it came last: the sum of the next three, exactly.
    pub lateness_ns: i64,
    /// The part that is its own.
    pub caused_ns: i64,
    /// The part in which it waited for others.
    pub inherited_ns: i64,
    /// The part of which nobody knows.
    pub uncertain_ns: i64,
    /// Collectives to which it came last.
    pub last: u64,
    /// Collectives that were judged and in which it took part.
    pub of: u64,
    /// How its lateness recurs.
    pub pattern: Pattern,
    /// What `caused_ns` and `inherited_ns` are made of, the largest first.
    pub reasons: Vec<Reason>,
}

/// Blame, by rank, and what ranks have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blamed {
    /// By index of the rank.
    pub ranks: Vec<Blame>,
    /// What tells a slow node from a slow rank.
    pub culprits: Culprits,
}

/// Meetings looked back at for one that two ranks both took part in, at most. Collectives of their own group are among them, so that only
/// a group whose collectives all overlap with each other needs that many.
const LOOKED_BACK_MAX: usize = 4_096;

/// Finds blame.
pub fn blame(input: &Input<'_>) -> Blamed {
    let mut court = Court::of(input);
    for id in in_order(input.job) {
        match input.job.get(id).waiting {
            Waiting::ForTheLast => court.judge(id),
            Waiting::Pairwise => court.follow(id),
            Waiting::ForSome => {}
        }
    }
    court.finish()
}

/// The meetings, in order of their last coming: what somebody waited for before is known by then.
fn in_order(job: &JobExecution<'_>) -> Vec<MeetingId> {
    let mut order: Vec<MeetingId> = (0..job.meetings.len() as u32).map(MeetingId).collect();
    order.sort_by_key(|id| (job.get(*id).last().came_ns, *id));
    order
}

/// The meetings of the rank at index `rank`, in order of its coming.
fn meetings_of(job: &JobExecution<'_>, rank: usize) -> Vec<MeetingId> {
    let mut own: Vec<(i64, MeetingId)> = job.meetings_of(rank).map(|(id, one)| (one.came_ns, id)).collect();
    own.sort_unstable();
    own.into_iter().map(|(_, id)| id).collect()
}

struct Court<'a> {
    input: &'a Input<'a>,
    spending: Spending<'a>,
    /// The meetings of each rank, in order of its coming.
    of_rank: Vec<Vec<MeetingId>>,
    ranks: Vec<(Blame, Reasons)>,
    /// What ranks caused, wherever it showed.
    caused: Series,
}

/// What an instance comes down to.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    caused_ns: i64,
    inherited_ns: i64,
    uncertain_ns: i64,
}

impl<'a> Court<'a> {
    fn of(input: &'a Input<'a>) -> Self {
        let ranks = input.job.ranks.len();
        let of_rank = (0..ranks).map(|rank| meetings_of(input.job, rank)).collect();
        Self {
            input,
            spending: Spending::of(input.job, input.groups),
            of_rank,
            ranks: vec![Default::default(); ranks],
            caused: Series::of(ranks),
        }
    }

    /// Judges a meeting in which everybody waits for the last.
    fn judge(&mut self, id: MeetingId) {
        let meeting = self.input.job.get(id);
        for one in &meeting.participants {
            self.ranks[one.rank as usize].0.of += 1;
        }
        let (late, median) = (*meeting.last(), median(meeting));
        let lateness_ns = late.came_ns.saturating_sub(median.came_ns);
        let mut parts = Parts { uncertain_ns: lateness_ns, ..Parts::default() };
        let since = (lateness_ns > self.input.open_ns).then(|| self.since(id, &late, &median)).flatten();
        if let Some(since) = since {
            let differences = self.compare(&late, &median, since);
            parts = self.sum(&late, lateness_ns, &differences);
            self.spending.set_root(id, root(late.rank, &parts, &differences));
            self.accuse(id, since, lateness_ns, &parts, &differences);
        }
        let blame = &mut self.ranks[late.rank as usize].0;
        blame.last += 1;
        blame.lateness_ns = blame.lateness_ns.saturating_add(lateness_ns);
        blame.caused_ns = blame.caused_ns.saturating_add(parts.caused_ns);
        blame.inherited_ns = blame.inherited_ns.saturating_add(parts.inherited_ns);
        blame.uncertain_ns = blame.uncertain_ns.saturating_add(parts.uncertain_ns);
    }

    /// Finds the rank because of which the sender of a message was late.
    fn follow(&mut self, id: MeetingId) {
        let meeting = self.input.job.get(id);
        for receiver in &meeting.participants {
            let Some(sender) = meeting.awaited(receiver.rank) else { continue };
            if sender.came_ns - receiver.came_ns > self.input.open_ns {
                let root = upstream::root(&self.spending, sender, sender.came_ns - receiver.came_ns);
                self.spending.set_root(id, root);
            }
        }
    }

    /// The last meeting that `late` and `median` had both left when they came to this one.
    fn since(&self, id: MeetingId, late: &Participant, median: &Participant) -> Option<MeetingId> {
        self.before(late, id).iter().rev().take(LOOKED_BACK_MAX).copied().find(|other| {
            let other = self.input.job.get(*other);
            let left = |one: &Participant| part_of(other, one.rank).is_some_and(|then| then.left_ns <= one.came_ns);
            other.waiting == Waiting::ForTheLast && left(late) && left(median)
        })
    }

    /// The meetings that `one` came to before it came to this one.
    fn before(&self, one: &Participant, id: MeetingId) -> &[MeetingId] {
        let own = &self.of_rank[one.rank as usize];
        let came_ns = |id: MeetingId| part_of(self.input.job.get(id), one.rank).map_or(i64::MAX, |then| then.came_ns);
        &own[..own.partition_point(|other| (came_ns(*other), *other) < (one.came_ns, id))]
    }

    fn compare(&self, late: &Participant, median: &Participant, since_id: MeetingId) -> Vec<Difference> {
        let since = self.input.job.get(since_id);
        let spent = |one: &Participant| {
            let execution = self.input.job.ranks[one.rank as usize];
            let from_ns = part_of(since, one.rank).map_or(i64::MAX, |then| execution.end_ns(then.piece));
            self.spending.until(one.rank as usize, one.piece, from_ns)
        };
        let mut differences =
            differences(&spent(late), &spent(median), |item| self.spending.more_often(item, late.rank, median.rank));
        // What was carried over from a lateness that the rank had inherited is inherited.
        let came_last = since.last().rank == late.rank;
        if let Some(Root { rank, name: Some(name) }) = self.spending.root(since_id).filter(|_| came_last) {
            for one in differences.iter_mut().filter(|one| one.item == Item::Carried) {
                (one.item, one.because_of) = (Item::Waiting(name), Some(rank));
            }
        }
        differences
    }

    /// Adds the reasons up. What the differences do not explain is between the two ranks' clocks, or how they left the meeting before.
    fn sum(&mut self, late: &Participant, lateness_ns: i64, differences: &[Difference]) -> Parts {
        let mut parts = Parts::default();
        let reasons = &mut self.ranks[late.rank as usize].1;
        for one in differences {
            match one.item {
                Item::Doubtful => continue,
                Item::Waiting(_) => parts.inherited_ns += one.ns,
                _ => parts.caused_ns += one.ns,
            }
            reasons.add(one);
        }
        parts.uncertain_ns = lateness_ns - parts.caused_ns - parts.inherited_ns;
        parts
    }

    /// Notes who caused how much: the late rank, those that were nearly as late without having met it since, and those that the
    /// late rank itself waited for.
    fn accuse(&mut self, id: MeetingId, since: MeetingId, lateness_ns: i64, parts: &Parts, differences: &[Difference]) {
        let step = self.input.step.get(id.0 as usize).copied().flatten();
        // Where no steps are marked, all is one.
        let Some(step) = step.or((self.input.steps == 0).then_some(0)) else { return };
        let meeting = self.input.job.get(id);
        let (late, median) = (meeting.last(), median(meeting));
        self.caused.add(late.rank, step, parts.caused_ns);
        for one in differences {
            if let Some(root) = one.because_of.filter(|root| *root != late.rank) {
                self.caused.add(root, step, one.ns);
            }
        }
        let behind_ns = |one: &Participant| one.came_ns - median.came_ns;
        let nearly = |one: &&Participant| one.rank != late.rank && behind_ns(one) * 2 >= lateness_ns;
        let near: Vec<Participant> = meeting
            .participants
            .iter()
            .rev()
            .take_while(|one| behind_ns(one) * 2 >= lateness_ns)
            .filter(nearly)
            .copied()
            .collect();
        if near.is_empty() || parts.caused_ns <= 0 {
            return;
        }
        let met = self.met_between(late, since, id);
        for one in near.iter().filter(|one| !met.contains(&one.rank)) {
            let share = i128::from(parts.caused_ns) * i128::from(behind_ns(one)) / i128::from(lateness_ns);
            self.caused.add(one.rank, step, share as i64);
        }
    }

    /// The ranks that `late` met after `since` and before `id`.
    fn met_between(&self, late: &Participant, since: MeetingId, id: MeetingId) -> FxHashSet<u32> {
        let between = self.before(late, id).iter().rev().take_while(|other| **other != since);
        between.flat_map(|other| &self.input.job.get(*other).participants).map(|one| one.rank).collect()
    }

    fn finish(self) -> Blamed {
        let Self { input, spending, ranks, caused, .. } = self;
        let culprits = Culprits::of(caused, input.steps, input.floor_ns.max(input.open_ns));
        let blame = |(at, (blame, reasons)): (usize, (Blame, Reasons))| Blame {
            pattern: culprits.pattern(at),
            reasons: reasons.named(&spending),
            ..blame
        };
        Blamed { ranks: ranks.into_iter().enumerate().map(blame).collect(), culprits }
    }
}

/// The median participant by coming; of an even number the earlier one, so that it is never the last.
fn median(meeting: &Meeting) -> Participant {
    meeting.participants[(meeting.participants.len() - 1) / 2]
}

fn part_of(meeting: &Meeting, rank: u32) -> Option<&Participant> {
    meeting.participants.iter().find(|one| one.rank == rank)
}

/// Where a lateness began: with the late rank, or with the one that it waited for most if it mostly waited.
fn root(late: u32, parts: &Parts, differences: &[Difference]) -> Root {
    let wait = |one: &Difference| match one.item {
        Item::Waiting(name) => Some((one.ns, std::cmp::Reverse(one.because_of?), name)),
        _ => None,
    };
    let most = differences.iter().filter_map(wait).max().filter(|_| parts.inherited_ns > parts.caused_ns);
    most.map_or(Root { rank: late, name: None }, |(_, rank, name)| Root { rank: rank.0, name: Some(name) })
}
