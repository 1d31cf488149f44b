//! The event tree (recorder specification, section 2.5), in time linear in the events.
//!
//! Kineto sorts all events by start and keeps a heap of open ones. A recording has every thread's begins and ends in the order
//! they happened, so a stack per thread does. The rules, ties included:
//!
//! - On one thread the order of recording decides, never the clock: a span is the child of the innermost span that had begun and
//!   not yet ended. Equal stamps change nothing, and there is no span that both overlaps another and is beside it.
//! - A moment is a leaf under the innermost open span.
//! - A span left open ends with its parent; without one, at the end of the trace. It is flagged.
//! - An asynchronous span adopts nobody. Its parent is the innermost span that was open where it began and that ends no earlier
//!   than it does. A span that ends while one that began later on its thread is open counts as asynchronous: what began in it
//!   belongs to what is around it.
//! - A root with a forward thread (a backward op) becomes the child of the last span begun there by then, or of the first of that
//!   span's ancestors, that holds its whole interval, ends included; without one it stays a root. Of two spans with the same
//!   interval only the one recorded first, by thread and then by place, can be the parent.
//!
//! So a child always lies within its parent. Roots and children are in order of start, then thread, then recording.

use std::collections::HashMap;

/// A node, by the number its builder was given for it.
pub type NodeId = u32;

/// Who is whose parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventTree {
    nodes: Vec<Node>,
    roots: Vec<NodeId>,
    children: Vec<NodeId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    start_ns: i64,
    end_ns: i64,
    parent: Option<NodeId>,
    /// Where its children begin in [`EventTree::children`]; they end where the next node's begin.
    first_child: u32,
    thread: u32,
    forward_tid: u64,
    sort: Sort,
    unfinished: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Span,
    Leaf,
    Async,
}

impl EventTree {
    /// Nodes without a parent.
    pub fn roots(&self) -> &[NodeId] {
        &self.roots
    }

