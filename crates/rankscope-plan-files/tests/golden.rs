//! The bytes of every file that is written, of schema 1: whoever changes one sees it here.

use rankscope_dispatch::network::{LevelCost, Network, PRESETS, SizeTable, Topology};
use rankscope_dispatch::{Batch, Rows, Shard, binary};
use rankscope_plan_files::{network, plan};
use rankscope_time::{Rank, Span};

fn batch() -> Batch {
    let shard = |(linear, attention, tokens)| Shard { linear: Rank(linear), attention: Rank(attention), tokens };
    let mut batch = Batch::new(3).expect("three ranks are some");
    for document in [&[(0, 0, 5), (1, 2, 4), (1, 0, 300)][..], &[], &[(2, 2, 7)]] {
        batch.push(&document.iter().copied().map(shard).collect::<Vec<_>>()).expect("shards of three ranks");
    }
    batch
}

const ROWS: Rows = Rows { hidden_q: 4096, hidden_kv: 1024, lse: 32, element_bytes: 2 };

#[test]
fn a_plan_is_these_bytes() {
    let text = plan::json(batch(), &ROWS);
    assert_eq!(text, include_str!("golden/plan.json"));
    let read = plan::read(include_bytes!("golden/plan.json")).unwrap();
    assert_eq!((read.assignment, read.rows), (batch().into(), ROWS));
}

#[test]
fn a_compact_plan_is_these_bytes() {
    assert_eq!(plan::hex(&binary::encode(batch(), &ROWS)), include_str!("golden/plan.rkd.hex").trim_end());
}

#[test]
fn a_network_of_one_node_has_one_level() {
    let cost = LevelCost {
        alpha: Span::from_nanos(7_285),
        bytes_per_second: 374_500_000_000,
        small: SizeTable::new(vec![(7_168, Span::from_nanos(24_100)), (7_340_032, Span::from_nanos(77_000))]).unwrap(),
    };
    let (base, topology) = (Span::from_nanos(900), Topology::ONE_NODE);
    let network = Network { topology, base, node: cost.clone(), rail: cost.clone(), spine: cost };
    assert_eq!(network::text(&network, "measured".to_owned()), include_str!("golden/network-one-node.json"));
}

#[test]
fn a_network_of_several_nodes_has_all_levels_and_its_places() {
    let preset = PRESETS.iter().find(|preset| preset.name == "h100-ib400-2to1").unwrap();
    let text = network::text(&preset.network(), "known by name".to_owned());
    assert_eq!(text, include_str!("golden/network-2to1.json"));
}

#[test]
fn a_file_longer_than_any_is_refused_before_it_is_parsed() {
    let long = vec![b' '; rankscope_plan_files::MOST_BYTES + 1];
    assert!(matches!(plan::read(&long), Err(plan::PlanError::TooLong { .. })));
    assert!(matches!(network::read(&long), Err(network::NetworkError::TooLong { .. })));
    let refused = rankscope_plan_files::documents::read(long, None);
    assert!(matches!(refused, Err(rankscope_plan_files::documents::DocumentsError::TooLong { .. })));
}
