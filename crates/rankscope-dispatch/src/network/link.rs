//! What bytes pass through: the ports of ranks, network cards, and the uplinks of leaf switches, each in one direction.

use std::fmt;

use rankscope_time::Rank;

use super::topology::{Level, Topology};

/// One direction of one piece of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Link {
    /// A rank's port into its node, sending.
    NodeSend(Rank),
    /// A rank's port into its node, receiving.
    NodeReceive(Rank),
    /// A network card, sending.
    NicSend {
        /// Its node.
        node: u32,
        /// Its place in the node.
        nic: u32,
    },
    /// A network card, receiving.
    NicReceive {
        /// Its node.
        node: u32,
        /// Its place in the node.
        nic: u32,
    },
    /// All uplinks of a leaf switch, towards the spine.
    LeafUp(u32),
    /// All uplinks of a leaf switch, from the spine.
    LeafDown(u32),
}

impl Link {
    /// The links of a message between two different ranks, from sender to receiver.
    pub(crate) fn path(topology: &Topology, from: Rank, to: Rank) -> (Level, [Option<Self>; 4]) {
        let level = topology.level(from, to);
        let nic_send = || Self::NicSend { node: topology.node(from), nic: topology.nic(from) };
        let nic_receive = || Self::NicReceive { node: topology.node(to), nic: topology.nic(to) };
        let links = match level {
            Level::Node => [Some(Self::NodeSend(from)), None, None, Some(Self::NodeReceive(to))],
            Level::Rail => [Some(nic_send()), None, None, Some(nic_receive())],
            Level::Spine => {
                let (up, down) = (Self::LeafUp(topology.leaf(from)), Self::LeafDown(topology.leaf(to)));
                [Some(nic_send()), Some(up), Some(down), Some(nic_receive())]
            }
        };
        (level, links)
    }

    /// Whether messages of `rank` may cross it.
    #[must_use]
    pub fn serves(self, topology: &Topology, rank: Rank) -> bool {
        match self {
            Self::NodeSend(own) | Self::NodeReceive(own) => own == rank,
            Self::NicSend { node, nic } | Self::NicReceive { node, nic } => {
                (topology.node(rank), topology.nic(rank)) == (node, nic)
            }
            Self::LeafUp(leaf) | Self::LeafDown(leaf) => topology.leaf(rank) == leaf,
        }
    }

    /// Whether it belongs to no rank or node but to the fabric.
    #[must_use]
    pub fn is_uplink(self) -> bool {
        matches!(self, Self::LeafUp(_) | Self::LeafDown(_))
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NodeSend(rank) => write!(f, "rank {rank} sending in its node"),
            Self::NodeReceive(rank) => write!(f, "rank {rank} receiving in its node"),
            Self::NicSend { node, nic } => write!(f, "card {nic} of node {node} sending"),
            Self::NicReceive { node, nic } => write!(f, "card {nic} of node {node} receiving"),
            Self::LeafUp(leaf) => write!(f, "uplinks of leaf {leaf}"),
            Self::LeafDown(leaf) => write!(f, "downlinks of leaf {leaf}"),
        }
    }
}
