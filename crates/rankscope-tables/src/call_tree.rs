//! [`CallTree`]: who calls an operator, and what it calls, added up over its calls.
//!
//! Below the operator stand its callees, equal ways as one node; above it its callers, from the innermost on. A call that lies in another of
//! the operator is a node below that one and no instance of its own, so that no time is counted twice.
//!
//! Both trees obey one law, at every node: its time is its own and that of the nodes below it and of what was left out there. A tree has so many
//! nodes and levels as are asked for, those that take longest; whatever is deeper or shorter is left out by a sum, and never silently.

mod grow;
#[cfg(test)]
mod tests;

use rankscope_trace::CategoryKind;

use crate::host_calls::{Call, CallSum, Callee, HostCalls};
use grow::{Direction, Growing, Place};

/// How large a tree may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// Nodes, the operator itself included; at least one.
    pub nodes: usize,
    /// Levels below the operator.
    pub depth: usize,
}

/// One way to be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeNode {
    /// 0 is the operator; a node is below the last one before it of the level before.
    pub level: usize,
    /// What is called, or who calls.
    pub name: String,
    /// What sort of call it is.
    pub kind: CategoryKind,
    /// Of a callee its calls; of a caller the calls of the operator that came from it.
    pub calls: u64,
    /// Of a callee its time with all that it called; of a caller the time of those calls.
    pub total_ns: i64,
    /// Of a callee its time that is no other call's; of a caller the time of those calls that nobody further out made.
    pub self_ns: i64,
    /// Work that was launched meanwhile.
    pub launched: u64,
    /// Sum of its lengths, in nanoseconds.
    pub device_ns: i64,
    /// What is below it and no node.
    pub left_out: CallSum,
}

/// An operator's callers and callees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTree {
    /// Calls of the operator that lie in no other one of it: the instances that are added up.
    pub instances: u64,
    /// Calls that lie in those.
    pub nested: u64,
    /// From the operator outwards.
    pub callers: Vec<TreeNode>,
    /// From the operator inwards.
    pub callees: Vec<TreeNode>,
}

impl CallTree {
    /// The tree of the calls named `name` that begin in `window`; of all of them without one. None where there is no such call.
    pub fn of(calls: &HostCalls, name: &str, window: Option<(i64, i64)>, limits: TreeLimits) -> Option<Self> {
        let name = calls.names.iter().position(|own| own == name)? as u32;
        let of = Wanted { calls, name, window };
        let first = calls.list.iter().find(|call| of.is_instance(call))?.callee;
        let (callers, instances) = of.callers(first, limits.depth);
        let (callees, nested) = of.callees(first, limits.depth);
        let text = |callee: u32| {
            let Callee { name, kind } = calls.callees[callee as usize];
            (calls.names[name as usize].as_str(), kind)
        };
        let callers = callers.nodes(limits.nodes, text, Direction::Outwards);
        Some(Self { instances, nested, callers, callees: callees.nodes(limits.nodes, text, Direction::Inwards) })
    }
}

/// The calls that are asked for.
struct Wanted<'a> {
    calls: &'a HostCalls,
    name: u32,
    window: Option<(i64, i64)>,
}

impl Wanted<'_> {
    fn is_named(&self, call: &Call) -> bool {
        self.calls.callees[call.callee as usize].name == self.name
    }

    fn is_instance(&self, call: &Call) -> bool {
        call.is_first && self.is_named(call) && call.is_in(self.window)
    }

    /// Who called them, and how many there are.
    fn callers(&self, first: u32, depth: usize) -> (Growing, u64) {
        let (mut tree, mut instances) = (Growing::from(first, depth), 0);
        for (at, call) in (0_u32..).zip(&self.calls.list).filter(|(_, call)| self.is_instance(call)) {
            instances += 1;
            let (mut place, mut inner) = (Place::ROOT, (at, call));
            while inner.1.parent != inner.0 && !place.is_beyond {
                inner = (inner.1.parent, &self.calls.list[inner.1.parent as usize]);
                place = tree.step(place, inner.1.callee);
            }
            // However much lies in it, it is one call.
            tree.add(place, CallSum { calls: 1, ..call.whole });
        }
        (tree, instances)
    }

    /// What they called, and how many of those are calls of the same name.
    fn callees(&self, first: u32, depth: usize) -> (Growing, u64) {
        let (mut tree, mut nested) = (Growing::from(first, depth), 0);
        // The calls around, with where they are in the tree.
        let mut open: Vec<(u32, Option<Place>)> = Vec::new();
        for (at, call) in (0_u32..).zip(&self.calls.list) {
            while open.pop_if(|(around, _)| call.parent == at || *around != call.parent).is_some() {}
            let place = match open.last().and_then(|(_, place)| *place) {
                Some(around) => {
                    nested += u64::from(self.is_named(call));
                    Some(tree.step(around, call.callee))
                }
                None => self.is_instance(call).then_some(Place::ROOT),
            };
            if let Some(place) = place {
                tree.add(place, call.own);
            }
            open.push((at, place));
        }
        (tree, nested)
    }
}
