//! Collectives by group, and by operation in a group: how long ranks wait for the last one, how long the transfer takes once all are
//! there, who comes last, and which collective is not over.
//!
//! Figures are medians over collectives that every member's page still has and that everybody has left. Those that are not over need
//! no clock: who is in one and who is not yet there is what pages say.

use std::collections::{BTreeMap, BTreeSet};

use rankscope_recording::PageOp;

use crate::look::{Compared, Meeting, Seen, group, median, on_job};

/// Collectives of one group, or of one operation in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// The name of the group.
    pub group: String,
    /// The operation; none where all of them are meant.
    pub op: Option<PageOp>,
    /// Ranks in the group.
    pub members: u32,
    /// Collectives that the figures are about.
    pub met: u32,
    /// What each rank moves.
    pub bytes: Option<u64>,
    /// From the first rank's arrival to the last one's.
    pub wait_ns: Option<i64>,
    /// From the last rank's arrival until the last one left.
    pub transfer_ns: Option<i64>,
    /// The rank that came last most often, by its number, and how often.
    pub last: Option<(u32, u32)>,
    /// The one that ranks have been in for longest.
    pub open: Option<Open>,
}

/// A collective that is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// Its number in the group.
    pub sequence: u64,
    /// What it does.
    pub op: PageOp,
    /// Ranks that are in it.
    pub inside: u32,
    /// When the first of them came, on the wall clock of its node.
    pub since_wall_ns: i64,
    /// Ranks of the group that did not come yet, those of them that tell of themselves.
    pub missing: Vec<u32>,
}

/// What figures are made of.
#[derive(Default)]
struct Sums {
    members: u32,
    bytes: Vec<i64>,
    wait_ns: Vec<i64>,
    transfer_ns: Vec<i64>,
    last: BTreeMap<u32, u32>,
}

/// Whether operations of a group are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// They are not.
    Group,
    /// They are.
    Operation,
}

impl Compared<'_> {
    /// Collectives, the longest wait first.
    pub fn met(&self, by: By) -> Vec<Met> {
        let key = |name: &str, op: PageOp| (name.to_owned(), (by == By::Operation).then_some(op as u16));
        let mut sums: BTreeMap<(String, Option<u16>), Sums> = BTreeMap::new();
        for ((name, _), meeting) in &self.meetings {
            let op = self.seen[meeting[0].0].page.arrivals[meeting[0].1].op;
            sums.entry(key(name, op)).or_default().add(self.seen, meeting);
        }
        let mut open = open(self.seen, |name, op| key(name, op));
        for (key, (_, members)) in &open {
            sums.entry(key.clone()).or_default().members = *members;
        }
        let met = sums.into_iter().map(|(key, sums)| {
            let open = open.remove(&key).map(|(open, _)| open);
            sums.met(key.0, key.1.map(|op| PageOp::ALL[usize::from(op)]), open)
        });
        let mut met: Vec<Met> = met.collect();
        met.sort_by_key(|met| std::cmp::Reverse(met.wait_ns));
        met
    }
}

impl Sums {
    fn add(&mut self, seen: &[Seen], meeting: &Meeting) {
        self.members = meeting.len() as u32;
        let (mut first_ns, mut last, mut left_ns) = (i64::MAX, (i64::MIN, 0), i64::MIN);
        for (rank, at) in meeting {
            let arrival = &seen[*rank].page.arrivals[*at];
            if arrival.left_ns == 0 {
                return;
            }
            let arrived_ns = on_job(&seen[*rank], arrival.arrived_ns);
            first_ns = first_ns.min(arrived_ns);
            last = last.max((arrived_ns, *rank));
            left_ns = left_ns.max(on_job(&seen[*rank], arrival.left_ns));
        }
        let [(rank, at), ..] = meeting[..] else { return };
        self.wait_ns.push(last.0.saturating_sub(first_ns));
        self.transfer_ns.push(left_ns.saturating_sub(last.0));
        self.bytes.push(i64::try_from(seen[rank].page.arrivals[at].bytes).unwrap_or(i64::MAX));
        *self.last.entry(seen[last.1].page.head.rank).or_default() += 1;
    }

    fn met(self, group: String, op: Option<PageOp>, open: Option<Open>) -> Met {
        let last = self.last.iter().max_by_key(|(rank, count)| (**count, std::cmp::Reverse(**rank)));
        Met {
            group,
            op,
            members: self.members,
            met: self.wait_ns.len() as u32,
            bytes: op.and(median(self.bytes)).and_then(|bytes| u64::try_from(bytes).ok()),
            last: last.map(|(rank, count)| (*rank, *count)),
            wait_ns: median(self.wait_ns),
            transfer_ns: median(self.transfer_ns),
            open,
        }
    }
}

type Key = (String, Option<u16>);

