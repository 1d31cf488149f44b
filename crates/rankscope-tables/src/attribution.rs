//! [`Attribution`]: which operator each piece of device work is of.
//!
//! Work is of the HLO instruction that it or its launch names; else of the operator around the call that launched it, the innermost one;
//! where no operator is around it, of the operator that has the same external id; where there is none, of the call itself; and where no
//! call is recorded, of nobody. Frames of the Python tracer and annotations are no operators, they are around them.
//!
//! What a graph launch ran again is of the operator around the captured call, where [`graphs`](crate::graphs) finds that call.

use rankscope_analyze::ClassMode;
use rankscope_analyze::spans::Nesting;
use rankscope_trace::{CategoryKind, SpanId, StrId, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::graphs::{Capture, GraphRemarks, Replays};
use crate::instructions::Recorded;
use crate::launches::Launches;
use crate::owners::{Owners, sum_ns};

/// Whose a piece of work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// An operator's.
    Operator(SpanId),
    /// A launching call's that no operator is around.
    Call(SpanId),
    /// An operator's, or a call's that none is around, which was captured into a graph that this call launched.
    Replayed(SpanId, SpanId),
    /// The HLO instruction's of this name, which this call launched; the work itself stands here where no call is recorded.
    Instruction(SpanId, StrId),
    /// Nobody's that is recorded.
    Nobody,
}

impl Owner {
    /// The operator or the call.
    pub fn span(self) -> Option<SpanId> {
        match self {
            Self::Operator(span) | Self::Call(span) | Self::Replayed(span, _) | Self::Instruction(span, _) => Some(span),
            Self::Nobody => None,
        }
    }

    /// What it is called in `trace`.
    pub fn name(self, trace: &Trace) -> Option<StrId> {
        match self {
            Self::Operator(span) | Self::Call(span) | Self::Replayed(span, _) => Some(trace.spans.name[span.0 as usize]),
            Self::Instruction(_, name) => Some(name),
            Self::Nobody => None,
        }
    }
}

/// A kernel, a copy or a fill, and where it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributed {
    /// The work.
    pub work: SpanId,
    /// The call that launched it, where it is recorded.
    pub launch: Option<SpanId>,
    /// Whose it is.
    pub owner: Owner,
}

impl Attributed {
    /// Where in the program it comes from: what was captured, if a graph launch ran it again, and else the call that launched it.
    pub(crate) fn origin(&self) -> Option<SpanId> {
        match self.owner {
            Owner::Replayed(captured, _) => Some(captured),
            _ => self.launch.or(self.owner.span()),
        }
    }
}

/// The device work of a trace, each piece with its owner.
#[derive(Clone, Debug, Default)]
pub struct Attribution {
    /// How the spans of each thread lie in each other.
    pub nesting: Nesting,
    /// All device work, in the order of the file.
    pub work: Vec<Attributed>,
    /// Who owns it.
    pub(crate) owners: Owners,
    /// By whose classes operators have their categories.
    pub(crate) mode: ClassMode,
    /// How many correlation ids are of several calls that do not lie in each other.
    pub(crate) shared_ids: u64,
    /// Calls that were captured, and launched nothing when they were made.
    pub(crate) captured: FxHashSet<SpanId>,
    /// What became of the work of graphs.
    pub(crate) graphs: GraphRemarks,
    /// For each other file with captures, the graph launches that are tied to one of them, and their work.
    pub(crate) elsewhere: Vec<[u64; 2]>,
}

impl Attribution {
    /// Attributes all device work of `trace`, in the time of sorting its spans.
    pub fn of(trace: &Trace) -> Self {
        Self::by(trace, ClassMode::Default)
    }

    /// The same, with operators in the categories of `mode`.
    pub fn by(trace: &Trace, mode: ClassMode) -> Self {
        Self::with_captures(trace, mode, &[])
    }

    /// The same without what only tables need: in half the time and memory. What is read of arguments makes no difference, so that HLO
    /// instructions and graphs, which only those tell, own nothing.
    pub fn of_work(trace: &Trace) -> Self {
        let nesting = Nesting::of(trace);
        let launches = Launches::of(trace);
        let work = Operators::of(trace, &nesting).work(&launches, None);
        Self { work, nesting, ..Self::default() }
    }

