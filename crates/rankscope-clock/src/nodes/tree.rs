//! Places for all nodes, by following lines outwards from one of them.
//!
//! A breadth-first tree, neighbours in order of their numbers. Absolute readings are added up in integers here, once; all that
//! comes after works on what is left, which is small. The tree alone is also the plainest estimate there is, and what the least
//! squares are measured against.

use std::collections::VecDeque;

use super::line::{Line, Track, dst_reading, src_reading};
use crate::NodeId;

/// Nodes in the order in which they were reached; the first is the root.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) nodes: Vec<NodeId>,
    /// What each node's clock reads at the common instant.
    pub(super) readings: Vec<i64>,
    /// The place from which each node was reached; the root has itself.
    pub(super) parents: Vec<u32>,
    /// The track to the parent; the root has none.
    via: Vec<Option<u32>>,
}

/// The nodes that `tracks` mention, ascending.
pub(super) fn mentioned(tracks: &[Track<'_>]) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = tracks.iter().flat_map(|track| [track.record.edge.src, track.record.edge.dst]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

impl Tree {
    /// Grows from `root`, whose clock reads `root_ns`.
    pub(super) fn grow(tracks: &[Track<'_>], root: NodeId, root_ns: i64) -> Self {
        let all = mentioned(tracks);
        let index = |node: NodeId| all.binary_search(&node).ok();
        let mut neighbours: Vec<Vec<(NodeId, u32)>> = vec![Vec::new(); all.len()];
        for (track, place) in tracks.iter().zip(0u32..) {
            let edge = track.record.edge;
            for (node, other) in [(edge.src, edge.dst), (edge.dst, edge.src)] {
                if let Some(index) = index(node) {
                    neighbours[index].push((other, place));
                }
            }
        }
        let mut seen = vec![false; all.len()];
        let mut tree = Self { nodes: vec![root], readings: vec![root_ns], parents: vec![0], via: vec![None] };
        let mut queue = VecDeque::from([0u32]);
        seen[index(root).unwrap_or(0)] = true;
        while let Some(parent) = queue.pop_front() {
            let node = tree.nodes[parent as usize];
            let Some(around) = index(node).map(|index| &mut neighbours[index]) else { break };
            around.sort_unstable();
            for (child, via) in around.iter().copied() {
                let child_index = index(child).unwrap_or(0);
                if !std::mem::replace(&mut seen[child_index], true) {
                    queue.push_back(tree.nodes.len() as u32);
                    let reading = follow(&tracks[via as usize], node, tree.readings[parent as usize]);
                    tree.nodes.push(child);
                    tree.readings.push(reading);
                    tree.parents.push(parent);
                    tree.via.push(Some(via));
                }
            }
        }
        tree
    }

    /// The lines of `tracks` between nodes of the tree, each chosen for the common instant, and for each whether it is part of
    /// the tree.
    pub(super) fn lines<'a>(&self, tracks: &[Track<'a>]) -> (Vec<Line<'a>>, Vec<bool>) {
        let mut places: Vec<(NodeId, u32)> = self.nodes.iter().copied().zip(0..).collect();
        places.sort_unstable();
        let place = |node: NodeId| places.binary_search_by_key(&node, |(node, _)| *node).ok().map(|index| places[index].1);
        let mut is_branch = vec![false; tracks.len()];
        for via in self.via.iter().flatten() {
            is_branch[*via as usize] = true;
        }
        let lines = tracks.iter().zip(is_branch).filter_map(|(track, is_branch)| {
            let edge = track.record.edge;
            let (src, dst) = (place(edge.src)?, place(edge.dst)?);
            let src_ns = self.readings[src as usize];
            let fit = track.at_src(src_ns);
            let sound = track.vouches(fit, src_ns);
            Some((Line { record: track.record, src, dst, fit, sound }, is_branch))
        });
        lines.unzip()
    }

    /// Places from `place` up to the root.
    pub(super) fn ancestors(&self, place: u32) -> Vec<u32> {
        let up = |place: &u32| (*place != 0).then(|| self.parents[*place as usize]);
        std::iter::successors(Some(place), up).collect()
    }
}

/// What the other end of `track` reads when `node` reads `node_ns`.
fn follow(track: &Track<'_>, node: NodeId, node_ns: i64) -> i64 {
    if track.record.edge.src == node {
        dst_reading(track.at_src(node_ns), node_ns)
    } else {
        src_reading(track.at_dst(node_ns), node_ns)
    }
}
