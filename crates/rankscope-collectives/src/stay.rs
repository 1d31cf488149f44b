//! One collective of many, as it is looked at.

use std::ops::Deref;
use std::sync::Arc;

use rankscope_trace::SpanId;

use crate::{LocalCollective, Operation, Sequence, element_bytes};

/// One rank's stay in one collective, as it is looked at. What it does is read through it: `stay.kind`, `stay.name`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CollectiveStay<'a> {
    /// What it does, shared with the rank's other collectives that do the same.
    pub operation: &'a Arc<Operation>,
    /// The kernel or annotation.
    pub span: SpanId,
    /// When the rank entered, on its own clock, in nanoseconds since the epoch: of a message, when it was handed over.
    pub start_ns: i64,
    /// When it left.
    pub end_ns: i64,
    /// Index of the process group in the rank's list.
    pub group: u32,
    /// Sequence number within the communicator.
    pub sequence: Sequence,
    /// The other rank of a point-to-point operation; the root of an operation from or to one rank, where it is recorded.
    pub peer: Option<u32>,
}

impl Deref for CollectiveStay<'_> {
    type Target = Operation;

    fn deref(&self) -> &Operation {
        self.operation
    }
}

impl<'a> CollectiveStay<'a> {
    /// A stay in the rank's first group, without a number or a peer.
    pub fn new(span: SpanId, start_ns: i64, end_ns: i64, operation: &'a Arc<Operation>) -> Self {
        Self { operation, span, start_ns, end_ns, group: 0, sequence: Sequence::default(), peer: None }
    }

    /// How long the rank stayed.
    pub fn dur_ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }

    /// Bytes the bandwidth counts in a group of `ranks`.
    pub fn bytes(&self, ranks: u32) -> Option<u64> {
        let elements = self.kind.counted_elements(self.in_elements, self.out_elements, ranks)?;
        elements.checked_mul(element_bytes(&self.dtype)?)
    }

    /// The same, to be changed.
    pub fn to_local(self) -> LocalCollective {
        let Self { operation, span, start_ns, end_ns, group, sequence, peer } = self;
        LocalCollective { operation: Arc::clone(operation), span, start_ns, end_ns, group, sequence, peer }
    }
}
