//! Which allocations were alive when, who made them and what for.
//!
//! Categories are what a trace can prove, by where memory was allocated and released; what it cannot prove is unknown. There is no
//! category of parameters: they are allocated before anybody records.

use rankscope_trace::{CategoryKind, SpanId, Trace};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::events::Event;
use super::{Doubts, Sum};
use crate::Attribution;
use crate::inside::Inside;
use crate::recompute::Recomputed;

/// What memory was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum MemoryCategory {
    /// Allocated outside backward, and released by a backward node: it was kept for it.
    Activation,
    /// Allocated by a backward node, and released by a later one, by the optimiser or by `zero_grad`.
    Gradient,
    /// Allocated by the optimiser's step, and not released within it.
    OptimizerState,
    /// Released by the outermost operator that allocated it, or within the optimiser's step.
    Temporary,
    /// Nothing of these can be shown.
    Unknown,
}

impl MemoryCategory {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Activation, Self::Gradient, Self::OptimizerState, Self::Temporary, Self::Unknown];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Activation => "activation",
            Self::Gradient => "gradient",
            Self::OptimizerState => "optimizer_state",
            Self::Temporary => "temporary",
            Self::Unknown => "unknown",
        }
    }
}

/// Who allocated memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Holder {
    /// The innermost operator around the allocation that does more than allocate.
    Operator(String),
    /// No operator was running.
    NoOperator,
    /// Nobody who is recorded: it was allocated before the recording began.
    BeforeRecording,
}

/// One allocation.
#[derive(Clone, Debug)]
pub(super) struct Allocation {
    /// The event that it is, and the one that released it.
    pub(super) event: usize,
    pub(super) freed_at: Option<usize>,
    pub(super) bytes: i64,
    pub(super) holder: Holder,
    pub(super) category: MemoryCategory,
}

impl Allocation {
    pub(super) fn is_alive_after(&self, event: usize) -> bool {
        self.event <= event && self.freed_at.is_none_or(|freed_at| freed_at > event)
    }
}

/// All allocations of one device, in order.
#[derive(Default)]
pub(super) struct Replay {
    pub(super) all: Vec<Allocation>,
    pub(super) freed_unknown: Sum,
    pub(super) doubts: Doubts,
}

impl Replay {
    pub(super) fn of(places: &Places<'_>, events: &[Event]) -> Self {
        let mut replay = Self::default();
        let mut at_address: FxHashMap<u64, (usize, Place)> = FxHashMap::default();
        for (at, event) in events.iter().enumerate() {
            let (Some(bytes), Some(address)) = (event.bytes, event.address) else {
                replay.doubts.unreadable += 1;
                continue;
            };
            if bytes == 0 {
                continue;
            }
            let place = places.of_event(event);
            if bytes > 0 {
                if let Some((before, _)) = at_address.insert(address, (replay.all.len(), place)) {
                    replay.doubts.address_reused += 1;
                    replay.all[before].freed_at = Some(at);
                }
                let holder = places.holder(&place);
                // What is never released keeps this.
                let category = if place.step.is_some() { MemoryCategory::OptimizerState } else { MemoryCategory::Unknown };
                replay.all.push(Allocation { event: at, freed_at: None, bytes, holder, category });
            } else if let Some((own, allocated)) = at_address.remove(&address) {
                let one = &mut replay.all[own];
                one.freed_at = Some(at);
                one.category = allocated.category(&place);
                replay.doubts.size_differs += u64::from(one.bytes != bytes.saturating_neg());
            } else {
                replay.freed_unknown.add(bytes.saturating_neg());
            }
        }
        replay
    }
}

/// What was running where memory was allocated or released.
#[derive(Clone, Copy, Default)]
struct Place {
    innermost: Option<SpanId>,
    /// The outermost operator.
    operator: Option<SpanId>,
    /// The outermost backward node, if what runs is its own and no forward operator that runs again.
    node: Option<SpanId>,
    /// The optimiser's step.
    step: Option<SpanId>,
    /// It sets gradients to zero.
    clears: bool,
}

impl Place {
    /// What memory was for that was allocated here and released at `freed`.
    fn category(&self, freed: &Self) -> MemoryCategory {
        let same = |own: Option<SpanId>, other| own.is_some() && own == other;
        let by_backward = freed.node.is_some();
        match self {
            _ if same(self.step, freed.step) || same(self.operator, freed.operator) => MemoryCategory::Temporary,
            _ if self.step.is_some() => MemoryCategory::OptimizerState,
            _ if self.node.is_some() && (by_backward || freed.clears || freed.step.is_some()) => MemoryCategory::Gradient,
            _ if self.node.is_none() && self.operator.is_some() && by_backward => MemoryCategory::Activation,
            _ => MemoryCategory::Unknown,
        }
    }
}

/// What runs where.
pub(super) struct Places<'a> {
    trace: &'a Trace,
    attribution: &'a Attribution,
    inside: Inside<'a>,
    recomputed: Recomputed,
}

/// Operators that do nothing but allocate: who called them is asked for.
const ALLOCATING: [&str; 7] = [
    "aten::empty",
    "aten::empty_like",
    "aten::empty_strided",
    "aten::new_empty",
    "aten::new_empty_strided",
    "aten::resize_",
    "aten::_resize_output_",
];

impl<'a> Places<'a> {
    pub(super) fn of(trace: &'a Trace, attribution: &'a Attribution) -> Self {
        let recomputed = Recomputed::of(trace, attribution);
        Self { trace, attribution, inside: Inside::of(trace, &attribution.nesting), recomputed }
    }

    fn of_event(&self, event: &Event) -> Place {
        let innermost = self.inside.innermost(event.track, event.at_ns);
        let mut place = Place { innermost, ..Place::default() };
        let Some(innermost) = innermost else { return place };
        for span in self.inside.outwards(innermost) {
            let name = self.trace.name(span);
            match self.trace.kind(span) {
                CategoryKind::CpuOp => {
                    place.operator = Some(span);
                    place.node = if name.starts_with(crate::recompute::EVALUATION) { Some(span) } else { place.node };
                }
                CategoryKind::UserAnnotation if name.starts_with("Optimizer.step#") => place.step = Some(span),
                CategoryKind::UserAnnotation if name.starts_with("Optimizer.zero_grad#") => place.clears = true,
                _ => {}
            }
        }
        if place.node.is_some() && self.recomputed.evidence(self.attribution, innermost).is_some() {
            place.node = None;
        }
        place
    }

    fn holder(&self, place: &Place) -> Holder {
        let operators = place.innermost.into_iter().flat_map(|span| self.inside.outwards(span));
        let mut outermost = None;
        for name in operators.filter(|span| self.trace.kind(*span) == CategoryKind::CpuOp).map(|span| self.trace.name(span)) {
            outermost = Some(name);
            if !ALLOCATING.contains(&name) {
                break;
            }
        }
        outermost.map_or(Holder::NoOperator, |name| Holder::Operator(name.to_owned()))
    }
}
