//! Which ranks share a clock, and how the clocks differ by the ends of collectives.
//!
//! Ranks of one host share its clock, where the host is known. Where hosts are not known, ranks are taken for one clock if their
//! ends cannot be told from each other and their stamps allow it: that pools their ends, so that the ranks of a node come out
//! equal, and assumes nothing that the ends do not show. Nothing here widens or narrows what is guaranteed.

use std::collections::{BTreeMap, VecDeque};

use super::meetings::Meeting;
use super::ties::{ENDS_MIN, EndPair, Line, Tie, median, tie};
use crate::{Bound, Bounds};

/// Ranks that are taken to have one clock.
#[derive(Clone, Debug)]
pub(crate) struct SharedClock {
    /// Ascending.
    pub(crate) ranks: Vec<usize>,
    /// Known to be of one host.
    is_host: bool,
    /// How it differs from the first clock that collectives lead to.
    pub(crate) line: Line,
    /// What the line was found by; `None` for a clock that others are compared with.
    tie: Option<Tie>,
}

/// Lines that are this many of their errors apart are of different clocks.
const APART_ERRORS: f64 = 6.0;
/// Ends agree on a difference that is so many times what one of them strays.
const DIFFERENT_NOISES: f64 = 8.0;
/// Less than this is no difference worth a clock of its own.
const APART_NS_MIN: f64 = 50.0;

impl SharedClock {
    fn of(ranks: Vec<usize>, is_host: bool) -> Self {
        Self { ranks, is_host, line: Line::default(), tie: None }
    }

    /// Whether its line cannot be told from that of `other`.
    fn may_be(&self, other: &Self) -> bool {
        let [a, b] = [self, other].map(|clock| clock.tie.map_or(0.0, |tie| tie.error_ns));
        let near_ns = APART_ERRORS * a.hypot(b) + APART_NS_MIN;
        let apart_ns = |at_ns: i64| self.line.at(at_ns).saturating_sub(other.line.at(at_ns)).unsigned_abs() as f64;
        self.tie.iter().chain(&other.tie).all(|tie| {
            let (first, last) = tie.reach_ns;
            apart_ns(tie.line.center_ns) <= near_ns && apart_ns(first).max(apart_ns(last)) <= 2.0 * near_ns
        })
    }
}

/// Whether the stamps of the `chosen` ranks, as they are, keep every cause before its effect.
pub(crate) fn equal_clocks_fit(meetings: &[Meeting], chosen: impl Fn(usize) -> bool) -> bool {
    meetings.iter().all(|meeting| meeting.slack_ns(&chosen).is_none_or(|slack| slack >= 0))
}

