//! What must hold of any prediction, whatever the network.

#![expect(clippy::unwrap_used, reason = "a broken assumption of a test is a failure of it")]

use proptest::prelude::*;
use rankscope_dispatch::Traffic;
use rankscope_dispatch::network::{Leaves, LevelCost, Link, Network, Preset, SizeTable, Topology};
use rankscope_time::{Rank, Span};

const RANKS: u32 = 12;

fn cost() -> impl Strategy<Value = LevelCost> {
    (0..50_000_i64, 1_000_000..1_000_000_000_000_u64, prop::option::of(1_000..100_000_i64)).prop_map(
        |(alpha_ns, rate, small)| {
            let points = |start: i64| (0..4).map(|at| (1_000_u64 << (4 * at), Span::from_nanos(start << at))).collect();
            let small = small.map_or_else(SizeTable::default, |start| SizeTable::new(points(start)).unwrap());
            LevelCost { alpha: Span::from_nanos(alpha_ns), bytes_per_second: rate, small }
        },
    )
}

fn network() -> impl Strategy<Value = Network> {
    let topology = (1..6_u32, 1..3_u32, 1..4_u32, any::<bool>(), 1.0..8.0_f64);
    (topology, 0..50_000_i64, cost(), cost(), cost()).prop_map(
        |((node, nic, leaf, rails, over), base_ns, node_cost, rail, spine)| {
            let leaves = if rails { Leaves::PerRail } else { Leaves::PerNodes };
            let topology = Topology {
                ranks_per_node: node,
                ranks_per_nic: nic.min(node),
                nodes_per_leaf: leaf,
                leaves,
                oversubscription: over,
            };
            Network { topology, base: Span::from_nanos(base_ns), node: node_cost, rail, spine }
        },
    )
}

fn sends() -> impl Strategy<Value = Vec<(u32, u32, u64)>> {
    prop::collection::vec((0..RANKS, 0..RANKS, 0..1_u64 << 24), 0..60)
}

