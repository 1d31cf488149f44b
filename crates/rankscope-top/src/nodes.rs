//! Hosts: what their ranks come to, and where their clocks stand.

use std::collections::BTreeMap;

use rankscope_document::LiveDocument;

use crate::column::{Column, Value};
use crate::scene::Scene;

/// A host with what its ranks come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeRow {
    node: u32,
    host: String,
    offset_ns: Option<i64>,
    clock_error_ns: Option<i64>,
    ranks: u32,
    /// How late its latest rank is, and which that is.
    latest: Option<(i64, u32)>,
    caused_wait_ns: Option<i64>,
    progress_age_ns: i64,
}

impl NodeRow {
    pub(crate) fn node(&self) -> u32 {
        self.node
    }

    /// The hosts of a document.
    pub(crate) fn of(document: &LiveDocument) -> Vec<Self> {
        let known = document.nodes.iter().map(|node| {
            let (offset_ns, clock_error_ns) = (node.offset_ns, node.clock_error_ns);
            (node.node, Self { node: node.node, host: node.host.clone(), offset_ns, clock_error_ns, ..Self::default() })
        });
        let mut rows: BTreeMap<u32, Self> = known.collect();
        for rank in &document.ranks {
            let Some(node) = rank.node else { continue };
            let row = rows.entry(node).or_insert_with(|| Self { node, ..Self::default() });
            row.ranks += 1;
            row.latest = row.latest.max(rank.lateness_ns.map(|ns| (ns, rank.rank)));
            row.progress_age_ns = row.progress_age_ns.max(rank.progress_age_ns);
            if let Some(ns) = rank.caused_wait_ns {
                row.caused_wait_ns = Some(row.caused_wait_ns.unwrap_or(0).saturating_add(ns));
            }
        }
        rows.into_values().collect()
    }
}

pub(crate) const COLUMNS: &[Column] = &[
    Column::figures("node", 5, Value::Count(|scene, at| Some(of(scene, at).node.into()))),
    Column::rest("host", Value::Text(|scene, at| of(scene, at).host.clone())),
    Column::figures("ranks", 5, Value::Count(|scene, at| Some(of(scene, at).ranks.into()))),
    Column::figures("latest", 6, Value::Count(|scene, at| of(scene, at).latest.map(|(_, rank)| rank.into()))),
    Column::figures("late by", 8, Value::Time(|scene, at| of(scene, at).latest.map(|(ns, _)| ns))),
    Column::figures("caused", 8, Value::Time(|scene, at| of(scene, at).caused_wait_ns)),
    Column::figures("moved", 8, Value::Time(|scene, at| Some(of(scene, at).progress_age_ns))),
    Column::figures("clock ahead", 11, Value::Time(|scene, at| of(scene, at).offset_ns)),
    Column::figures("off by", 9, Value::Error(|scene, at| of(scene, at).clock_error_ns)),
];

fn of(scene: &Scene, at: usize) -> &NodeRow {
    &scene.nodes[at]
}

pub(crate) fn label(row: &NodeRow) -> String {
    format!("node {} {}", row.node, row.host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankscope_document::{LiveNode, LiveRank};

    #[test]
    fn a_host_has_its_latest_rank_and_all_the_waiting_that_its_ranks_cause() {
        let rank = |rank, node, late_ns| LiveRank {
            rank,
            node: Some(node),
            lateness_ns: Some(late_ns),
            caused_wait_ns: Some(10),
            ..LiveRank::default()
        };
        let document = LiveDocument {
            nodes: vec![LiveNode { node: 1, host: "b".to_owned(), ..LiveNode::default() }],
            ranks: vec![rank(0, 0, 3), rank(1, 1, -2), rank(2, 1, 8)],
            ..LiveDocument::default()
        };
        let rows = NodeRow::of(&document);
        assert_eq!(
            rows.iter().map(|row| (row.node, row.ranks, row.latest)).collect::<Vec<_>>(),
            [(0, 1, Some((3, 0))), (1, 2, Some((8, 2)))]
        );
        assert_eq!((rows[1].caused_wait_ns, rows[1].host.as_str()), (Some(20), "b"));
    }
}
