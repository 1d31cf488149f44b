//! [`Known`]: what is known of the work that a captured call will launch.

use rankscope_analyze::spans::Nesting;
use rankscope_trace::{ArgValue, CategoryKind, SpanId, StrId, Trace};
use rustc_hash::FxHashMap;

use super::capture::{Capture, Roles, Sort};
use crate::arguments::all_recorded;
use crate::{Attributed, Owner, attribution};

/// A piece of work as far as it is known: what is none fits all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    sort: Sort,
    name: Option<StrId>,
    grid: Option<StrId>,
    block: Option<StrId>,
}

impl Shape {
    /// What `work` is.
    pub(super) fn of_work(trace: &Trace, work: SpanId) -> Self {
        let name = trace.spans.name[work.0 as usize];
        let text = trace.strings.text(name);
        // ROCm does copies and fills with kernels of its own.
        let sort = match trace.kind(work) {
            CategoryKind::Memcpy => Sort::Copy,
            CategoryKind::Memset => Sort::Fill,
            _ if text.starts_with("__amd_rocclr_copy") => Sort::Copy,
            _ if text.starts_with("__amd_rocclr_fill") => Sort::Fill,
            _ => Sort::Kernel,
        };
        Self { sort, name: Some(name), grid: arg(trace, work, "grid"), block: arg(trace, work, "block") }
    }

    /// The same in a trace that has a `string` for each of this one's.
    pub(super) fn with(&self, mut string: impl FnMut(StrId) -> StrId) -> Self {
        let Self { sort, name, grid, block } = *self;
        Self { sort, name: name.map(&mut string), grid: grid.map(&mut string), block: block.map(&mut string) }
    }

    /// Whether enough is known to tell it from others.
    pub(super) fn is_known(&self) -> bool {
        self.sort != Sort::Kernel || self.name.is_some()
    }

    /// Whether `work` may be what is known here.
    pub(super) fn may_be(&self, work: &Self) -> bool {
        let fits = |own: Option<StrId>, other: Option<StrId>| own.zip(other).is_none_or(|(own, other)| own == other);
        // Names of copies say where memory lies, which calls do not.
        let named = self.sort != Sort::Kernel || fits(self.name, work.name);
        self.sort == work.sort && named && fits(self.grid, work.grid) && fits(self.block, work.block)
    }

    /// What both have.
    fn and(self, other: Self) -> Option<Self> {
        let both = |own: Option<StrId>, other: Option<StrId>| own.filter(|own| other == Some(*own));
        let joined = Self { grid: both(self.grid, other.grid), block: both(self.block, other.block), ..self };
        ((self.sort, self.name) == (other.sort, other.name)).then_some(joined)
    }
}

/// An operator by its name and arguments, the number of its launches, and which of them.
type Place = (StrId, [Option<StrId>; 4], usize, usize);

/// What operators that captures have ran outside of them.
pub(super) struct Known {
    ran: FxHashMap<Place, Option<Shape>>,
}

impl Known {
    pub(super) fn of(trace: &Trace, nesting: &Nesting, captures: &[Capture], work: &[Attributed], roles: &Roles) -> Self {
        let calls = captures.iter().flat_map(|capture| &capture.calls);
        let captured: FxHashMap<StrId, ()> =
            calls.filter_map(|call| Some((trace.spans.name[operator(trace, nesting, *call)?.0 as usize], ()))).collect();
        let mut launched: FxHashMap<SpanId, Vec<(i64, SpanId, SpanId)>> = FxHashMap::default();
        for one in work {
            let (Owner::Operator(operator), Some(launch)) = (one.owner, one.launch) else { continue };
            let is_captured = captured.contains_key(&trace.spans.name[operator.0 as usize]);
            if is_captured && !roles.is_graph_launch(trace, launch) {
                launched.entry(operator).or_default().push((trace.spans.start_ns(launch), launch, one.work));
            }
        }
        let mut ran: FxHashMap<Place, Option<Shape>> = FxHashMap::default();
        for (operator, mut launched) in launched {
            launched.sort_unstable();
            for (at, (.., work)) in launched.iter().enumerate() {
                let shape = Shape::of_work(trace, *work);
                let known = ran.entry(place(trace, operator, launched.len(), at)).or_insert(Some(shape));
                *known = known.and_then(|known| known.and(shape));
            }
        }
        Self { ran }
    }

    /// What the calls of `capture` will launch.
    pub(super) fn shapes(&self, trace: &Trace, nesting: &Nesting, capture: &Capture, roles: &Roles) -> Vec<Shape> {
        let operators: Vec<Option<SpanId>> = capture.calls.iter().map(|call| operator(trace, nesting, *call)).collect();
        let mut counts: FxHashMap<SpanId, usize> = FxHashMap::default();
        operators.iter().flatten().for_each(|operator| *counts.entry(*operator).or_default() += 1);
        let mut seen: FxHashMap<SpanId, usize> = FxHashMap::default();
        let shape = |(call, operator): (&SpanId, Option<SpanId>)| {
            let sort = roles.launches(trace, *call).unwrap_or(Sort::Kernel);
            let ran = operator.and_then(|operator| {
                let at = seen.entry(operator).or_default();
                let place = place(trace, operator, counts[&operator], *at);
                *at += 1;
                self.ran.get(&place).copied().flatten().filter(|ran| ran.sort == sort)
            });
            let nothing = Shape { sort, name: None, grid: None, block: None };
            match arg(trace, *call, "kernel") {
                // What the call itself says counts, and the rest only if it is of the same kernel.
                Some(name) => Shape { name: Some(name), ..ran.filter(|ran| ran.name == Some(name)).unwrap_or(nothing) },
                None => ran.unwrap_or(nothing),
            }
        };
        let mut shapes: Vec<Shape> = capture.calls.iter().zip(operators).map(shape).collect();
        // The file that the capture is in knows its calls best.
        if let Some((_, known)) = &capture.elsewhere {
            shapes.iter_mut().zip(known).filter(|(_, known)| known.is_known()).for_each(|(shape, known)| *shape = *known);
        }
        shapes
    }
}

fn place(trace: &Trace, operator: SpanId, launches: usize, at: usize) -> Place {
    (trace.spans.name[operator.0 as usize], all_recorded(trace, operator), launches, at)
}

fn operator(trace: &Trace, nesting: &Nesting, call: SpanId) -> Option<SpanId> {
    attribution::around(nesting, call).find(|span| trace.kind(*span) == CategoryKind::CpuOp)
}

fn arg(trace: &Trace, span: SpanId, key: &str) -> Option<StrId> {
    match trace.spans.args.value(span.0 as usize, trace.strings.find(key)?)? {
        ArgValue::Text(text) | ArgValue::Json(text) => Some(text),
        _ => None,
    }
}
