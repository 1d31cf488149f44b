//! What one stretch of events gives: a small trace of its own, and what has to wait for the whole file.

use std::collections::BTreeMap;

use rankscope_trace::{FlowPhase, ProblemKind, Problems, Remap, StrId, Trace, TrackId, TrackKey};

use crate::Unread;

/// What one stretch of events gave.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) trace: Trace,
    pub(super) pending: Pending,
    /// How many events the stretch has.
    pub(super) events: u32,
}

/// What waits for the whole file. Its ids belong to the trace it lies beside.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) namings: Vec<Naming>,
    pub(super) edges: Vec<Edge>,
    pub(super) arrows: Vec<Arrow>,
    /// A rank that an event names.
    pub(super) rank: Option<u32>,
    pub(super) met: Met,
}

/// What stood in the array, read or not: whoever finds no event in a file says why by it.
#[derive(Debug, Default)]
pub(super) struct Met {
    /// Events that were not asked for.
    pub(super) passed_over: u64,
    /// Names of processes and threads.
    pub(super) namings: u64,
    /// Events of phases that are not read, and under zero objects without a phase: how many, and where the first is.
    pub(super) unread: BTreeMap<u8, (u64, u64)>,
}

impl Met {
    fn take_over(&mut self, other: Self) {
        self.passed_over += other.passed_over;
        self.namings += other.namings;
        for (phase, (count, offset)) in other.unread {
            self.unread.entry(phase).or_insert((0, offset)).0 += count;
        }
    }

    /// What was not read; none if all was.
    pub(super) fn unread(&self) -> Option<Unread> {
        let phases: Vec<u8> = self.unread.keys().copied().filter(|phase| *phase != 0).collect();
        (!self.unread.is_empty()).then(|| Unread { phases, without_phase: self.unread.contains_key(&0) })
    }

    /// Notes what was not read, which is no damage of the file.
    pub(super) fn report(&self, problems: &mut Problems) {
        let Some(unread) = self.unread() else { return };
        let count = self.unread.values().map(|(count, _)| count).sum();
        let first = self.unread.values().map(|(_, offset)| *offset).min().unwrap_or(0);
        problems.add_detailed(ProblemKind::Unsupported, first, count, unread.to_string());
    }
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

/// One half of a span: `B` and `E`, `b` and `e`, `S` and `F`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) begins: bool,
    pub(super) time_ns: i64,
    pub(super) name: StrId,
    pub(super) track: TrackId,
    pub(super) category: u16,
    /// Ties the two halves of an asynchronous span together; none for those that nest on their thread.
    pub(super) id: Option<AsyncId>,
    pub(super) offset: u64,
}

/// What the events of one asynchronous operation share, beside their category.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AsyncId {
    pub(super) id: u64,
    pub(super) scope: StrId,
    /// The process whose own the id is; none where it is the file's.
    pub(super) process: Option<TrackKey>,
    /// Part of the identity in the older form (`S`, `F`) only; empty in the newer one, whose spans nest by order.
    pub(super) name: StrId,
}

impl AsyncId {
    fn remapped(self, remap: &Remap) -> Self {
        let process = self.process.map(|process| remap.key(process));
        Self { id: self.id, scope: remap.string(self.scope), process, name: remap.string(self.name) }
    }
}

/// Which span a point of a flow is tied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    /// The one that encloses it.
    Enclosing,
    /// The next one to begin on its thread: what the format says of an end without a word about it.
    Next,
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
    pub(super) binding: Binding,
}

impl Pending {
    /// Takes in what the next stretch left to be done, whose ids `remap` carries over.
    pub(super) fn take_over(&mut self, other: Self, remap: &Remap) {
        self.rank = self.rank.or(other.rank);
        self.met.take_over(other.met);
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
            edge.id = edge.id.map(|id| id.remapped(remap));
            edge
        }));
        self.arrows.extend(other.arrows.into_iter().map(|mut arrow| {
            (arrow.pid, arrow.tid) = (remap.key(arrow.pid), remap.key(arrow.tid));
            (arrow.name, arrow.category) = (remap.string(arrow.name), remap.category(arrow.category));
            arrow
        }));
    }
}
