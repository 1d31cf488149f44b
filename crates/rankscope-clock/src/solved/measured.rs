//! From what clock agents left behind to one clock a node.
//!
//! Windows are solved anew and smoothed over the whole run: what is known afterwards is more than what was known live. Where
//! there are only offsets, as the origin leaves them, those are smoothed. A single node has neither and needs neither.

use std::collections::BTreeMap;

use rankscope_time::{ClockMap, HostClock, Knot, ReferenceClock};

use super::{HowSolved, Oddity, RunOffsets, RunWindows, solved};
use crate::NodeId;
use crate::files::solutions;
use crate::nodes::{Solution, SolveOptions, Stretch, joined, smooth};

/// The clock of one node, on that of the reference.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MeasuredClock {
    /// Whose.
    pub node: NodeId,
    /// From its host clock to that of the reference.
    pub to_reference: ClockMap<HostClock, ReferenceClock>,
    /// What its host clock adds to `CLOCK_MONOTONIC_RAW`.
    pub host_minus_raw_ns: Option<i64>,
    /// From `CLOCK_REALTIME` to its host clock.
    pub realtime: Vec<Knot>,
    /// Some stamps contradicted each other, so uncertainties are no proof.
    pub degraded: bool,
}

/// The clocks of all nodes of a run.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Measured {
    /// By node. One that no round placed has none.
    pub clocks: Vec<MeasuredClock>,
    /// Names of hosts, where headers name them.
    pub hosts: BTreeMap<NodeId, String>,
    /// Whose clock is the reference.
    pub reference: NodeId,
    /// What the clocks were made of, in order of time.
    pub rounds: Vec<Solution>,
    /// What was odd.
    pub oddities: Vec<Oddity>,
}

/// The clocks of the nodes that `windows`, `offsets` or readings of `realtime` ([`Readings`](super::Readings)) tell of.
pub fn measured(
    windows: Option<RunWindows>,
    offsets: Option<RunOffsets>,
    mut realtime: BTreeMap<NodeId, Vec<Knot>>,
) -> Measured {
    let mut told = Vec::new();
    let offsets = offsets.map(|read| {
        told = read.oddities;
        read.offsets
    });
    let named = offsets.as_ref().and_then(|offsets| offsets.header.as_ref()?.reference);
    let mut found = Measured { reference: named.unwrap_or_default(), ..Measured::default() };
    let headers = windows.as_ref().map(|read| read.headers.clone()).unwrap_or_default();
    let from_windows = windows.and_then(|windows| rounds(windows, &mut found));
    if from_windows.is_none() {
        // Windows tell of the edges, and what is odd about offsets that are not used is nobody's concern.
        found.oddities.extend(told.into_iter().filter(|oddity| matches!(oddity, Oddity::NodesOverTcp { .. })));
    }
    let rounds = from_windows.or_else(|| Some(solutions(&offsets?.rows))).unwrap_or_default();
    let mut nodes: Vec<NodeId> = headers.iter().map(|(node, _)| *node).collect();
    nodes.extend(rounds.iter().flat_map(|round| round.nodes.iter().map(|estimate| estimate.node)));
    nodes.extend(realtime.keys().copied());
    nodes.sort_unstable();
    nodes.dedup();
    for node in nodes {
        let header = headers.iter().find(|(known, _)| *known == node).map(|(_, header)| header);
        found.hosts.extend(header.and_then(|header| header.host.clone()).map(|host| (node, host)));
        let Some((to_reference, degraded)) = to_reference(node, &rounds, &mut found) else { continue };
        found.clocks.push(MeasuredClock {
            node,
            to_reference,
            host_minus_raw_ns: header.and_then(|header| header.host_minus_raw_ns),
            realtime: realtime.remove(&node).unwrap_or_default(),
            degraded,
        });
    }
    found.rounds = rounds;
    found
}

/// The rounds of `windows`. None where nothing can be solved from them: those of a lone node, or of one that was told another
/// reference.
fn rounds(windows: RunWindows, found: &mut Measured) -> Option<Vec<Solution>> {
    let solved = solved(windows, &HowSolved::for_reference(found.reference)).ok()?;
    if solved.solutions.iter().all(|round| round.nodes.len() <= 1) {
        return None;
    }
    found.oddities.extend(solved.oddities);
    Some(solved.solutions)
}

/// The clock of `node` on the reference's, and whether it is degraded; none where no round placed it.
fn to_reference(
    node: NodeId,
    rounds: &[Solution],
    found: &mut Measured,
) -> Option<(ClockMap<HostClock, ReferenceClock>, bool)> {
    if node == found.reference {
        return Some((ClockMap::identity(), false));
    }
    let change = SolveOptions::for_reference(found.reference).skew_change_ppb_per_s;
    let stretches = match smooth(node, rounds, change) {
        Ok(stretches) => stretches,
        Err(error) => {
            found.oddities.push(Oddity::NoClock { node, error });
            return None;
        }
    };
    if let [_, _, ..] = stretches.as_slice() {
        let jumps = stretches.len() - 1;
        if let Some(map) = joined(&stretches) {
            found.oddities.push(Oddity::StretchesJoined { node, jumps });
            return Some((map, stretches.iter().any(|stretch| stretch.degraded)));
        }
        found.oddities.push(Oddity::OneStretchUsed { node, jumps });
    }
    let Stretch { map, degraded, .. } = stretches.into_iter().max_by_key(known_ns)?;
    Some((map, degraded))
}

/// How long the estimates of a stretch reach.
fn known_ns(stretch: &Stretch) -> i64 {
    let known = stretch.map.known().into_iter().flatten().next();
    known.map_or(0, |(from, until)| (until - from).as_nanos())
}
