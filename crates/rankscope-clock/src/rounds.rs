//! Which windows of different nodes belong together, found by time.
//!
//! Numbers of rounds are hints: nodes disagree about them at the edge of a round, and without a master they count on their
//! own. So windows are laid on one coarse clock, made from the offsets that edges measured themselves, and those that overlap
//! by half form a round. The reference's windows set the pace; where it has none, those of the node that was there longest.
//!
//! The coarse clock is good to a fraction of a window and used for nothing else. Nodes that no edge relates are laid on it as
//! if their clocks agreed with the reference's.

mod coarse;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rankscope_time::Span;

use crate::nodes::Solution;
use crate::{NodeId, NodeWindow};
use coarse::CoarseClock;

/// Windows that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// The number that its windows carry, where that tells all rounds apart; counted from 0 otherwise.
    pub id: u64,
    /// How long it took, on the clock of the node that set the pace.
    pub length: Span,
    /// One of each node that took part, by node.
    pub windows: Vec<NodeWindow>,
}

/// All rounds of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounds {
    /// In order of time.
    pub rounds: Vec<Round>,
    /// Numbers of rounds did not tell them apart, so these were counted anew.
    pub renumbered: bool,
    /// Windows that carry another number than their round.
    pub misnumbered: usize,
    /// Windows that were there twice.
    pub duplicates: usize,
}

/// Puts `windows` of all nodes into rounds.
pub fn rounds(windows: Vec<NodeWindow>, reference: NodeId) -> Rounds {
    let (windows, duplicates) = without_duplicates(windows);
    let clock = CoarseClock::of(&windows, reference);
    let longest_ns = windows.iter().map(|window| (window.end - window.start).as_nanos()).max().unwrap_or(0);
    let mut found: Vec<Group> = Vec::new();
    for window in in_order_of_pace(windows, reference) {
        let (start_ns, length_ns) = (clock.common_ns(window.node, window.start), (window.end - window.start).as_nanos());
        let extent = Extent { start_ns, end_ns: start_ns.saturating_add(length_ns) };
        match home(&found, longest_ns, extent) {
            Some(at) => found[at].take(window),
            None => {
                let at = found.partition_point(|group| group.extent.start_ns <= start_ns);
                found.insert(at, Group { extent, windows: BTreeMap::from([(window.node, window)]) });
            }
        }
    }
    numbered(found, duplicates)
}

/// Draws offsets towards what the round before foretold: `factor` 1 leaves them as measured, the least takes hardly anything
/// of them. They stay within their bounds.
pub fn ease(before: &Solution, now: &mut Solution, factor: f64) {
    for estimate in &mut now.nodes {
        let Some(earlier) = before.nodes.iter().find(|earlier| earlier.node == estimate.node) else { continue };
        let gained_ns = earlier.skew_ppb * 1e-9 * (estimate.at - earlier.at).as_nanos() as f64;
        let foretold = earlier.offset + Span::from_nanos(gained_ns.round() as i64);
        let correction_ns = (foretold - estimate.offset).as_nanos() as f64 * (1.0 - factor);
        let eased = estimate.offset + Span::from_nanos(correction_ns.round() as i64);
        // A bound that does not hold the measured offset is none to keep to.
        if estimate.bound.lo <= eased && eased <= estimate.bound.hi {
            estimate.offset = eased;
        }
    }
}

/// From when to when on the coarse clock.
#[derive(Clone, Copy)]
struct Extent {
    start_ns: i64,
    end_ns: i64,
}

