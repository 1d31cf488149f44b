//! Which ranks share a clock.
//!
//! Ranks of one host share its clock, where the host is known. Where hosts are not known, ranks are taken for one clock if their
//! ends cannot be told from each other and their stamps allow it: that pools their ends, so that the ranks of a node come out
//! equal, and assumes nothing that the ends do not show. Nothing here widens or narrows what is guaranteed.

use std::collections::BTreeMap;

use super::homes::Homes;
use super::meetings::{Meetings, Room};
use super::passages::{Passage, Passages};
use super::ties::{ENDS_MIN, Line, Tie};

/// Ranks that are taken to have one clock.
#[derive(Clone, Debug)]
pub(crate) struct SharedClock {
    /// Ascending.
    pub(crate) ranks: Vec<usize>,
    /// Known to be of one host.
    pub(super) is_host: bool,
    /// How it differs from the first clock that collectives lead to.
    pub(crate) line: Line,
    /// What the line was found by; `None` for a clock that others are compared with.
    pub(super) tie: Option<Tie>,
}

/// Lines that are this many of their errors apart are of different clocks.
const APART_ERRORS: f64 = 6.0;
/// Ends agree on a difference that is so many times what one of them strays.
const DIFFERENT_NOISES: f64 = 8.0;
/// Less than this is no difference worth a clock of its own.
const APART_NS_MIN: f64 = 50.0;

/// How near lines of these ties have to be not to be told apart.
pub(super) fn near_ns(ties: [Option<&Tie>; 2]) -> f64 {
    let most = |of: fn(&Tie) -> f64| ties.map(|tie| tie.map_or(0.0, of));
    let ([a, b], [noise, other_noise]) = (most(|tie| tie.error_ns), most(|tie| tie.noise_ns));
    // Half of the noise may be lateness that went unnoticed under it; a slope that it hid from one of the two leaves as much.
    APART_ERRORS * a.hypot(b) + noise.max(other_noise) / 2.0 + APART_NS_MIN
}

impl SharedClock {
    fn of(ranks: Vec<usize>, is_host: bool) -> Self {
        Self { ranks, is_host, line: Line::default(), tie: None }
    }

    /// Whether its line cannot be told from that of `other`.
    pub(super) fn may_be(&self, other: &Self) -> bool {
        let near_ns = near_ns([self, other].map(|clock| clock.tie.as_ref()));
        let apart_ns = |at_ns: i64| self.line.at(at_ns).saturating_sub(other.line.at(at_ns)).unsigned_abs() as f64;
        self.tie.iter().chain(&other.tie).all(|tie| {
            let (first, last) = tie.reach_ns;
            apart_ns(tie.line.center_ns) <= near_ns && apart_ns(first).max(apart_ns(last)) <= 2.0 * near_ns
        })
    }
}

/// Whether the stamps of the `chosen` ranks, as they are, keep every cause before its effect.
pub(crate) fn equal_clocks_fit(meetings: &Meetings<'_>, chosen: impl Fn(usize) -> bool) -> bool {
    let mut room = Room::default();
    meetings.blocks().all(|block| {
        let mut passage = Passage::free(block.at.len());
        let members = (0..block.members.len()).filter(|place| chosen(block.members[*place].rank()));
        members.for_each(|place| passage.take_up(&block.column(place, &mut room)));
        passage.fits(&passage)
    })
}

/// Whether something other than proof says that clocks differ: ends agree on a difference far better than it is large, and it is
/// larger than the collectives were long. Once everybody has come, nobody stays twice as long as the rest, time after time.
pub(crate) fn seem_to_differ(clocks: &[SharedClock]) -> bool {
    clocks.iter().filter_map(|clock| clock.tie).filter(|tie| tie.count >= ENDS_MIN).any(|tie| {
        let (first, last) = tie.reach_ns;
        let apart_ns = [tie.line.center_ns, first, last].map(|at_ns| tie.line.at(at_ns).saturating_abs()).into_iter().max();
        let apart_ns = apart_ns.unwrap_or(0);
        apart_ns as f64 > DIFFERENT_NOISES * tie.noise_ns && apart_ns > tie.shortest_ns
    })
}

/// The name of a host that is one: machines that were never named all have the same.
pub(crate) fn host_name(host: Option<&str>) -> Option<&str> {
    const NOBODY: [&str; 4] = ["", "localhost", "localhost.localdomain", "(none)"];
    host.filter(|host| !NOBODY.contains(host))
}

