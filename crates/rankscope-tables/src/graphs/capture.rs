//! [`Capture`]: the calls that were made while a stream was captured.

use rankscope_analyze::spans::Nesting;
use rankscope_trace::{CategoryKind, SpanId, StrId, Trace, TrackId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::known::Shape;
use crate::arguments::all_recorded;
use crate::{Attributed, attribution};

/// What a call or a piece of work does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sort {
    Kernel,
    Copy,
    Fill,
}

/// What a call of some name has to do with graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Begin,
    End,
    GraphLaunch,
    Launch(Sort),
}

impl Role {
    fn of(call: &str) -> Option<Self> {
        let has = |part: &str| call.contains(part);
        match () {
            () if has("StreamBeginCapture") => Some(Self::Begin),
            () if has("StreamEndCapture") => Some(Self::End),
            () if has("GraphLaunch") => Some(Self::GraphLaunch),
            () if has("LaunchKernel") || has("LaunchCooperative") => Some(Self::Launch(Sort::Kernel)),
            () if has("Memcpy") => Some(Self::Launch(Sort::Copy)),
            () if has("Memset") => Some(Self::Launch(Sort::Fill)),
            () => None,
        }
    }
}

/// The roles of calls by name.
pub(super) struct Roles(FxHashMap<StrId, Role>);

impl Roles {
    pub(super) fn of(trace: &Trace) -> Self {
        let is_call = |name: &str| ["cuda", "hip", "cu"].iter().any(|prefix| name.starts_with(prefix));
        let names = trace.strings.iter().filter(|(_, name)| is_call(name));
        Self(names.filter_map(|(id, name)| Some((id, Role::of(name)?))).collect())
    }

    /// Whether anything is captured.
    pub(super) fn has_captures(&self) -> bool {
        self.0.values().any(|role| *role == Role::Begin)
    }

    /// Whether graphs are launched at all.
    pub(super) fn has_graphs(&self) -> bool {
        self.0.values().any(|role| *role == Role::GraphLaunch)
    }

    pub(super) fn is_graph_launch(&self, trace: &Trace, call: SpanId) -> bool {
        self.role(trace, call) == Some(Role::GraphLaunch)
    }

    /// What `call` launches.
    pub(super) fn launches(&self, trace: &Trace, call: SpanId) -> Option<Sort> {
        match self.role(trace, call)? {
            Role::Launch(sort) => Some(sort),
            _ => None,
        }
    }

    fn role(&self, trace: &Trace, call: SpanId) -> Option<Role> {
        self.0.get(&trace.spans.name[call.0 as usize]).copied()
    }
}

/// How often a trace captures and launches graphs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphCalls {
    /// Captures that begin in it.
    pub captures: u64,
    /// Launches of graphs.
    pub launches: u64,
}

impl GraphCalls {
    /// So many of each.
    pub fn new(captures: u64, launches: u64) -> Self {
        Self { captures, launches }
    }

    /// Those of `trace`.
    pub fn of(trace: &Trace) -> Self {
        let roles = Roles::of(trace);
        let mut calls = Self::default();
        if roles.has_captures() || roles.has_graphs() {
            for span in trace.spans.ids().filter(|span| trace.kind(*span).is_launch()) {
                match roles.role(trace, span) {
                    Some(Role::Begin) => calls.captures += 1,
                    Some(Role::GraphLaunch) => calls.launches += 1,
                    _ => {}
                }
            }
        }
        calls
    }
}

/// The launching calls of one capture, in order of time. None of them launched anything.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    thread: TrackId,
    from_ns: i64,
    pub(super) end_ns: i64,
    pub(super) calls: Vec<SpanId>,
    /// The other file that it is of, by its number, and what that file knows of the work of its calls.
    pub(super) elsewhere: Option<(usize, Vec<Shape>)>,
}

impl Capture {
    /// That of another file, whose `calls` stand in front of the trace's events.
    pub(super) fn elsewhere(file: usize, end_ns: i64, calls: Vec<SpanId>, shapes: Vec<Shape>) -> Self {
        Self { thread: TrackId(0), from_ns: end_ns, end_ns, calls, elsewhere: Some((file, shapes)) }
    }

    /// Those of `trace` that began and ended in it.
    pub(super) fn all(trace: &Trace, nesting: &Nesting, roles: &Roles, work: &[Attributed]) -> Vec<Self> {
        let mut calls: Vec<SpanId> = trace.spans.ids().filter(|span| trace.kind(*span).is_launch()).collect();
        calls.sort_by_key(|call| (trace.spans.start_ns(*call), *call));
        let mut captures = Self::ranges(trace, roles, &calls);
        if captures.is_empty() {
            return captures;
        }
        let with_work: FxHashSet<u64> = work.iter().filter_map(|one| trace.correlations.get(one.work)).collect();
        let is_within_another = |call: SpanId| nesting.parent(call).is_some_and(|around| trace.kind(around).is_launch());
        calls.retain(|call| {
            roles.launches(trace, *call).is_some()
                && !trace.correlations.get(*call).is_some_and(|id| with_work.contains(&id))
                && !is_within_another(*call)
        });
        let ranges: Vec<(i64, i64)> = captures.iter().map(|capture| (capture.from_ns, capture.end_ns)).collect();
        for capture in &mut captures {
            // A captured stream takes calls of any thread, as those of backward; of captures at one time, each has its thread's.
            let meanwhile = ranges.iter().filter(|(from, end)| *from < capture.end_ns && capture.from_ns < *end).count();
            let begun = calls.partition_point(|call| trace.spans.start_ns(*call) < capture.from_ns);
            let within = calls[begun..].iter().take_while(|call| trace.spans.start_ns(**call) < capture.end_ns);
            let is_its = |call: &&SpanId| meanwhile == 1 || trace.spans.track[call.0 as usize] == capture.thread;
            capture.calls = within.filter(is_its).copied().collect();
        }
        captures
    }

    /// From each call that begins a capture to the one that ends it, on one thread.
    fn ranges(trace: &Trace, roles: &Roles, calls: &[SpanId]) -> Vec<Self> {
        let mut begun: FxHashMap<TrackId, i64> = FxHashMap::default();
        let mut captures = Vec::new();
        for call in calls {
            let thread = trace.spans.track[call.0 as usize];
            match roles.role(trace, *call) {
                Some(Role::Begin) => {
                    begun.insert(thread, trace.spans.end_ns(*call));
                }
                Some(Role::End) => captures.extend(begun.remove(&thread).map(|from_ns| {
                    let end_ns = trace.spans.start_ns(*call);
                    Self { thread, from_ns, end_ns, calls: Vec::new(), elsewhere: None }
                })),
                _ => {}
            }
        }
        captures
    }

    /// Whether the same operators with the same arguments made the calls of both.
    pub(super) fn is_like(&self, other: &Self, trace: &Trace, nesting: &Nesting) -> bool {
        let around = |call: SpanId| {
            let operators = attribution::around(nesting, call).filter(|span| trace.kind(*span) == CategoryKind::CpuOp);
            operators.map(|span| (trace.spans.name[span.0 as usize], all_recorded(trace, span)))
        };
        let name = |call: SpanId| trace.spans.name[call.0 as usize];
        let mut pairs = self.calls.iter().zip(&other.calls);
        self.calls.len() == other.calls.len() && pairs.all(|(a, b)| name(*a) == name(*b) && around(*a).eq(around(*b)))
    }
}
