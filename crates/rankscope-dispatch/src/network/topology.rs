//! Where ranks sit: nodes, the network cards of a node, and the leaf switches that cards hang on. What two ranks are to each
//! other is a [`Level`]; nothing here knows how fast a level is.

use rankscope_time::Rank;

use crate::Error;

/// How far a message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Within a node: NVLink, or shared memory.
    Node,
    /// Between nodes through one leaf switch.
    Rail,
    /// Between leaf switches.
    Spine,
}

impl Level {
    /// From near to far.
    pub const ALL: [Self; 3] = [Self::Node, Self::Rail, Self::Spine];

    /// Its name in network files and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Rail => "rail",
            Self::Spine => "spine",
        }
    }
}

/// Which cards share a leaf switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// Cards of equal place in their nodes; one leaf a rail. From rail to rail the way leads over the spine.
    PerRail,
    /// All cards of the nodes below it.
    PerNodes,
}

/// The shape of a network. Ranks fill nodes in order, and cards within a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Topology {
    /// Ranks of one node.
    pub ranks_per_node: u32,
    /// Ranks that share a network card.
    pub ranks_per_nic: u32,
    /// Nodes whose cards meet in the same leaf switches.
    pub nodes_per_leaf: u32,
    /// Which cards of them do.
    pub leaves: Leaves,
    /// Bytes per second of the cards below a leaf, over those of its uplinks. One where nothing is shared.
    pub oversubscription: f64,
}

impl Topology {
    /// All ranks in one node.
    pub const ONE_NODE: Self = Self {
        ranks_per_node: u32::MAX,
        ranks_per_nic: 1,
        nodes_per_leaf: u32::MAX,
        leaves: Leaves::PerRail,
        oversubscription: 1.0,
    };

    /// # Errors
    /// [`Error::BadNetwork`] names the field.
    pub fn validate(&self) -> Result<(), Error> {
        let bad = |field, what| Err(Error::BadNetwork { field, what });
        if self.ranks_per_node == 0 {
            return bad("ranks_per_node", "a node has at least one rank");
        }
        if self.ranks_per_nic == 0 || self.ranks_per_nic > self.ranks_per_node {
            return bad("ranks_per_nic", "a network card serves at least one rank and at most those of its node");
        }
        if self.nodes_per_leaf == 0 {
            return bad("nodes_per_leaf", "a leaf switch has at least one node");
        }
        if !(self.oversubscription.is_finite() && self.oversubscription >= 1.0) {
            return bad("oversubscription", "uplinks carry at most what comes from below, so this is a number from 1 up");
        }
        Ok(())
    }

    /// What `a` and `b`, two different ranks, are to each other.
    #[must_use]
    pub fn level(&self, a: Rank, b: Rank) -> Level {
        if self.node(a) == self.node(b) {
            Level::Node
        } else if self.leaf(a) == self.leaf(b) {
            Level::Rail
        } else {
            Level::Spine
        }
    }

    /// The node of `rank`.
    #[must_use]
    pub fn node(&self, rank: Rank) -> u32 {
        rank.0 / self.ranks_per_node
    }

    /// The place of the rank's card in its node.
    #[must_use]
    pub fn nic(&self, rank: Rank) -> u32 {
        rank.0 % self.ranks_per_node / self.ranks_per_nic
    }

    /// The leaf switch of the rank's card, all counted through.
    #[must_use]
    pub fn leaf(&self, rank: Rank) -> u32 {
        let group = self.node(rank) / self.nodes_per_leaf;
        match self.leaves {
            Leaves::PerNodes => group,
            Leaves::PerRail => group * self.nics_per_node() + self.nic(rank),
        }
    }

    /// Network cards of a node.
    #[must_use]
    pub fn nics_per_node(&self) -> u32 {
        self.ranks_per_node.div_ceil(self.ranks_per_nic)
    }

    /// Bytes per second of all uplinks of a leaf, in one direction, where a card does `nic_bytes_per_second`.
    #[must_use]
    pub fn uplink_bytes_per_second(&self, nic_bytes_per_second: u64) -> u64 {
        let cards = match self.leaves {
            Leaves::PerRail => u64::from(self.nodes_per_leaf),
            Leaves::PerNodes => u64::from(self.nodes_per_leaf) * u64::from(self.nics_per_node()),
        };
        let below = cards as f64 * nic_bytes_per_second as f64;
        (below / self.oversubscription).max(1.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAILS: Topology =
        Topology { ranks_per_node: 4, ranks_per_nic: 2, nodes_per_leaf: 2, leaves: Leaves::PerRail, oversubscription: 2.0 };

    #[test]
    fn a_rail_joins_cards_of_equal_place() {
        for (a, b, level) in [
            (0, 3, Level::Node),
            (0, 5, Level::Rail),  // the first card of the next node
            (0, 6, Level::Spine), // its second card hangs on another rail
            (0, 8, Level::Spine), // two nodes share a leaf, this is the third
        ] {
            assert_eq!(RAILS.level(Rank(a), Rank(b)), level, "{a} to {b}");
            assert_eq!(RAILS.level(Rank(b), Rank(a)), level, "{b} to {a}");
        }
        let leaves = Topology { leaves: Leaves::PerNodes, ..RAILS };
        assert_eq!(leaves.level(Rank(0), Rank(6)), Level::Rail);
    }

    #[test]
    fn uplinks_carry_what_comes_from_below_over_the_oversubscription() {
        assert_eq!(RAILS.uplink_bytes_per_second(50), 50);
        assert_eq!(Topology { leaves: Leaves::PerNodes, ..RAILS }.uplink_bytes_per_second(50), 100);
    }

    #[test]
    fn one_node_holds_every_rank() {
        assert_eq!(Topology::ONE_NODE.level(Rank(0), Rank(u32::MAX - 1)), Level::Node);
        assert_eq!(Topology::ONE_NODE.validate(), Ok(()));
    }
}