fn traffic(sends: &[(u32, u32, u64)]) -> Traffic {
    Traffic::new(RANKS, sends.iter().map(|&(from, to, bytes)| (Rank(from), Rank(to), bytes)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_total_is_that_of_the_slowest_rank_and_the_named_link(network in network(), sends in sends()) {
        let prediction = network.predict(&traffic(&sends)).unwrap();
        prop_assert_eq!(prediction.total, prediction.ranks.iter().map(|rank| rank.stay).max().unwrap());
        let named = prediction.links.iter().find(|link| Some(link.link) == prediction.bottleneck);
        prop_assert_eq!(prediction.total, named.map_or(Span::ZERO, |link| link.time));
    }

    #[test]
    fn bytes_are_conserved_on_the_way(network in network(), sends in sends()) {
        let traffic = traffic(&sends);
        let prediction = network.predict(&traffic).unwrap();
        let over = |wanted: fn(&Link) -> bool| -> u64 {
            prediction.links.iter().filter(|link| wanted(&link.link)).map(|link| link.bytes).sum()
        };
        let out = over(|link| matches!(link, Link::NodeSend(_) | Link::NicSend { .. }));
        let into = over(|link| matches!(link, Link::NodeReceive(_) | Link::NicReceive { .. }));
        prop_assert_eq!(out, traffic.remote_bytes());
        prop_assert_eq!(into, traffic.remote_bytes());
        prop_assert_eq!(over(|link| matches!(link, Link::LeafUp(_))), over(|link| matches!(link, Link::LeafDown(_))));
        prop_assert_eq!(prediction.ranks.iter().map(|rank| rank.send_bytes).sum::<u64>(), traffic.remote_bytes());
    }

    #[test]
    fn more_traffic_never_takes_less(network in network(), sends in sends(), more in sends()) {
        let few = network.predict(&traffic(&sends)).unwrap();
        let many = network.predict(&traffic(&[sends, more].concat())).unwrap();
        prop_assert!(many.total >= few.total, "{:?} after {:?}", many.total, few.total);
    }

    #[test]
    fn a_faster_network_never_takes_more(network in network(), sends in sends(), factor in 1..10_u64) {
        let mut faster = network.clone();
        for level in [&mut faster.node, &mut faster.rail, &mut faster.spine] {
            level.bytes_per_second *= factor;
        }
        let traffic = traffic(&sends);
        prop_assert!(faster.predict(&traffic).unwrap().total <= network.predict(&traffic).unwrap().total);
    }

    #[test]
    fn the_way_back_takes_as_long(network in network(), sends in sends()) {
        let traffic = traffic(&sends);
        prop_assert_eq!(network.predict(&traffic).unwrap().total, network.predict(&traffic.reversed()).unwrap().total);
    }

    #[test]
    fn what_stays_on_its_rank_costs_nothing(network in network(), bytes in 0..u64::MAX) {
        let prediction = network.predict(&traffic(&[(3, 3, bytes)])).unwrap();
        prop_assert_eq!((prediction.total, prediction.bottleneck), (Span::ZERO, None));
    }

    #[test]
    fn any_bytes_end_in_a_time_or_an_error(network in network(), sends in prop::collection::vec((0..RANKS, 0..RANKS, any::<u64>()), 0..8)) {
        let distinct = sends.iter().enumerate().map(|(at, &(from, _, bytes))| (Rank(from), Rank(at as u32), bytes));
        if let Ok(prediction) = network.predict(&Traffic::new(RANKS, distinct)) {
            prop_assert!(prediction.total >= Span::ZERO);
        }
    }
}

#[test]
fn a_fan_in_is_bound_by_its_receiver() {
    let network = Preset::of_name("h100-nvlink").unwrap().network();
    let sends: Vec<_> = (1..8).map(|from| (from, 0, 374_500_000)).collect();
    let prediction = network.predict(&traffic(&sends)).unwrap();
    assert_eq!(prediction.bottleneck, Some(Link::NodeReceive(Rank(0))));
    assert_eq!(prediction.total.as_nanos(), 7 * (51_000 / 7 + 1_000_000));
    assert_eq!(prediction.ranks[3].send.as_nanos(), 51_000 / 7 + 1_000_000);
    assert_eq!(prediction.ranks[3].stay, prediction.total, "its message waits in line with the others");
}

#[test]
fn an_even_exchange_takes_what_the_all_gather_behind_the_preset_took() {
    let network = Preset::of_name("h100-nvlink").unwrap().network();
    let size_bytes = 1_u64 << 30;
    let sends = (0..8).flat_map(|from| (0..8).map(move |to| (Rank(from), Rank(to), size_bytes / 8)));
    let predicted = network.predict(&Traffic::new(8, sends)).unwrap().total.as_nanos() as f64;
    let fitted = 51_000.0 + size_bytes as f64 / 428.0;
    assert!((predicted / fitted - 1.0).abs() < 1e-3, "{predicted} ns, and {fitted} ns by the fit");
}

#[test]
fn oversubscribed_uplinks_are_the_bottleneck_they_are() {
    let sends: Vec<_> = (0..4).map(|from| (from, from + 4, 50_000_000)).collect();
    let network = |oversubscription| {
        let cost = LevelCost { alpha: Span::ZERO, bytes_per_second: 50_000_000_000, small: SizeTable::default() };
        let topology =
            Topology { ranks_per_node: 1, ranks_per_nic: 1, nodes_per_leaf: 4, leaves: Leaves::PerNodes, oversubscription };
        Network { topology, base: Span::ZERO, node: cost.clone(), rail: cost.clone(), spine: cost }
    };
    let free = network(1.0).predict(&traffic(&sends)).unwrap();
    let narrow = network(4.0).predict(&traffic(&sends)).unwrap();
    assert_eq!((free.total.as_nanos(), narrow.total.as_nanos()), (1_000_000, 4_000_000));
    assert_eq!(narrow.bottleneck, Some(Link::LeafUp(0)));
}
