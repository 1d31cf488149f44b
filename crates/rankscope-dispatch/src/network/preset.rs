//! Networks to start from before one's own is measured. Rates named nominal are data sheets, which no transfer reaches.

use rankscope_time::Span;

use super::predict::{LevelCost, Network};
use super::size_table::SizeTable;
use super::topology::{Leaves, Topology};

/// A network by name.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// What to call it by.
    pub name: &'static str,
    /// Where its figures come from.
    pub source: &'static str,
    topology: Topology,
    node: Rates,
    rail: Rates,
}

/// Nanoseconds a message and bytes a second.
type Rates = (i64, u64);

impl Preset {
    /// The preset called `name`.
    #[must_use]
    pub fn of_name(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// The network it stands for.
    #[must_use]
    pub fn network(&self) -> Network {
        let cost = |(alpha_ns, bytes_per_second)| LevelCost {
            alpha: Span::from_nanos(alpha_ns),
            bytes_per_second,
            small: SizeTable::default(),
        };
        // Beyond the leaf a message has two more hops, which are lost in what it costs to start it.
        let (node, rail, spine) = (cost(self.node), cost(self.rail), cost(self.rail));
        Network { topology: self.topology, base: Span::ZERO, node, rail, spine }
    }
}

/// Fitted: an all-gather over eight H100 takes 51 us and a byte every 1/428 ns (dispatch spec 7.E). Of its bytes seven eighths
/// cross a port, in seven messages.
const H100_NVLINK: Rates = (51_000 / 7, 374_500_000_000);

const EIGHT_CARDS: Topology =
    Topology { ranks_per_node: 8, ranks_per_nic: 1, nodes_per_leaf: 32, leaves: Leaves::PerRail, oversubscription: 1.0 };

/// All of them.
pub const PRESETS: [Preset; 6] = [
    Preset {
        name: "h100-nvlink",
        source: "fitted to NCCL all-gather on 8 H100, 8 MB to 8 GB: 51 us and 428 GB/s, that is 374.5 GB/s a port",
        topology: Topology::ONE_NODE,
        node: H100_NVLINK,
        rail: H100_NVLINK,
    },
    Preset {
        name: "h100-ib400",
        source: "within nodes as h100-nvlink; between them 400 Gb/s a GPU nominal, rails of 32 nodes, no oversubscription, and an \
                 assumed 10 us a message",
        topology: EIGHT_CARDS,
        node: H100_NVLINK,
        rail: (10_000, 50_000_000_000),
    },
    Preset {
        name: "h100-ib400-2to1",
        source: "as h100-ib400, with half as many uplinks as cards",
        topology: Topology { oversubscription: 2.0, ..EIGHT_CARDS },
        node: H100_NVLINK,
        rail: (10_000, 50_000_000_000),
    },
    Preset {
        name: "a100-ib200",
        source: "NVLink 300 GB/s a port nominal, 200 Gb/s a GPU between nodes nominal, an assumed 10 us a message",
        topology: EIGHT_CARDS,
        node: (10_000, 300_000_000_000),
        rail: (10_000, 25_000_000_000),
    },
    Preset {
        name: "ethernet-100",
        source: "one card of 100 Gb/s nominal for the 8 GPUs of a node, nodes of a leaf on one switch at 2 to 1, within nodes as \
                 h100-nvlink, an assumed 30 us a message",
        topology: Topology {
            ranks_per_nic: 8,
            nodes_per_leaf: 16,
            leaves: Leaves::PerNodes,
            oversubscription: 2.0,
            ..EIGHT_CARDS
        },
        node: H100_NVLINK,
        rail: (30_000, 12_500_000_000),
    },
    Preset {
        name: "free",
        source: "a network that costs nothing, to see what balance alone gives",
        topology: Topology::ONE_NODE,
        node: (0, u64::MAX),
        rail: (0, u64::MAX),
    },
];