    /// The node's parent.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        self.nodes[node as usize].parent
    }

    /// The node's children.
    pub fn children(&self, node: NodeId) -> &[NodeId] {
        let end = self.nodes.get(node as usize + 1).map_or(self.children.len(), |next| next.first_child as usize);
        &self.children[self.nodes[node as usize].first_child as usize..end]
    }

    /// When the node starts and ends.
    pub fn interval_ns(&self, node: NodeId) -> (i64, i64) {
        let node = &self.nodes[node as usize];
        (node.start_ns, node.end_ns)
    }

    /// Whether its end was not recorded.
    pub fn is_unfinished(&self, node: NodeId) -> bool {
        self.nodes[node as usize].unfinished
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

/// Takes events thread by thread, in the order each thread recorded them; nodes are numbered as they come.
#[derive(Debug, Default)]
pub struct TreeBuilder {
    nodes: Vec<Node>,
    /// Open spans of the current thread.
    stack: Vec<NodeId>,
    /// Spans of the current thread.
    spans: Vec<NodeId>,
    /// Spans of threads by their tid, which the system may use for one thread after another.
    runs: HashMap<u64, Vec<Vec<NodeId>>>,
    thread: u32,
    tid: u64,
}

impl TreeBuilder {
    /// What follows belongs to another thread.
    pub fn thread(&mut self, tid: u64) {
        self.close_run();
        self.thread += 1;
        self.tid = tid;
    }

    /// A span begins; a forward thread of zero is none.
    pub fn begin(&mut self, start_ns: i64, forward_tid: u64) -> NodeId {
        let node = self.push(start_ns, forward_tid, Sort::Span);
        self.stack.push(node);
        self.spans.push(node);
        node
    }

    /// The innermost open span ends. `None` where none is open.
    pub fn end(&mut self, end_ns: i64, unfinished: bool) -> Option<NodeId> {
        self.end_of(*self.stack.last()?, end_ns, unfinished)
    }

    /// That open span ends. `None` where it is not open.
    pub fn end_of(&mut self, node: NodeId, end_ns: i64, unfinished: bool) -> Option<NodeId> {
        let at = self.stack.iter().rposition(|open| *open == node)?;
        self.stack.remove(at);
        let open = &mut self.nodes[node as usize];
        if at < self.stack.len() {
            open.sort = Sort::Async;
        }
        open.end_ns = end_ns.max(open.start_ns);
        open.unfinished = unfinished;
        Some(node)
    }

    /// Something without length.
    pub fn moment(&mut self, at_ns: i64) -> NodeId {
        self.push(at_ns, 0, Sort::Leaf)
    }

    /// A span begins that may end on another thread.
    pub fn begin_async(&mut self, start_ns: i64) -> NodeId {
        self.push(start_ns, 0, Sort::Async)
    }

    /// Such a span ends.
    pub fn end_async(&mut self, node: NodeId, end_ns: i64) {
        if let Some(open) = self.nodes.get_mut(node as usize).filter(|open| open.sort == Sort::Async) {
            open.end_ns = end_ns.max(open.start_ns);
            open.unfinished = false;
        }
    }

    /// The tree; `end_ns` is the end of the trace.
    pub fn finish(mut self, end_ns: i64) -> EventTree {
        self.close_run();
        self.settle_overlapping();
        // A parent comes before its children, so an end that is inherited is already settled.
        for node in 0..self.nodes.len() {
            if self.nodes[node].unfinished && self.nodes[node].end_ns == OPEN {
                let parent = self.nodes[node].parent.filter(|_| self.nodes[node].sort == Sort::Span);
                let until = parent.map_or(end_ns, |parent| self.nodes[parent as usize].end_ns);
                self.nodes[node].end_ns = until.max(self.nodes[node].start_ns);
            }
        }
        self.settle_async();
        self.link_forward();
        arrange(self.nodes)
    }

    fn next(&self) -> NodeId {
        // Four thousand million events do not fit the memory that their details take.
        self.nodes.len() as NodeId
    }

    fn push(&mut self, start_ns: i64, forward_tid: u64, sort: Sort) -> NodeId {
        let (end_ns, unfinished) = if sort == Sort::Leaf { (start_ns, false) } else { (OPEN, true) };
        let (node, parent, thread) = (self.next(), self.stack.last().copied(), self.thread);
        self.nodes.push(Node { start_ns, end_ns, parent, first_child: 0, thread, forward_tid, sort, unfinished });
        node
    }

    fn close_run(&mut self) {
        self.stack.clear();
        if !self.spans.is_empty() {
            self.runs.entry(self.tid).or_default().push(std::mem::take(&mut self.spans));
        }
    }

    /// A parent comes before its children, so the parent of a parent that adopts nobody is settled already.
    fn settle_overlapping(&mut self) {
        for node in 0..self.nodes.len() {
            let parent = self.nodes[node].parent.map(|parent| &self.nodes[parent as usize]);
            if let Some(parent) = parent.filter(|parent| parent.sort == Sort::Async) {
                self.nodes[node].parent = parent.parent;
            }
        }
    }

    fn settle_async(&mut self) {
        for node in 0..self.nodes.len() {
            if self.nodes[node].sort == Sort::Async {
                self.nodes[node].parent = self.holder(self.nodes[node].parent, self.nodes[node].end_ns);
            }
        }
    }

    /// The first of `candidate` and its ancestors that ends no earlier than `end_ns`.
    fn holder(&self, mut candidate: Option<NodeId>, end_ns: i64) -> Option<NodeId> {
        while let Some(node) = candidate.map(|node| &self.nodes[node as usize]).filter(|node| node.end_ns < end_ns) {
            candidate = node.parent;
        }
        candidate
    }

    fn link_forward(&mut self) {
        let is_linked = |node: &Node| node.parent.is_none() && node.forward_tid != 0;
        let linked = (0..self.next()).filter(|node| is_linked(&self.nodes[*node as usize]));
        // All are found before one is set: looking for a parent climbs one thread and never crosses to the next.
        let links: Vec<_> = linked.filter_map(|node| Some((node, self.forward_parent(node)?))).collect();
        for (node, parent) in links {
            self.nodes[node as usize].parent = Some(parent);
        }
    }

    fn forward_parent(&self, child: NodeId) -> Option<NodeId> {
        let Node { start_ns, end_ns, thread, forward_tid, .. } = self.nodes[child as usize];
        let runs = self.runs.get(&forward_tid)?;
        let found = runs.iter().filter(|run| self.nodes[run[0] as usize].thread != thread).filter_map(|run| {
            let begun = run.partition_point(|span| self.nodes[*span as usize].start_ns <= start_ns);
            let mut holder = self.holder(Some(*run[..begun].last()?), end_ns);
            // Else two roots that name each other's threads could be each other's parent.
            while let Some(node) = holder.filter(|node| *node > child && self.interval_ns(*node) == (start_ns, end_ns)) {
                holder = self.holder(self.nodes[node as usize].parent, end_ns);
            }
            holder
        });
        found.max_by_key(|node| (self.nodes[*node as usize].start_ns, *node))
    }

    fn interval_ns(&self, node: NodeId) -> (i64, i64) {
        (self.nodes[node as usize].start_ns, self.nodes[node as usize].end_ns)
    }
}

/// The end of a span whose end was not told.
const OPEN: i64 = i64::MIN;

/// Lays the children of each node side by side.
fn arrange(mut nodes: Vec<Node>) -> EventTree {
    let mut order: Vec<NodeId> = (0..nodes.len() as NodeId).collect();
    order.sort_by_key(|node| (nodes[*node as usize].start_ns, *node));
    let mut counts = vec![0_u32; nodes.len()];
    nodes.iter().filter_map(|node| node.parent).for_each(|parent| counts[parent as usize] += 1);
    let mut next = 0;
    for (node, count) in nodes.iter_mut().zip(&mut counts) {
        node.first_child = next;
        next += *count;
        *count = node.first_child;
    }
    let mut children = vec![0; next as usize];
    let mut roots = Vec::new();
    for node in order {
        match nodes[node as usize].parent {
            Some(parent) => {
                children[counts[parent as usize] as usize] = node;
                counts[parent as usize] += 1;
            }
            None => roots.push(node),
        }
    }
    EventTree { nodes, roots, children }
}

#[cfg(test)]
mod tests;
