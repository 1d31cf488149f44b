//! Flows: arrows from one event to another, as a launch to its kernel or a forward operator to its backward one.
//!
//! A flow is the list of its points. A point is tied to a track and a time, as the files tie it, and lands on the span that
//! encloses it there.

use crate::{StrId, TrackId};

/// Which end of the arrow a point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlowPhase {
    /// Where the arrow starts.
    Start,
    /// A stop on its way.
    Step,
    /// Where it ends.
    End,
}

/// One point of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPoint {
    /// Ties the points of one flow together, within its category and name.
    pub id: u64,
    /// Index into the trace's categories.
    pub category: u16,
    /// The flow's name.
    pub name: StrId,
    /// Start, step or end.
    pub phase: FlowPhase,
    /// The track of the span it is tied to.
    pub track: TrackId,
    /// A time within that span, in nanoseconds since the epoch of the file's clock.
    pub time_ns: i64,
}