/// By key: the collective that ranks have been in for longest, and how many ranks its group has.
fn open(seen: &[Seen], key: impl Fn(&str, PageOp) -> Key) -> BTreeMap<Key, (Open, u32)> {
    let mut open: BTreeMap<(Key, u64), (Open, u32)> = BTreeMap::new();
    for (rank, seen_rank) in seen.iter().enumerate() {
        let page = &seen_rank.page;
        let Some(arrival) = page.open() else { continue };
        let (name, members) = group(seen, rank, arrival);
        let since_wall_ns = page.state.wall_ns(arrival.arrived_ns);
        let found = open.entry((key(name, arrival.op), arrival.sequence)).or_insert_with(|| {
            let open = Open { sequence: arrival.sequence, op: arrival.op, inside: 0, since_wall_ns, missing: Vec::new() };
            (open, members)
        });
        found.0.inside += 1;
        found.0.since_wall_ns = found.0.since_wall_ns.min(since_wall_ns);
    }
    let mut oldest: BTreeMap<Key, (Open, u32)> = BTreeMap::new();
    for ((key, _), found) in open {
        let is_older = oldest.get(&key).is_none_or(|(other, _)| found.0.since_wall_ns < other.since_wall_ns);
        if is_older {
            oldest.insert(key, found);
        }
    }
    for ((name, _), (open, _)) in &mut oldest {
        open.missing = missing(seen, name, open.sequence);
    }
    oldest
}

/// Ranks that meet in the group `name` and have not come to its collective `sequence`.
fn missing(seen: &[Seen], name: &str, sequence: u64) -> Vec<u32> {
    let has_not_come = |seen: &&Seen| {
        let page = &seen.page;
        let Some(group) = page.groups.iter().position(|group| group.name == name) else { return false };
        !page.arrivals.iter().rev().any(|arrival| arrival.group == group && arrival.sequence >= sequence)
    };
    let missing: BTreeSet<u32> = seen.iter().filter(has_not_come).map(|seen| seen.page.head.rank).collect();
    missing.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::NodeClock;
    use rankscope_recording::{LivePage, PageArrival, PageGroup, PageHead, PageState};

    /// Three ranks that meet in turns to reduce and to gather; rank 1 comes 5 us late to what is reduced. Rank 2 has not come to the last.
    fn job() -> Vec<Seen> {
        let rank = |rank: u32| {
            let meets = if rank == 2 { 9 } else { 10 };
            let arrival = |sequence: u64| {
                let op = if sequence.is_multiple_of(2) { PageOp::AllReduce } else { PageOp::AllGather };
                let late_ns = if rank == 1 && op == PageOp::AllReduce { 5_000 } else { i64::from(rank) };
                let met_ns = sequence as i64 * 100_000;
                let left_ns = if sequence == 9 { 0 } else { met_ns + 7_000 };
                PageArrival {
                    group: 0,
                    op,
                    sequence,
                    bytes: 64,
                    arrived_ns: met_ns + late_ns,
                    left_ns,
                    step: sequence as i64 / 2,
                }
            };
            let groups = vec![PageGroup { name: "dp".to_owned(), members: 3 }];
            let page = LivePage {
                head: PageHead { rank, ..PageHead::default() },
                state: PageState { anchor: [0, 1_000_000], ..PageState::default() },
                groups,
                arrivals: (0..meets).map(arrival).collect(),
            };
            Seen { page, clock: Some(NodeClock::default()) }
        };
        (0..3).map(rank).collect()
    }

    #[test]
    fn waits_transfers_and_who_comes_last_are_told_by_operation() {
        let seen = job();
        let met = Compared::of(&seen).met(By::Operation);
        let [reduced, gathered] = &met[..] else { panic!("{met:?}") };
        assert_eq!((reduced.op, reduced.met, reduced.members), (Some(PageOp::AllReduce), 5, 3));
        assert_eq!((reduced.wait_ns, reduced.transfer_ns, reduced.last), (Some(5_000), Some(2_000), Some((1, 5))));
        assert_eq!((gathered.wait_ns, gathered.bytes, gathered.last), (Some(2), Some(64), Some((2, 4))));
        assert_eq!(reduced.open, None);
    }

    #[test]
    fn who_has_not_come_to_what_others_are_in_is_told_whether_clocks_are_known_or_not() {
        let mut seen = job();
        for clock in [Some(NodeClock::default()), None] {
            seen.iter_mut().for_each(|seen| seen.clock = clock);
            let met = Compared::of(&seen).met(By::Group);
            let [group] = &met[..] else { panic!("{met:?}") };
            let open = group.open.as_ref().unwrap();
            assert_eq!((group.members, group.met), (3, if clock.is_some() { 9 } else { 0 }));
            assert_eq!((open.sequence, open.inside, &open.missing[..]), (9, 2, &[2][..]));
            assert_eq!(open.since_wall_ns, 1_000_000 + 900_000);
        }
    }

    #[test]
    fn nobody_met_where_nobody_is() {
        assert_eq!(Compared::of(&[]).met(By::Group), []);
    }
}
