//! One clock for all nodes, good to a fraction of a window.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::{HostInstant, NodeId, NodeWindow};

/// Takes any node's clock to that of the root of its tree.
#[derive(Debug, Default)]
pub(super) struct CoarseClock {
    up: BTreeMap<NodeId, Up>,
}

/// The way from a node to its parent.
#[derive(Debug)]
struct Up {
    parent: NodeId,
    /// Instants on the node's clock, in order, and `parent - node` there.
    known: Vec<(i64, i64)>,
}

/// Nodes in order, and for instants on the first one's clock, how far the second is ahead.
type Measured = BTreeMap<(NodeId, NodeId), Vec<(i64, i64)>>;

impl CoarseClock {
    /// The clock that the lines in `windows` make, with the reference at the root of its tree.
    pub(super) fn of(windows: &[NodeWindow], reference: NodeId) -> Self {
        let measured = measured(windows);
        let mut beside: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for (a, b) in best_tree(&measured) {
            beside.entry(a).or_default().push(b);
            beside.entry(b).or_default().push(a);
        }
        let mut up = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for root in std::iter::once(reference).chain(beside.keys().copied()) {
            let mut open = if seen.insert(root) { vec![root] } else { Vec::new() };
            while let Some(parent) = open.pop() {
                for child in beside.get(&parent).into_iter().flatten().copied() {
                    if seen.insert(child) {
                        up.insert(child, Up { parent, known: from_child(&measured, child, parent) });
                        open.push(child);
                    }
                }
            }
        }
        Self { up }
    }

    /// `at` on the clock of `node`, in nanoseconds on the coarse clock.
    pub(super) fn common_ns(&self, node: NodeId, at: HostInstant) -> i64 {
        let (mut node, mut at_ns) = (node, at.nanos_since_epoch());
        while let Some(up) = self.up.get(&node) {
            at_ns = at_ns.saturating_add(nearest(&up.known, at_ns));
            node = up.parent;
        }
        at_ns
    }
}

fn measured(windows: &[NodeWindow]) -> Measured {
    let mut measured = Measured::new();
    for record in windows.iter().flat_map(|window| &window.edges) {
        let (src, dst) = (record.edge.src, record.edge.dst);
        for fit in record.fits.iter().flatten() {
            let (mid_ns, offset_ns) = (fit.mid.nanos_since_epoch(), fit.offset.as_nanos());
            let (pair, known) = if src < dst {
                ((src, dst), (mid_ns, offset_ns))
            } else {
                ((dst, src), (mid_ns.saturating_add(offset_ns), offset_ns.saturating_neg()))
            };
            measured.entry(pair).or_default().push(known);
        }
    }
    measured
}

/// Pairs that span each component, those that were measured most often first.
fn best_tree(measured: &Measured) -> Vec<(NodeId, NodeId)> {
    let mut pairs: Vec<_> =
        measured.iter().filter(|((a, b), _)| a != b).map(|(pair, known)| (Reverse(known.len()), *pair)).collect();
    pairs.sort_unstable();
    let mut leader: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    pairs.retain(|(_, (a, b))| {
        let (a, b) = (led_by(&mut leader, *a), led_by(&mut leader, *b));
        a != b && leader.insert(a, b).is_none()
    });
    pairs.into_iter().map(|(_, pair)| pair).collect()
}

/// The node that stands for the component of `node`. The way there is shortened for the next time.
fn led_by(leader: &mut BTreeMap<NodeId, NodeId>, mut node: NodeId) -> NodeId {
    while let Some(&above) = leader.get(&node) {
        if let Some(&top) = leader.get(&above) {
            leader.insert(node, top);
        }
        node = above;
    }
    node
}

/// What was measured between the two, seen from the child.
fn from_child(measured: &Measured, child: NodeId, parent: NodeId) -> Vec<(i64, i64)> {
    let known = measured.get(&(child.min(parent), child.max(parent))).into_iter().flatten();
    let mut known: Vec<_> = if child < parent {
        known.copied().collect()
    } else {
        known.map(|(at, ahead)| (at.saturating_add(*ahead), ahead.saturating_neg())).collect()
    };
    known.sort_unstable();
    known
}

/// What is known at the instant nearest to `at`.
fn nearest(known: &[(i64, i64)], at: i64) -> i64 {
    let after = known.partition_point(|(instant, _)| *instant < at);
    let around = &known[after.saturating_sub(1)..known.len().min(after + 1)];
    around.iter().min_by_key(|(instant, _)| instant.abs_diff(at)).map_or(0, |(_, ahead)| *ahead)
}
