//! What a token costs between two ranks. Within a node it may cost a part of what it costs between nodes; who plans for the
//! fewest bytes sees no difference.

use crate::network::{Level, Network};
use crate::planner::Prices;

/// Ranks whose links cost less, which are neighbours by number, and what a byte costs there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::planner) struct Nodes {
    /// Ranks of a node.
    ranks: u32,
    /// Of what a byte costs between nodes.
    part: f64,
}

impl Nodes {
    /// All bytes cost alike.
    pub(in crate::planner) const ALIKE: Self = Self { ranks: 1, part: 1.0 };

    /// Those of `network`, if `world_size` ranks are on several and a byte costs less within one: by the rate of a rank's port
    /// there and its share of a card.
    pub(in crate::planner) fn of(network: &Network, world_size: u32) -> Option<Self> {
        let topology = &network.topology;
        let rate = |level: Level| network.cost(level).bytes_per_second.max(1) as f64;
        let part = rate(Level::Rail) / f64::from(topology.ranks_per_nic) / rate(Level::Node);
        let is_several = (2..world_size).contains(&topology.ranks_per_node);
        (is_several && part < 1.0).then_some(Self { ranks: topology.ranks_per_node, part })
    }
}

/// Prices by how far a token goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fares {
    far: Prices,
    near: Prices,
    ranks_per_node: u32,
}

impl Fares {
    pub(super) fn new(prices: Prices, nodes: Nodes) -> Self {
        let part = |bytes: u64| (bytes as f64 * nodes.part) as u64;
        let near = Prices { query: part(prices.query), key: part(prices.key) };
        Self { far: prices, near, ranks_per_node: nodes.ranks }
    }

    /// The ranks of the node of `rank`, itself included.
    pub(super) fn node(&self, rank: u32) -> std::ops::Range<u32> {
        let first = rank - rank % self.ranks_per_node;
        first..first.saturating_add(self.ranks_per_node)
    }

    /// A query and its output between two ranks.
    pub(super) fn query(&self, a: u32, b: u32) -> i64 {
        match (a == b, a / self.ranks_per_node == b / self.ranks_per_node) {
            (true, _) => 0,
            (false, true) => self.near.query as i64,
            (false, false) => self.far.query as i64,
        }
    }

    /// The least that a query and its output cost between two ranks.
    pub(super) fn least_query(&self) -> i64 {
        if self.ranks_per_node > 1 { self.near.query as i64 } else { self.far.query as i64 }
    }

    /// Keys and values of which so many tokens come from elsewhere, and so many of these from the same node.
    pub(super) fn keys(&self, elsewhere: i64, within: i64) -> i64 {
        (elsewhere - within) * self.far.key as i64 + within * self.near.key as i64
    }
}