    /// The same, where `elsewhere` are captures of other files, whose calls stand in front of the trace's events.
    pub(crate) fn with_captures(trace: &Trace, mode: ClassMode, elsewhere: &[Capture]) -> Self {
        let nesting = Nesting::of(trace);
        let launches = Launches::of(trace);
        let operators = Operators::of(trace, &nesting);
        let recorded = Some(Recorded::of(trace)).filter(Recorded::is_any);
        let mut work = operators.work(&launches, recorded.as_ref());
        let replays = Replays::of(trace, &nesting, &work, elsewhere);
        for one in work.iter_mut().filter(|one| !matches!(one.owner, Owner::Instruction(..))) {
            if let (Some(call), Some(launch)) = (replays.captured.get(&one.work), one.launch) {
                one.owner = Owner::Replayed(operators.of_call(Some(*call), None).unwrap_or(*call), launch);
            }
        }
        Self {
            owners: Owners::of(trace, &work, mode),
            nesting,
            work,
            mode,
            shared_ids: launches.shared_ids(),
            captured: replays.calls.into_iter().collect(),
            graphs: replays.remarks,
            elsewhere: replays.elsewhere,
        }
    }

    /// Sum of the lengths of all work, in nanoseconds.
    pub fn kernel_ns(&self, trace: &Trace) -> i64 {
        sum_ns(trace, self.work.iter().map(|one| one.work))
    }

    /// Sum of the lengths of the work that is nobody's, in nanoseconds.
    pub fn unattributed_ns(&self, trace: &Trace) -> i64 {
        let nobodys = self.work.iter().filter(|one| one.owner == Owner::Nobody);
        sum_ns(trace, nobodys.map(|one| one.work))
    }

    /// What is around `span`, innermost first.
    pub fn around(&self, span: SpanId) -> impl Iterator<Item = SpanId> {
        around(&self.nesting, span)
    }
}

/// The operators of a trace, to be asked which one work is of.
struct Operators<'a> {
    trace: &'a Trace,
    nesting: &'a Nesting,
    by_external_id: FxHashMap<u64, SpanId>,
}

impl<'a> Operators<'a> {
    fn of(trace: &'a Trace, nesting: &'a Nesting) -> Self {
        Self { trace, nesting, by_external_id: by_external_id(trace) }
    }

    /// The operator around `call`, else the one of the external id of `work` or `call`.
    fn of_call(&self, call: Option<SpanId>, work: Option<SpanId>) -> Option<SpanId> {
        let around = call.and_then(|call| operator_around(self.trace, self.nesting, call));
        let id = || [work, call].into_iter().flatten().find_map(|span| self.trace.external_ids.get(span));
        around.or_else(|| self.by_external_id.get(&id()?).copied())
    }

    /// All device work, as if there were no graphs, with the instructions that are `recorded`.
    fn work(&self, launches: &Launches<'_>, recorded: Option<&Recorded<'_>>) -> Vec<Attributed> {
        let attributed = |work: SpanId| {
            let launch = launches.of_work(work);
            let instruction = recorded.and_then(|recorded| recorded.name(work).or_else(|| recorded.name(launch?)));
            let owner = match (instruction, self.of_call(launch, Some(work)), launch) {
                (Some(name), ..) => Owner::Instruction(launch.unwrap_or(work), name),
                (None, Some(operator), _) => Owner::Operator(operator),
                (None, None, Some(call)) => Owner::Call(call),
                (None, None, None) => Owner::Nobody,
            };
            Attributed { work, launch, owner }
        };
        self.trace.spans.ids().filter(|span| self.trace.kind(*span).is_device_work()).map(attributed).collect()
    }
}

/// What is around `span`, innermost first.
pub(crate) fn around(nesting: &Nesting, span: SpanId) -> impl Iterator<Item = SpanId> {
    std::iter::successors(nesting.parent(span), |span| nesting.parent(*span))
}

/// The length of `span`.
pub(crate) fn dur_ns(trace: &Trace, span: SpanId) -> i64 {
    trace.spans.dur_ns[span.0 as usize]
}

fn operator_around(trace: &Trace, nesting: &Nesting, call: SpanId) -> Option<SpanId> {
    around(nesting, call).find(|span| trace.kind(*span) == CategoryKind::CpuOp)
}

/// The first operator of each external id but 0, which is none.
fn by_external_id(trace: &Trace) -> FxHashMap<u64, SpanId> {
    let mut operators: FxHashMap<u64, SpanId> = FxHashMap::default();
    let ids = trace.external_ids.iter().filter(|(span, id)| *id != 0 && trace.kind(*span) == CategoryKind::CpuOp);
    for (span, id) in ids {
        let first = operators.entry(id).or_insert(span);
        if trace.spans.start_ns(span) < trace.spans.start_ns(*first) {
            *first = span;
        }
    }
    operators
}