/// The hosts, and every rank of an unknown one by itself.
pub(crate) fn by_host(hosts: &[Option<&str>]) -> Vec<SharedClock> {
    let mut named: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut clocks = Vec::new();
    for (rank, host) in hosts.iter().enumerate() {
        match host_name(*host) {
            Some(host) => named.entry(host).or_default().push(rank),
            None => clocks.push(SharedClock::of(vec![rank], false)),
        }
    }
    clocks.extend(named.into_values().map(|ranks| SharedClock::of(ranks, true)));
    clocks.sort_by_key(|clock| clock.ranks[0]);
    clocks
}

/// Puts together what is of unknown hosts and cannot be told apart, each with the first that it may share a clock with. A clock
/// that stays by itself keeps its line.
pub(crate) fn merged(clocks: Vec<SharedClock>, meetings: &Meetings<'_>) -> Vec<SharedClock> {
    if clocks.iter().filter(|clock| !clock.is_host).count() < 2 {
        return clocks;
    }
    let blocks = meetings.blocks_by_rank(clocks.iter().flat_map(|clock| &clock.ranks).max().map_or(0, |most| most + 1));
    let (mut homes, mut rooms) = (Homes::of(&clocks), Default::default());
    let mut together: Vec<(SharedClock, Vec<usize>, Passages)> = Vec::new();
    for clock in clocks {
        if clock.is_host {
            together.push((clock.clone(), clock.ranks, Passages::default()));
            continue;
        }
        let mut own = Passages::default();
        clock.ranks.iter().for_each(|rank| own.join(Passages::of_rank(&blocks[*rank]), meetings, &mut rooms));
        let home = homes.near(&clock).into_iter().find(|home| {
            let (first, _, theirs) = &together[*home];
            first.may_be(&clock) && theirs.fit(&own, meetings, &mut rooms)
        });
        match home {
            Some(home) => {
                together[home].1.extend(&clock.ranks);
                together[home].2.join(own, meetings, &mut rooms);
            }
            None => {
                homes.add(&clock, together.len());
                together.push((clock.clone(), clock.ranks, own));
            }
        }
    }
    let whole = |(first, ranks, _): (SharedClock, Vec<usize>, Passages)| {
        if ranks.len() == first.ranks.len() { first } else { SharedClock::of(ranks, first.is_host) }
    };
    together.into_iter().map(whole).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::meetings::Stay;
    use super::*;

    /// As `merged`, by looking through all meetings for every pair of clocks.
    fn merged_slowly(clocks: &[SharedClock], meetings: &Meetings<'_>) -> Vec<Vec<usize>> {
        let mut together: Vec<(&SharedClock, Vec<usize>)> = Vec::new();
        for clock in clocks {
            let fits =
                |ranks: &[usize]| equal_clocks_fit(meetings, |rank| ranks.contains(&rank) || clock.ranks.contains(&rank));
            match together.iter().position(|(first, ranks)| first.may_be(clock) && fits(ranks)) {
                Some(home) => together[home].1.extend(&clock.ranks),
                None => together.push((clock, clock.ranks.clone())),
            }
        }
        together.into_iter().map(|(_, ranks)| ranks).collect()
    }

    fn meetings() -> impl Strategy<Value = Meetings<'static>> {
        let stay = (any::<bool>(), 0i64..400, 200i64..600, any::<bool>(), any::<bool>());
        prop::collection::vec(prop::collection::vec(stay, 9), 1..12).prop_map(|all| {
            let of_rank = |(rank, (is_there, start_ns, end_ns, is_needed, needs)): (usize, (bool, i64, i64, bool, bool))| {
                let end_ns = start_ns.max(end_ns);
                is_there.then(|| Stay { is_needed, needs, ..Stay::of(rank, start_ns, end_ns) })
            };
            let meeting = |stays: Vec<_>| stays.into_iter().enumerate().filter_map(of_rank).collect::<Vec<_>>();
            all.into_iter().map(meeting).collect()
        })
    }

    proptest! {
        #[test]
        fn clocks_are_put_together_as_by_looking_at_every_pair(meetings in meetings()) {
            let clocks = by_host(&[None; 9]);
            let slowly = merged_slowly(&clocks, &meetings);
            let found: Vec<Vec<usize>> = merged(clocks, &meetings).into_iter().map(|clock| clock.ranks).collect();
            prop_assert_eq!(found, slowly);
        }
    }
}
