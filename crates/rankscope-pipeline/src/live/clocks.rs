//! The clocks of a running job's nodes, as agents last wrote them.

use std::collections::BTreeMap;

use rankscope_clock::NodeId;
use rankscope_clock::files::read_offsets;
use rankscope_document::LiveNode;
use rankscope_live::NodeClock;
use rankscope_run::{RunDirectory, last_lines, live_parts};

/// The clocks of nodes, where anybody measured them.
pub(super) struct Clocks {
    /// The last estimate for each node.
    nodes: BTreeMap<NodeId, NodeClock>,
    /// Which rank is on which node.
    ranks: BTreeMap<u32, NodeId>,
    /// The names of nodes that say them while the job runs.
    hosts: BTreeMap<u32, String>,
}

/// What is read of a file that grows as long as the job runs: several rounds of ten thousand nodes.
const LAST_BYTES: u64 = 16 << 20;

impl Clocks {
    pub(super) fn of(run: &RunDirectory) -> Self {
        let bytes = last_lines(&run.clock().join("offsets.jsonl"), LAST_BYTES).unwrap_or_default();
        let mut nodes = BTreeMap::new();
        for row in read_offsets(&bytes).rows {
            let Some(estimate) = row.estimate else { continue };
            let (offset, bound) = (estimate.offset.as_nanos(), estimate.bound);
            let above_ns = bound.hi.as_nanos().saturating_sub(offset);
            let below_ns = offset.saturating_sub(bound.lo.as_nanos());
            let (low, high) = estimate.skew_bound_ppb;
            let skew_error_ppb = (high - estimate.skew_ppb).max(estimate.skew_ppb - low);
            let clock = NodeClock {
                at_ns: estimate.at.nanos_since_epoch(),
                offset_ns: offset,
                skew_ppb: estimate.skew_ppb,
                error_ns: above_ns.max(below_ns),
                skew_error_ppb,
            };
            nodes.insert(row.node, clock);
        }
        // What nodes say now counts for more than what was left of an attempt before.
        let parts = live_parts(run.path());
        let said = run.manifest().ranks.iter().chain(parts.iter().flat_map(|part| &part.ranks));
        let ranks = said.map(|rank| (rank.rank, NodeId(rank.node))).collect();
        Self { nodes, ranks, hosts: parts.into_iter().map(|part| (part.node, part.host)).collect() }
    }

    /// That of a rank's node. Where nobody measured, ranks of one node share its clock.
    pub(super) fn of_rank(&self, rank: u32, one_node: bool) -> Option<NodeClock> {
        if self.nodes.is_empty() {
            return one_node.then(NodeClock::default);
        }
        self.nodes.get(self.ranks.get(&rank)?).copied()
    }

    /// Which node each rank is on.
    pub(super) fn ranks(&self) -> BTreeMap<u32, u32> {
        self.ranks.iter().map(|(rank, node)| (*rank, node.0)).collect()
    }

    /// Nodes that the manifest names or whose clocks are known.
    pub(super) fn nodes(&self, run: &RunDirectory) -> Vec<LiveNode> {
        let manifest = run.manifest();
        let mut hosts: BTreeMap<u32, String> =
            self.nodes.keys().chain(self.ranks.values()).map(|node| (node.0, String::new())).collect();
        hosts.extend(manifest.ranks.iter().filter_map(|rank| Some((rank.node, rank.host.clone()?))));
        hosts.extend(manifest.nodes.iter().map(|entry| (entry.node, entry.host.clone())));
        hosts.extend(self.hosts.clone());
        let node = |(node, host)| {
            let clock = self.nodes.get(&NodeId(node));
            LiveNode {
                node,
                host,
                offset_ns: clock.map(|clock| clock.offset_ns),
                clock_error_ns: clock.map(|clock| clock.error_ns),
            }
        };
        hosts.into_iter().map(node).collect()
    }
}
