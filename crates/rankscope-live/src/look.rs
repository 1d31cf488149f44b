//! One look at a running job: what the pages of all ranks say together.
//!
//! Collectives are matched by the name of their group and their number, and count where every member's page still has them and the one
//! before. Lateness and waiting are summed up over each step that all of these ranks have whole in their pages; the figure is the median
//! over those steps. So a page says less about a job that does many collectives a step, and nothing about one that does more than
//! a page holds. Which steps are compared is told.

use std::collections::BTreeMap;

use rankscope_recording::{LivePage, PageArrival};

use crate::clock::NodeClock;
use crate::inside::inside_ns;
use crate::lateness::{Came, own_lateness};

/// A rank, as its page has it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its page.
    pub page: LivePage,
    /// Its node's clock, where that is known.
    pub clock: Option<NodeClock>,
}

/// What is found about a rank, a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// How late its own work makes it.
    pub lateness_ns: Option<i64>,
    /// How far clocks may put that off at most.
    pub clock_error_ns: Option<i64>,
    /// What the others together waited for it alone.
    pub caused_wait_ns: Option<i64>,
    /// How long it is inside of collectives.
    pub collective_ns: Option<i64>,
}

/// What pages say together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// In the order of what was seen.
    pub ranks: Vec<Found>,
    /// Steps over which they were compared.
    pub steps: u32,
}

/// By step and rank: lateness and caused waiting so far.
pub(crate) type Steps = BTreeMap<i64, Vec<(i64, i64)>>;

/// A collective with all who came: rank and place among its arrivals.
pub(crate) type Meeting = Vec<(usize, usize)>;

/// By group and number: collectives to which all members came.
pub(crate) type Meetings<'a> = BTreeMap<(&'a str, u64), Meeting>;

/// The pages of all ranks, compared. Those without a clock are not.
#[derive(Debug)]
pub struct Compared<'a> {
    pub(crate) seen: &'a [Seen],
    pub(crate) meetings: Meetings<'a>,
    /// Those that lie whole in the pages.
    pub(crate) steps: Steps,
    /// How far the clock of each rank and those of others may be off together.
    pub(crate) errors_ns: Vec<Option<i64>>,
}

impl<'a> Compared<'a> {
    /// Compares all ranks.
    pub fn of(seen: &'a [Seen]) -> Self {
        let meetings = meetings(seen);
        let mut steps = Steps::new();
        for meeting in meetings.values() {
            judge(seen, meeting, &meetings, &mut steps);
        }
        let whole = whole_steps(seen);
        steps.retain(|step, _| whole.contains(step));
        Self { seen, meetings, steps, errors_ns: clock_errors(seen) }
    }

    /// What they say together.
    pub fn look(&self) -> Look {
        let ranks = (0..self.seen.len()).map(|rank| {
            let of = |pick: fn(&(i64, i64)) -> i64| median(self.steps.values().map(|ranks| pick(&ranks[rank])).collect());
            let is_known = self.seen[rank].clock.is_some();
            let lateness_ns = of(|sums| sums.0).filter(|_| is_known);
            Found {
                lateness_ns,
                clock_error_ns: lateness_ns.and(self.errors_ns[rank]),
                caused_wait_ns: of(|sums| sums.1).filter(|_| is_known),
                collective_ns: inside_ns(&self.seen[rank].page),
            }
        });
        Look { ranks: ranks.collect(), steps: self.steps.len() as u32 }
    }
}

/// Collectives to which all members came, as far as pages tell.
fn meetings(seen: &[Seen]) -> Meetings<'_> {
    let mut meetings = Meetings::new();
    for (rank, seen) in seen.iter().enumerate().filter(|(_, seen)| seen.clock.is_some()) {
        for (at, arrival) in seen.page.arrivals.iter().enumerate() {
            meetings.entry((&seen.page.groups[arrival.group].name, arrival.sequence)).or_default().push((rank, at));
        }
    }
    meetings.retain(|_, meeting| {
        let members = |(rank, at): &(usize, usize)| group(seen, *rank, &seen[*rank].page.arrivals[*at]).1;
        meeting.len() > 1 && meeting.iter().all(|came| members(came) as usize == meeting.len())
    });
    meetings
}