impl Extent {
    fn length_ns(self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// How long both last, if that is half of the shorter one at least.
    fn shared_ns(self, other: Self) -> Option<i64> {
        let shared_ns = self.end_ns.min(other.end_ns).saturating_sub(self.start_ns.max(other.start_ns));
        let half_ns = self.length_ns().min(other.length_ns()) / 2;
        (shared_ns >= half_ns).then_some(shared_ns)
    }
}

struct Group {
    extent: Extent,
    windows: BTreeMap<NodeId, NodeWindow>,
}

impl Group {
    /// A node that was restarted may have two short windows in one round.
    fn take(&mut self, window: NodeWindow) {
        match self.windows.get_mut(&window.node) {
            Some(first) => join(first, window),
            None => drop(self.windows.insert(window.node, window)),
        }
    }
}

/// The group that `extent` shares most time with. `found` is in order of time, and none takes longer than `longest_ns`.
fn home(found: &[Group], longest_ns: i64, extent: Extent) -> Option<usize> {
    let from = found.partition_point(|group| group.extent.start_ns < extent.start_ns.saturating_sub(longest_ns));
    let near = found[from..].iter().take_while(|group| group.extent.start_ns <= extent.end_ns);
    let shared = near.enumerate().filter_map(|(at, group)| Some((group.extent.shared_ns(extent)?, Reverse(from + at))));
    shared.max().map(|(_, Reverse(at))| at)
}

fn join(first: &mut NodeWindow, second: NodeWindow) {
    (first.start, first.end) = (first.start.min(second.start), first.end.max(second.end));
    for record in second.edges {
        let Some(known) = first.edges.iter_mut().find(|known| known.edge == record.edge) else {
            first.edges.push(record);
            continue;
        };
        known.fits.extend(record.fits);
        known.events.extend(record.events);
        known.stamps = known.stamps.max(record.stamps);
        let (sum, more) = (&mut known.counts, record.counts);
        for (count, more) in [
            (&mut sum.complete, more.complete),
            (&mut sum.lost_forward, more.lost_forward),
            (&mut sum.lost_reverse, more.lost_reverse),
            (&mut sum.reordered, more.reordered),
            (&mut sum.duplicated, more.duplicated),
            (&mut sum.unstamped, more.unstamped),
            (&mut sum.filtered, more.filtered),
        ] {
            *count = count.saturating_add(more);
        }
    }
    first.edges.sort_by_key(|record| record.edge);
}

fn without_duplicates(windows: Vec<NodeWindow>) -> (Vec<NodeWindow>, usize) {
    let all = windows.len();
    let mut seen = BTreeSet::new();
    let mut windows = windows;
    windows.retain(|window| seen.insert((window.node, window.start, window.end, window.window_id)));
    let duplicates = all - windows.len();
    (windows, duplicates)
}

/// Windows of the reference first, then those of the node that was there longest, and so on; each node's in order of time.
fn in_order_of_pace(mut windows: Vec<NodeWindow>, reference: NodeId) -> Vec<NodeWindow> {
    let mut covered_ns: BTreeMap<NodeId, i64> = BTreeMap::new();
    for window in &windows {
        let covered = covered_ns.entry(window.node).or_default();
        *covered = covered.saturating_add((window.end - window.start).as_nanos());
    }
    windows.sort_by_key(|window| {
        let covered = covered_ns.get(&window.node).copied();
        (window.node != reference, Reverse(covered), window.node, window.start)
    });
    windows
}

fn numbered(found: Vec<Group>, duplicates: usize) -> Rounds {
    let hints: Vec<Option<u64>> = found.iter().map(hint).collect();
    let known: Option<Vec<u64>> = hints.iter().copied().collect();
    let ids = known.filter(|ids| ids.windows(2).all(|pair| pair[0] < pair[1]));
    let renumbered = ids.is_none();
    let misnumbered = found.iter().zip(&hints).map(|(group, hint)| strays(group, *hint)).sum();
    let ids = ids.unwrap_or_else(|| (0..found.len() as u64).collect());
    let rounds = found.into_iter().zip(ids).map(|(group, id)| Round {
        id,
        length: Span::from_nanos(group.extent.length_ns()),
        windows: group.windows.into_values().collect(),
    });
    Rounds { rounds: rounds.collect(), renumbered, misnumbered, duplicates }
}

/// The number that most windows of the group carry.
fn hint(group: &Group) -> Option<u64> {
    let mut votes: BTreeMap<u64, usize> = BTreeMap::new();
    for round in group.windows.values().filter_map(|window| window.round) {
        *votes.entry(round).or_default() += 1;
    }
    votes.into_iter().max_by_key(|(round, votes)| (*votes, Reverse(*round))).map(|(round, _)| round)
}

fn strays(group: &Group, hint: Option<u64>) -> usize {
    group.windows.values().filter(|window| window.round.is_some() && window.round != hint).count()
}

#[cfg(test)]
mod tests;
