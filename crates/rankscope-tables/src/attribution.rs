//! [`Attribution`]: which operator each piece of device work is of.
//!
//! Work is of the HLO instruction that it or its launch names; else of the operator around the call that launched it, the innermost one;
//! where no operator is around it, of the operator that has the same external id; where there is none, of the call itself; and where no
//! call is recorded, of nobody. Frames of the Python tracer and annotations are no operators, they are around them.
//!
//! What a graph launch ran again is of the operator around the captured call, where [`graphs`](crate::graphs) finds that call.

use std::sync::Arc;

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
    pub nesting: Arc<Nesting>,
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
        Self::of_work_within(trace, Nesting::untimed(trace))
    }

    /// The same where it is known how spans lie in each other.
    pub(crate) fn of_work_within(trace: &Trace, nesting: Nesting) -> Self {
        let launches = Launches::of(trace);
        let work = Operators { trace, nesting: &nesting }.work(&launches);
        Self { work, nesting: Arc::new(nesting), shared_ids: launches.shared_ids(), ..Self::default() }
    }

    /// The same, where `elsewhere` are captures of other files, whose calls stand in front of the trace's events.
    pub(crate) fn with_captures(trace: &Trace, mode: ClassMode, elsewhere: &[Capture]) -> Self {
        Self::of_work(trace).completed(trace, mode, elsewhere)
    }

    /// What [`of_work`](Self::of_work) made of `trace`, with what tables need.
    pub(crate) fn completed(self, trace: &Trace, mode: ClassMode, elsewhere: &[Capture]) -> Self {
        let Self { mut work, nesting, shared_ids, .. } = self;
        let recorded = Some(Recorded::of(trace)).filter(Recorded::is_any);
        for one in work.iter_mut().filter(|_| recorded.is_some()) {
            let name = |recorded: &Recorded<'_>| recorded.name(one.work).or_else(|| recorded.name(one.launch?));
            if let Some(name) = recorded.as_ref().and_then(name) {
                one.owner = Owner::Instruction(one.launch.unwrap_or(one.work), name);
            }
        }
        let replays = Replays::of(trace, &nesting, &work, elsewhere);
        let replayed = work.iter_mut().filter(|one| !matches!(one.owner, Owner::Instruction(..)));
        let replayed = replayed.filter_map(|one| Some((*replays.captured.get(&one.work)?, one.launch?, one)));
        let replayed: Vec<(SpanId, SpanId, &mut Attributed)> = replayed.collect();
        let operators = Operators { trace, nesting: &nesting };
        let captured = operators.of_calls(replayed.iter().map(|(call, ..)| (Some(*call), None)));
        for ((call, launch, one), operator) in replayed.into_iter().zip(captured) {
            one.owner = Owner::Replayed(operator.unwrap_or(call), launch);
        }
        Self {
            owners: Owners::of(trace, &work, mode),
            nesting,
            work,
            mode,
            shared_ids,
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
}

impl Operators<'_> {
    /// For each of `calls`, with the work that it launched, the operator around it, else the one of the external id of the work or the
    /// call.
    fn of_calls(&self, calls: impl Iterator<Item = (Option<SpanId>, Option<SpanId>)>) -> Vec<Option<SpanId>> {
        let mut lacking: Vec<(usize, u64)> = Vec::new();
        let around = |(at, (call, work)): (usize, (Option<SpanId>, Option<SpanId>))| {
            let around = call.and_then(|call| operator_around(self.trace, self.nesting, call));
            if around.is_none() {
                let id = [work, call].into_iter().flatten().find_map(|span| self.trace.external_ids.get(span));
                lacking.extend(id.map(|id| (at, id)));
            }
            around
        };
        let mut found: Vec<Option<SpanId>> = calls.enumerate().map(around).collect();
        let known = by_external_id(self.trace, lacking.iter().map(|(_, id)| *id));
        lacking.iter().for_each(|(at, id)| found[*at] = known.get(id).copied().flatten());
        found
    }

    /// All device work, as if there were neither graphs nor instructions.
    fn work(&self, launches: &Launches<'_>) -> Vec<Attributed> {
        let works = self.trace.spans.ids().filter(|span| self.trace.kind(*span).is_device_work());
        let launched: Vec<(SpanId, Option<SpanId>)> = works.map(|work| (work, launches.of_work(work))).collect();
        let operators = self.of_calls(launched.iter().map(|(work, launch)| (*launch, Some(*work))));
        let attributed = |((work, launch), operator): ((SpanId, Option<SpanId>), Option<SpanId>)| {
            let owner = match (operator, launch) {
                (Some(operator), _) => Owner::Operator(operator),
                (None, Some(call)) => Owner::Call(call),
                (None, None) => Owner::Nobody,
            };
            Attributed { work, launch, owner }
        };
        launched.into_iter().zip(operators).map(attributed).collect()
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

/// The first operator of each of the `wanted` external ids but 0, which is none.
fn by_external_id(trace: &Trace, wanted: impl Iterator<Item = u64>) -> FxHashMap<u64, Option<SpanId>> {
    let mut operators: FxHashMap<u64, Option<SpanId>> = wanted.filter(|id| *id != 0).map(|id| (id, None)).collect();
    if operators.is_empty() {
        return operators;
    }
    for (span, id) in trace.external_ids.iter().filter(|(span, _)| trace.kind(*span) == CategoryKind::CpuOp) {
        let Some(first) = operators.get_mut(&id) else { continue };
        if first.is_none_or(|first| trace.spans.start_ns(span) < trace.spans.start_ns(first)) {
            *first = Some(span);
        }
    }
    operators
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::Made;

    #[test]
    fn work_without_a_launch_is_of_the_first_operator_of_its_external_id() {
        let mut made = Made::default();
        let with_id = |made: &mut Made, span: SpanId, id: u64| {
            made.trace.external_ids.push(span, id);
            span
        };
        let late = made.operator("late", 50, 5);
        with_id(&mut made, late, 7);
        let early = made.operator("early", 10, 5);
        with_id(&mut made, early, 7);
        let none = made.operator("none", 20, 5);
        with_id(&mut made, none, 0);
        for (kernel, id) in [("by_id", 7), ("by_nothing", 0), ("by_nobody", 9)] {
            let kernel = made.kernel(kernel, 7, 100, 5, 0);
            with_id(&mut made, kernel, id);
        }
        let owners = |attribution: &Attribution| attribution.work.iter().map(|one| one.owner).collect::<Vec<_>>();
        let expected = [Owner::Operator(early), Owner::Nobody, Owner::Nobody];
        assert_eq!(owners(&Attribution::of(&made.trace)), expected);
        assert_eq!(owners(&Attribution::of_work(&made.trace)), expected);
    }
}