/// The name of the group that a rank came to, and how many ranks it has.
pub(crate) fn group<'a>(seen: &'a [Seen], rank: usize, arrival: &PageArrival) -> (&'a str, u32) {
    let group = &seen[rank].page.groups[arrival.group];
    (&group.name, group.members)
}

fn arrived_ns(seen: &[Seen], rank: usize, at: usize) -> i64 {
    on_job(&seen[rank], seen[rank].page.arrivals[at].arrived_ns)
}

/// An instant of a page on the job's clock, where that is known, and else on its own.
pub(crate) fn on_job(seen: &Seen, raw_ns: i64) -> i64 {
    seen.clock.map_or(raw_ns, |clock| clock.job_ns(&seen.page.state, raw_ns))
}

/// Adds what a collective says to the steps of those who came.
fn judge(seen: &[Seen], meeting: &Meeting, meetings: &Meetings<'_>, steps: &mut Steps) {
    let came: Option<Vec<Came>> = meeting.iter().map(|(rank, at)| came(seen, *rank, *at, meetings)).collect();
    let Some(came) = came else { return };
    let mut order: Vec<(i64, usize)> = came.iter().enumerate().map(|(at, came)| (came.arrived_ns, at)).collect();
    order.sort_unstable();
    let [.., (before_ns, _), (last_ns, last)] = order[..] else { return };
    let caused_ns = last_ns.saturating_sub(before_ns).saturating_mul(meeting.len() as i64 - 1);
    for (place, ((rank, at), late_ns)) in meeting.iter().zip(own_lateness(&came)).enumerate() {
        let step = seen[*rank].page.arrivals[*at].step;
        let sums = &mut steps.entry(step).or_insert_with(|| vec![(0, 0); seen.len()])[*rank];
        sums.0 = sums.0.saturating_add(late_ns);
        sums.1 = sums.1.saturating_add(if place == last { caused_ns } else { 0 });
    }
}

/// How a rank came to a collective; none where its page no longer has the one before.
fn came(seen: &[Seen], rank: usize, at: usize, meetings: &Meetings<'_>) -> Option<Came> {
    let arrivals = &seen[rank].page.arrivals;
    let own = &arrivals[at];
    let is_before = |other: &&PageArrival| other.group == own.group && other.left_ns != 0;
    let before = arrivals[..at].iter().rposition(|other| is_before(&other))?;
    if arrivals[before].sequence + 1 != own.sequence {
        return None;
    }
    let waited = (before + 1..at).map(|other| waited_ns(seen, rank, other, meetings));
    Some(Came {
        left_ns: on_job(&seen[rank], arrivals[before].left_ns),
        arrived_ns: arrived_ns(seen, rank, at),
        waited_ns: waited.fold(0, i64::saturating_add),
    })
}

/// What a rank waited for others in a collective of another group.
fn waited_ns(seen: &[Seen], rank: usize, at: usize, meetings: &Meetings<'_>) -> i64 {
    let arrival = &seen[rank].page.arrivals[at];
    let Some(meeting) = meetings.get(&(group(seen, rank, arrival).0, arrival.sequence)) else { return 0 };
    let last_ns = meeting.iter().map(|(rank, at)| arrived_ns(seen, *rank, *at)).max().unwrap_or(i64::MIN);
    let inside_ns = arrival.left_ns.saturating_sub(arrival.arrived_ns).max(0);
    last_ns.saturating_sub(arrived_ns(seen, rank, at)).clamp(0, inside_ns)
}

/// Steps that lie whole in the pages of all ranks that are compared.
fn whole_steps(seen: &[Seen]) -> std::ops::Range<i64> {
    let compared = || seen.iter().filter(|seen| seen.clock.is_some());
    let first = |seen: &Seen| seen.page.arrivals.first().map_or(i64::MAX, |arrival| arrival.step);
    let from = compared().map(first).max().unwrap_or(i64::MAX).saturating_add(1);
    let until = compared().map(|seen| seen.page.state.step).min().unwrap_or(i64::MIN);
    from..until
}

