//! A tree of ways while it grows, and what of it is told.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rankscope_trace::CategoryKind;
use rustc_hash::FxHashMap;

use super::TreeNode;
use crate::host_calls::CallSum;

/// Ways that are told apart while a tree grows, of which the longest are told: a trace may have as many as calls.
const WAYS_MAX: usize = 200_000;

/// Where a call is in a tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) node: u32,
    /// Whether it is somewhere below the node, where no nodes are made.
    pub(super) is_beyond: bool,
}

impl Place {
    pub(super) const ROOT: Self = Self { node: 0, is_beyond: false };
}

/// Which way a tree grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From callee to caller: the same call is in a node and in that below it.
    Outwards,
    /// From caller to callee: each call is in one node.
    Inwards,
}

#[derive(Debug)]
struct Way {
    parent: u32,
    callee: u32,
    level: usize,
    own: CallSum,
    beyond: CallSum,
}

/// Nodes, parents first; the first one is the root.
#[derive(Debug)]
pub(super) struct Growing {
    ways: Vec<Way>,
    known: FxHashMap<(u32, u32), u32>,
    depth: usize,
}

impl Growing {
    /// A tree of nothing but its root, to grow by so many levels.
    pub(super) fn from(callee: u32, depth: usize) -> Self {
        let root = Way { parent: 0, callee, level: 0, own: CallSum::default(), beyond: CallSum::default() };
        Self { ways: vec![root], known: FxHashMap::default(), depth }
    }

    /// Where `callee` is, one step on from `place`.
    pub(super) fn step(&mut self, place: Place, callee: u32) -> Place {
        let Place { node: parent, is_beyond } = place;
        if is_beyond {
            return place;
        }
        if let Some(node) = self.known.get(&(parent, callee)) {
            return Place { node: *node, is_beyond: false };
        }
        let level = self.ways[parent as usize].level + 1;
        if level > self.depth || self.ways.len() >= WAYS_MAX {
            return Place { node: parent, is_beyond: true };
        }
        let node = self.ways.len() as u32;
        self.ways.push(Way { parent, callee, level, own: CallSum::default(), beyond: CallSum::default() });
        self.known.insert((parent, callee), node);
        Place { node, is_beyond: false }
    }

    pub(super) fn add(&mut self, place: Place, sum: CallSum) {
        let way = &mut self.ways[place.node as usize];
        if place.is_beyond { way.beyond.add(sum) } else { way.own.add(sum) }
    }

    /// The nodes that take longest, at most so many and at least the root; `text` names callees.
    pub(super) fn nodes<'a>(
        &self,
        limit: usize,
        text: impl Fn(u32) -> (&'a str, CategoryKind),
        direction: Direction,
    ) -> Vec<TreeNode> {
        let whole = self.whole();
        let children = self.children(&whole, |callee| text(callee).0);
        let kept = self.longest(limit, &whole, &children);
        let (mut nodes, mut left) = (Vec::new(), vec![0_u32]);
        while let Some(at) = left.pop() {
            let Way { callee, level, own, beyond, .. } = &self.ways[at as usize];
            let (within, mut left_out) = (whole[at as usize], *beyond);
            for child in children[at as usize].iter().rev() {
                if kept[*child as usize] { left.push(*child) } else { left_out.add(whole[*child as usize]) }
            }
            let (name, kind) = text(*callee);
            nodes.push(TreeNode {
                level: *level,
                name: name.to_owned(),
                kind,
                calls: if direction == Direction::Inwards { own.calls } else { within.calls },
                total_ns: within.host_ns,
                self_ns: own.host_ns,
                launched: within.launched,
                device_ns: within.device_ns,
                left_out,
            });
        }
        nodes
    }

    /// For each node all that is in it and below.
    fn whole(&self) -> Vec<CallSum> {
        let mut whole: Vec<CallSum> = self.ways.iter().map(|way| way.own).collect();
        for (at, way) in self.ways.iter().enumerate().rev() {
            whole[at].add(way.beyond);
            if at > 0 {
                let within = whole[at];
                whole[way.parent as usize].add(within);
            }
        }
        whole
    }

    /// For each node those below it, the longest first.
    fn children<'a>(&self, whole: &[CallSum], name: impl Fn(u32) -> &'a str) -> Vec<Vec<u32>> {
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); self.ways.len()];
        for (at, way) in (0_u32..).zip(&self.ways).skip(1) {
            children[way.parent as usize].push(at);
        }
        for own in &mut children {
            own.sort_by_key(|at| (Reverse(longest(&whole[*at as usize])), name(self.ways[*at as usize].callee)));
        }
        children
    }

    /// Which nodes are told. No node is longer than the one above it, so that those stand before it.
    fn longest(&self, limit: usize, whole: &[CallSum], children: &[Vec<u32>]) -> Vec<bool> {
        let mut kept = vec![false; self.ways.len()];
        let mut next = BinaryHeap::from([(longest(&whole[0]), Reverse(0_u32))]);
        for _ in 0..limit.max(1) {
            let Some((_, Reverse(at))) = next.pop() else { break };
            kept[at as usize] = true;
            next.extend(children[at as usize].iter().map(|child| (longest(&whole[*child as usize]), Reverse(*child))));
        }
        kept
    }
}

/// What a node weighs: the longer of its times on the host and on devices.
fn longest(sum: &CallSum) -> i64 {
    sum.host_ns.max(sum.device_ns)
}
