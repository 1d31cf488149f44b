//! The first pass: which op each call belongs to.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::record::{CorrelationKind, DeviceItem, ExternalCorrelation, HostOp};

/// Ops by the numbers of calls.
#[derive(Debug, Default)]
pub(super) struct Ties {
    ops: HashMap<(CorrelationKind, u64), Tied>,
    /// Ties to ops nobody knows, or from the stack of annotations to what is none.
    pub(super) unknown_ops: u64,
    /// Calls that are tied to several ops of one stack.
    pub(super) disputed_calls: u64,
}

#[derive(Debug)]
struct Tied {
    op: u64,
    disputed: bool,
}

impl Ties {
    /// Reads the ties among `buffers`.
    pub(super) fn read(buffers: &[Vec<DeviceItem>], ops: &HashMap<u64, HostOp>) -> Self {
        let mut ties = Self::default();
        for item in buffers.iter().flatten() {
            if let DeviceItem::Tie(tie) = item {
                ties.add(tie, ops);
            }
        }
        ties
    }

    fn add(&mut self, tie: &ExternalCorrelation, ops: &HashMap<u64, HostOp>) {
        let ExternalCorrelation { kind, external_id, correlation } = *tie;
        if external_id == 0 || correlation == 0 {
            return;
        }
        let fits = |op: &HostOp| kind == CorrelationKind::Default || op.is_user_annotation;
        if !ops.get(&external_id).is_some_and(fits) {
            self.unknown_ops += 1;
            return;
        }
        match self.ops.entry((kind, correlation)) {
            Entry::Vacant(vacant) => drop(vacant.insert(Tied { op: external_id, disputed: false })),
            Entry::Occupied(occupied) => {
                let tied = occupied.into_mut();
                if tied.op != external_id && !tied.disputed {
                    tied.disputed = true;
                    self.disputed_calls += 1;
                }
                // A thread's ids rise, so the largest is the innermost; and a maximum does not depend on the order.
                tied.op = tied.op.max(external_id);
            }
        }
    }

    /// The op of this stack that the call belongs to.
    pub(super) fn op(&self, kind: CorrelationKind, correlation: u64) -> Option<u64> {
        self.ops.get(&(kind, correlation)).map(|tied| tied.op)
    }
}
