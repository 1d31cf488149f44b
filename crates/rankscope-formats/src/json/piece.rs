//! What one stretch of events gives: a small trace of its own, and what has to wait for the whole file.

use rankscope_trace::{FlowPhase, Remap, StrId, Trace, TrackId, TrackKey};

/// What one stretch of events gave.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) trace: Trace,
    pub(super) pending: Pending,
}

/// What waits for the whole file. Its ids belong to the trace it lies beside.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) namings: Vec<Naming>,
    pub(super) edges: Vec<Edge>,
    pub(super) arrows: Vec<Arrow>,
    /// A rank that an event names.
    pub(super) rank: Option<u32>,
}

/// A metadata event: it names, labels or sorts a process or a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Naming {
    pub(super) pid: TrackKey,
    /// None where the naming is of the process.
    pub(super) tid: Option<TrackKey>,
    pub(super) what: Says,
}

/// What a metadata event says.
#[derive(Clone, Copy, Debug)]
pub(super) enum Says {
    Name(StrId),
    Label(StrId),
    SortIndex(i64),
}

/// One half of a span: `B`, `E`, `b` or `e`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) begins: bool,
    pub(super) time_ns: i64,
    pub(super) name: StrId,
    pub(super) track: TrackId,
    pub(super) category: u16,
    /// Ties the two halves of an asynchronous span together; zero for those that nest on their thread.
    pub(super) id: u64,
    pub(super) offset: u64,
}

/// One point of a flow, not yet tied to a host or device track.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrow {
    pub(super) id: u64,
    pub(super) category: u16,
    pub(super) name: StrId,
    pub(super) phase: FlowPhase,
    pub(super) pid: TrackKey,
    pub(super) tid: TrackKey,
    pub(super) time_ns: i64,
}

impl Pending {
    /// Takes in what the next stretch left to be done, whose ids `remap` carries over.
    pub(super) fn take_over(&mut self, other: Self, remap: &Remap) {
        self.rank = self.rank.or(other.rank);
        self.namings.extend(other.namings.into_iter().map(|mut naming| {
            naming.pid = remap.key(naming.pid);
            naming.tid = naming.tid.map(|tid| remap.key(tid));
            naming.what = match naming.what {
                Says::Name(name) => Says::Name(remap.string(name)),
                Says::Label(label) => Says::Label(remap.string(label)),
                Says::SortIndex(index) => Says::SortIndex(index),
            };
            naming
        }));
        self.edges.extend(other.edges.into_iter().map(|mut edge| {
            (edge.name, edge.track, edge.category) =
                (remap.string(edge.name), remap.track(edge.track), remap.category(edge.category));
            edge
        }));
        self.arrows.extend(other.arrows.into_iter().map(|mut arrow| {
            (arrow.pid, arrow.tid) = (remap.key(arrow.pid), remap.key(arrow.tid));
            (arrow.name, arrow.category) = (remap.string(arrow.name), remap.category(arrow.category));
            arrow
        }));
    }
}
