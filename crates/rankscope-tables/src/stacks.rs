//! Which frames device work was launched in: a tree of those that are wanted, with the work of each.
//!
//! A frame is a span around the launch of the work (where no launch is recorded, around its operator) on the same thread. The way from
//! the outermost to the innermost is a node of the tree; every span is looked at once, however much was launched in it.

use rankscope_trace::{SpanId, StrId, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Attribution;
use crate::attribution::dur_ns;

/// A way into the frames that are wanted.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) name: StrId,
    /// The node around it.
    pub(crate) parent: Option<usize>,
    /// How many frames it is, as far as anything was launched in them.
    pub(crate) frames: FxHashSet<SpanId>,
    /// Sum of the lengths of the work that was launched in no frame within it.
    pub(crate) own_ns: i64,
}

/// All ways, parents first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stacks {
    pub(crate) nodes: Vec<Node>,
    /// Work that was launched in no such frame.
    pub(crate) outside_ns: i64,
    known: FxHashMap<(Option<usize>, StrId), usize>,
    /// The innermost node around a span, or of itself.
    of_span: FxHashMap<SpanId, Option<usize>>,
}

impl Stacks {
    /// The frames of `trace` that `is_frame` wants.
    pub(crate) fn of(trace: &Trace, attribution: &Attribution, is_frame: impl Fn(SpanId) -> bool) -> Self {
        let mut stacks = Self::default();
        for one in &attribution.work {
            let inside = one.launch.or(one.owner.span()).and_then(|span| stacks.around(trace, attribution, span, &is_frame));
            stacks.add(inside, dur_ns(trace, one.work));
        }
        stacks
    }

    /// Adds work to the node `at`; to what is outside where there is none.
    pub(crate) fn add(&mut self, at: Option<usize>, ns: i64) {
        let sum = at.map_or(&mut self.outside_ns, |at| &mut self.nodes[at].own_ns);
        *sum = sum.saturating_add(ns);
    }

    /// The innermost node around `span`, or of itself.
    pub(crate) fn around(
        &mut self,
        trace: &Trace,
        attribution: &Attribution,
        span: SpanId,
        is_frame: impl Fn(SpanId) -> bool,
    ) -> Option<usize> {
        // Upwards to what is known, and down again.
        let (mut way, mut at) = (Vec::new(), Some(span));
        let mut node = None;
        while let Some(here) = at {
            if let Some(known) = self.of_span.get(&here) {
                node = *known;
                break;
            }
            way.push(here);
            at = attribution.nesting.parent(here);
        }
        for here in way.into_iter().rev() {
            if is_frame(here) {
                let at = self.node(node, trace.spans.name[here.0 as usize]);
                self.nodes[at].frames.insert(here);
                node = Some(at);
            }
            self.of_span.insert(here, node);
        }
        node
    }

    fn node(&mut self, parent: Option<usize>, name: StrId) -> usize {
        let nodes = &mut self.nodes;
        *self.known.entry((parent, name)).or_insert_with(|| {
            nodes.push(Node { name, parent, frames: FxHashSet::default(), own_ns: 0 });
            nodes.len() - 1
        })
    }

    /// For each node what was launched in it and in all within it.
    pub(crate) fn subtree_ns(&self) -> Vec<i64> {
        let mut sums: Vec<i64> = self.nodes.iter().map(|node| node.own_ns).collect();
        for at in (0..self.nodes.len()).rev() {
            if let Some(parent) = self.nodes[at].parent {
                sums[parent] = sums[parent].saturating_add(sums[at]);
            }
        }
        sums
    }

    /// The node and those around it, innermost first.
    pub(crate) fn way(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(at), |at| self.nodes[*at].parent)
    }
}
