//! Which node's clock jumped, from the edges that saw a jump.
//!
//! An edge sees only that the difference of two clocks jumped. A clock that jumped does so on all of its edges, its neighbours'
//! clocks on one each. So the one that most edges accuse jumped, if most of its edges accuse it; what that explains is put
//! aside, and the rest is asked again. Of two ends accused alike it was not the reference. A jump of the reference is one of
//! everybody else's the other way, since its clock is the scale.

use std::cmp::Reverse;

use rankscope_time::Span;

use super::line::Line;
use super::tree::Tree;
use crate::{ClockEvent, HostInstant, NodeId};

/// A jump of a node's clock against the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeStep {
    /// Whose clock.
    pub node: NodeId,
    /// When, on that clock as it was before.
    pub at: HostInstant,
    /// What `node - reference` gained.
    pub size: Span,
}

/// A jump as an edge saw it.
struct Seen {
    src: usize,
    dst: usize,
    at_src_ns: i64,
    at_dst_ns: i64,
    /// What `dst - src` gained.
    size_ns: i64,
}

pub(super) fn steps(tree: &Tree, lines: &[Line<'_>]) -> Vec<NodeStep> {
    let mut edges = vec![0usize; tree.nodes.len()];
    let mut seen = Vec::new();
    for line in lines {
        let (src, dst) = (line.src as usize, line.dst as usize);
        edges[src] += 1;
        edges[dst] += 1;
        for event in &line.record.events {
            if let ClockEvent::Step { at, size } = event {
                let at_src_ns = at.nanos_since_epoch();
                let apart_ns = tree.readings[dst].saturating_sub(tree.readings[src]);
                let at_dst_ns = at_src_ns.saturating_add(apart_ns);
                seen.push(Seen { src, dst, at_src_ns, at_dst_ns, size_ns: size.as_nanos() });
            }
        }
    }
    let mut found = Vec::new();
    while let Some((node, up)) = most_accused(&edges, &seen) {
        let (explained, rest): (Vec<Seen>, Vec<Seen>) =
            seen.into_iter().partition(|one| one.gained_ns(node).is_some_and(|gained_ns| (gained_ns > 0) == up));
        seen = rest;
        let at_ns = middle(explained.iter().map(|one| if one.src == node { one.at_src_ns } else { one.at_dst_ns }));
        let size_ns = middle(explained.iter().filter_map(|one| one.gained_ns(node)));
        if node > 0 {
            found.push(step(tree, node, at_ns, size_ns));
            continue;
        }
        for other in 1..tree.nodes.len() {
            let apart_ns = tree.readings[other].saturating_sub(tree.readings[0]);
            found.push(step(tree, other, at_ns.saturating_add(apart_ns), size_ns.saturating_neg()));
        }
    }
    found.sort_unstable_by_key(|step| (step.node, step.at));
    found
}

impl Seen {
    /// What the clock of `node` gained, if it was that one.
    fn gained_ns(&self, node: usize) -> Option<i64> {
        match node {
            _ if node == self.dst => Some(self.size_ns),
            _ if node == self.src => Some(self.size_ns.saturating_neg()),
            _ => None,
        }
    }
}

/// The node, and whether it jumped ahead. Edges must agree on the direction.
fn most_accused(edges: &[usize], seen: &[Seen]) -> Option<(usize, bool)> {
    let mut accusers = vec![[0usize; 2]; edges.len()];
    for one in seen {
        accusers[one.dst][usize::from(one.size_ns > 0)] += 1;
        accusers[one.src][usize::from(one.size_ns <= 0)] += 1;
    }
    let both_ways = accusers.iter().enumerate().flat_map(|(node, [back, ahead])| [(node, false, *back), (node, true, *ahead)]);
    let accused = both_ways.filter(|(node, _, count)| 2 * count > edges[*node]);
    let most = accused.max_by_key(|(node, _, count)| (*count, *node > 0, Reverse(edges[*node])))?;
    Some((most.0, most.1))
}

fn step(tree: &Tree, place: usize, at_ns: i64, size_ns: i64) -> NodeStep {
    let at = HostInstant::from_nanos_since_epoch(at_ns);
    NodeStep { node: tree.nodes[place], at, size: Span::from_nanos(size_ns) }
}

fn middle(values: impl Iterator<Item = i64>) -> i64 {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}