/// Whether something other than proof says that the clocks differ: stays that would not overlap if they were equal, and ends that
/// agree on a difference far better than it is large.
pub(crate) fn seem_to_differ(clocks: &[SharedClock], meetings: &[Meeting]) -> bool {
    let apart = |clock: &SharedClock| {
        let tie = clock.tie.filter(|tie| tie.count >= ENDS_MIN);
        tie.is_some_and(|tie| tie.line.offset_ns.unsigned_abs() as f64 > DIFFERENT_NOISES * tie.noise_ns)
    };
    meetings.iter().any(|meeting| meeting.overlap_ns() < 0) && clocks.iter().any(apart)
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

/// Puts together what is of unknown hosts and cannot be told apart, each with the first that it may share a clock with.
pub(crate) fn merged(clocks: Vec<SharedClock>, meetings: &[Meeting]) -> Vec<SharedClock> {
    let mut together: Vec<(SharedClock, Vec<usize>)> = Vec::new();
    for clock in clocks {
        let fits = |ranks: &[usize]| equal_clocks_fit(meetings, |rank| ranks.contains(&rank) || clock.ranks.contains(&rank));
        let home =
            together.iter().position(|(first, ranks)| !first.is_host && !clock.is_host && first.may_be(&clock) && fits(ranks));
        match home {
            Some(home) => together[home].1.extend(&clock.ranks),
            None => together.push((clock.clone(), clock.ranks)),
        }
    }
    together.into_iter().map(|(first, ranks)| SharedClock::of(ranks, first.is_host)).collect()
}

/// Gives every clock its line: from the first clock along the collectives that they share, nearest first. Clocks that share none
/// with it, not even through others, are tied to the first of their own. Where `bounds` are given, ends that are noisier than
/// those are wide are not believed.
pub(crate) fn tie_all(clocks: &mut [SharedClock], meetings: &[Meeting], bounds: Option<&Bounds>) {
    let ends = Ends::of(clocks, meetings);
    let mut reached = vec![false; clocks.len()];
    for root in 0..clocks.len() {
        let mut frontier = VecDeque::from_iter((!reached[root]).then_some(root));
        reached[root] = true;
        while let Some(from) = frontier.pop_front() {
            for (to, pairs) in ends.shared(from, clocks[from].line, &reached) {
                let Some(tie) = tie(pairs) else { continue };
                let bound = bounds.map(|bounds| bounds.between(clocks[from].ranks[0], clocks[to].ranks[0]));
                let line = clocks[from].line.then(&bound.map_or(tie.line, |bound| believed(&tie, bound)));
                (clocks[to].line, clocks[to].tie) = (line, Some(Tie { line, ..tie }));
                reached[to] = true;
                frontier.push_back(to);
            }
        }
    }
}

/// The line of the ends, or what the bound says where it says more than they do: nothing, if clocks may be equal.
fn believed(tie: &Tie, bound: Bound) -> Line {
    let level = |offset_ns: i64| Line { offset_ns, drift_ppb: 0, ..tie.line };
    let precise = tie.count >= ENDS_MIN && bound.width_ns().is_none_or(|width| tie.noise_ns <= width as f64 / 2.0);
    match bound.middle() {
        _ if precise => tie.line,
        _ if bound.allows_zero() => level(0),
        Some(middle_ns) => level(middle_ns),
        None => tie.line,
    }
}

/// When each clock saw the end of each meeting: the median of its ranks.
struct Ends {
    /// By meeting: how short it was, then clocks and ends.
    meetings: Vec<(i64, Vec<(usize, i64)>)>,
    /// By clock, the meetings it took part in.
    of_clock: Vec<Vec<usize>>,
}

impl Ends {
    fn of(clocks: &[SharedClock], meetings: &[Meeting]) -> Self {
        let clock_of: BTreeMap<usize, usize> =
            clocks.iter().enumerate().flat_map(|(at, clock)| clock.ranks.iter().map(move |rank| (*rank, at))).collect();
        let ends = meetings.iter().map(|meeting| {
            let mut by_clock: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
            for stay in &meeting.stays {
                by_clock.entry(clock_of[&stay.rank]).or_default().push(stay.end_ns);
            }
            let ends = by_clock.into_iter().filter_map(|(clock, ends)| Some((clock, median(ends)?)));
            (meeting.shortest_ns(), ends.collect())
        });
        let meetings: Vec<(i64, Vec<(usize, i64)>)> = ends.collect();
        let mut of_clock = vec![Vec::new(); clocks.len()];
        for (at, (_, ends)) in meetings.iter().enumerate() {
            ends.iter().for_each(|(clock, _)| of_clock[*clock].push(at));
        }
        Self { meetings, of_clock }
    }

    /// The ends that `from`, which is `line` ahead, shares with each clock that is not `reached` yet.
    fn shared(&self, from: usize, line: Line, reached: &[bool]) -> BTreeMap<usize, Vec<EndPair>> {
        let mut shared: BTreeMap<usize, Vec<EndPair>> = BTreeMap::new();
        if reached.iter().all(|reached| *reached) {
            return shared;
        }
        for (shortest_ns, ends) in self.of_clock[from].iter().map(|at| &self.meetings[*at]) {
            let Some(own_ns) = ends.iter().find(|(clock, _)| *clock == from).map(|(_, end)| *end) else { continue };
            for (clock, end_ns) in ends.iter().filter(|(clock, _)| !reached[*clock]) {
                let at_ns = own_ns.saturating_sub(line.at(own_ns));
                let difference_ns = end_ns.saturating_sub(own_ns);
                shared.entry(*clock).or_default().push(EndPair { shortest_ns: *shortest_ns, at_ns, difference_ns });
            }
        }
        shared
    }
}