/// How far the clock of each rank and those of the ranks it is compared with may be off together.
fn clock_errors(seen: &[Seen]) -> Vec<Option<i64>> {
    let error = |seen: &Seen| seen.clock.map(|clock| clock.error_at(seen.page.state.anchor[1]));
    let own: Vec<Option<i64>> = seen.iter().map(error).collect();
    let mut all: Vec<i64> = own.iter().flatten().copied().collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    let of_others = |own_ns: i64| if all[0] == own_ns { all.get(1).copied().unwrap_or(0) } else { all[0] };
    own.iter().map(|own_ns| own_ns.map(|own_ns| own_ns.saturating_add(of_others(own_ns)))).collect()
}

pub(crate) fn median(mut values: Vec<i64>) -> Option<i64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankscope_recording::{PageGroup, PageHead, PageOp, PageState};

    /// Four ranks that meet twice a step, of which rank 2 works 7 ms longer before the second meeting; clocks are off by `off_ns`.
    fn job(off_ns: [i64; 4], known: bool) -> Vec<Seen> {
        let rank = |rank: usize| {
            let mut arrivals = Vec::new();
            for meeting in 0..40_u64 {
                let met_ns = meeting as i64 * 20_000_000;
                let late_ns = if rank == 2 && meeting % 2 == 1 { 7_000_000 } else { 0 };
                let arrived_ns = met_ns + 1_000 * rank as i64 + late_ns + off_ns[rank];
                let left_ns = met_ns + 8_000_000 + off_ns[rank];
                let step = meeting as i64 / 2;
                arrivals.push(PageArrival {
                    group: 0,
                    op: PageOp::AllReduce,
                    sequence: meeting,
                    bytes: 8,
                    arrived_ns,
                    left_ns,
                    step,
                });
            }
            let clock = NodeClock { offset_ns: off_ns[rank], error_ns: 30, ..NodeClock::default() };
            let groups = vec![PageGroup { name: "dp".to_owned(), members: 4 }];
            let state = PageState { step: 19, ..PageState::default() };
            let page = LivePage { head: PageHead { rank: rank as u32, ..PageHead::default() }, state, groups, arrivals };
            Seen { page, clock: Some(clock).filter(|_| known || rank != 3) }
        };
        (0..4).map(rank).collect()
    }

    #[test]
    fn the_rank_whose_own_work_is_longer_is_late_by_it_whatever_its_clock_shows() {
        for off_ns in [[0; 4], [5_000_000, -9_000_000, -8_000_000, 3]] {
            let look = Compared::of(&job(off_ns, true)).look();
            assert_eq!(look.steps, 18);
            let late: Vec<i64> = look.ranks.iter().map(|rank| rank.lateness_ns.unwrap()).collect();
            assert!((6_990_000..=7_010_000).contains(&late[2]), "{late:?}");
            assert!([0, 1, 3].iter().all(|rank| late[*rank].abs() < 10_000), "{late:?}");
            let caused: Vec<i64> = look.ranks.iter().map(|rank| rank.caused_wait_ns.unwrap()).collect();
            assert!(caused[2] > 20_000_000 && caused[0] == 0 && look.ranks[0].clock_error_ns == Some(60), "{caused:?}");
        }
    }

    #[test]
    fn where_a_clock_is_not_known_nobody_of_its_group_is_called_late() {
        let look = Compared::of(&job([0; 4], false)).look();
        assert_eq!((look.steps, look.ranks[2].lateness_ns, look.ranks[3].clock_error_ns), (0, None, None));
        assert!(look.ranks[3].collective_ns.is_some(), "that needs no clock of others");
    }

    #[test]
    fn pages_without_a_whole_step_say_nothing() {
        let mut ranks = job([0; 4], true);
        ranks.iter_mut().for_each(|rank| rank.page.state.step = 1);
        assert_eq!(Compared::of(&ranks).look().steps, 0);
        assert_eq!(Compared::of(&[]).look(), Look::default());
    }
}
