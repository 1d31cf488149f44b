//! The clocks of a job's ranks: which node each ran on, and the strongest way there is to the reference.

use rankscope_align::{JobClocks, Method, NodeClock, RankMap, RankSource, align, estimate_at_start};
use rankscope_collectives::{Matched, RankCollectives};

use crate::judge::{ClockChoice, JobRank};
use crate::{Facts, KnownClocks};

/// What is known of each rank's clock without its collectives.
pub(crate) fn sources_of<'a>(
    ranks: &'a [JobRank],
    known: Option<&'a KnownClocks>,
    nodes: &[Option<u32>],
) -> Vec<RankSource<'a>> {
    let clock_of = |node: u32| known.and_then(|known| known.nodes.iter().find(|clock| clock.node == node));
    let source = |(rank, node): (&'a JobRank, &Option<u32>)| RankSource {
        bounds_ns: rank.about.bounds_ns,
        host: rank.about.host.as_deref(),
        readings: &rank.about.clock_readings,
        node: node.and_then(clock_of),
    };
    ranks.iter().zip(nodes).map(source).collect()
}

/// The clocks of `ranks`, by `choice`.
pub(crate) fn clocks_of(
    sources: &[RankSource<'_>],
    collectives: &[RankCollectives],
    matched: &Matched,
    choice: ClockChoice,
) -> JobClocks {
    let hosts: Vec<_> = sources.iter().map(|source| source.host).collect();
    let starts: Vec<_> = sources.iter().map(|source| source.bounds_ns.map(|(first, _)| first)).collect();
    let estimate = estimate_at_start(collectives, matched, &hosts, &starts);
    let mut clocks = align(sources, estimate);
    if choice == ClockChoice::AsRecorded {
        for rank in &mut clocks.ranks {
            (rank.map, rank.method, rank.offset_ns, rank.drift_ppb) = (RankMap::identity(), Method::AsRecorded, 0, 0);
            rank.stages.clear();
        }
        clocks.method = Method::AsRecorded;
    }
    let one_node = |clock: &&NodeClock| sources.iter().all(|source| source.node.is_some_and(|node| node.node == clock.node));
    if sources.first().and_then(|source| source.node).as_ref().is_some_and(one_node) {
        // All ranks share the clock that was measured, so nothing between hosts was.
        clocks.method = Method::OneHost;
        clocks.ranks.iter_mut().for_each(|rank| rank.method = Method::OneHost);
    }
    clocks
}

/// Which node each rank ran on: by its number where the user said so, else as the run says, else by names of hosts, else where
/// there is one only.
pub(crate) fn nodes_of(
    ranks: &[JobRank],
    facts: &Facts,
    known: Option<&KnownClocks>,
    ranks_per_node: Option<u32>,
) -> Vec<Option<u32>> {
    let node = |rank: &JobRank| {
        let by_number = || ranks_per_node.map(|many| rank.rank.0 / many.max(1));
        let by_run = || facts.nodes.get(&rank.rank.0).copied();
        let by_host = || {
            let host = rank.about.host.as_deref()?;
            let mut same = known?.hosts.iter().filter(|(_, name)| name.as_str() == host);
            let first = same.next().map(|(node, _)| *node);
            first.filter(|_| same.next().is_none())
        };
        let only = || known.and_then(|known| if let [only] = known.nodes.as_slice() { Some(only.node) } else { None });
        by_number().or_else(by_run).or_else(by_host).or_else(only)
    };
    ranks.iter().map(node).collect()
}

/// Why clocks that were measured serve no rank.
pub(crate) fn unused(known: &KnownClocks, nodes: &[Option<u32>]) -> &'static str {
    if known.nodes.is_empty() {
        "the measurements place no node, so they are not used"
    } else if nodes.iter().all(Option::is_none) {
        "it is not known which rank ran on which node, so measured clocks cannot be used; pass --ranks-per-node"
    } else {
        "clocks were measured between nodes, but nothing relates the traces to their nodes' clocks (the header of windows-node<k>.jsonl would, or snapshots-node<k>.jsonl), so they are not used"
    }
}
