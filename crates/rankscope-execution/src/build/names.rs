//! [`Names`]: what the spans of a trace are to its graph, by their categories and names.

use rankscope_analyze::Side;
use rankscope_collectives::RankCollectives;
use rankscope_tables::Attribution;
use rankscope_trace::{CategoryKind, SpanId, StrId, Trace};
use rustc_hash::FxHashMap;

use crate::columns::Marks;

/// How frames of the Python tracer begin that are modules of the model.
const MODULE: &str = "nn.Module: ";

/// How operators begin that hand a collective over to a backend.
const HANDS_OVER: &str = "c10d::";

/// How the operator of torch ends that runs a checkpointed forward pass again.
const RECOMPUTES: &str = "CheckpointFunctionBackward";

/// What a span of the host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Operator,
    Annotation,
    Function,
    Module,
    Call,
    /// A collective of the host.
    Collective,
    /// A step marker.
    Step,
}

impl Sort {
    /// Of spans of `kind` that are no collectives and mark no steps; none where the name tells.
    fn of(kind: CategoryKind) -> Option<Self> {
        match kind {
            CategoryKind::CpuOp => Some(Self::Operator),
            CategoryKind::Runtime | CategoryKind::Driver => Some(Self::Call),
            CategoryKind::PythonFunction => None,
            _ => Some(Self::Annotation),
        }
    }
}

/// A trace with what is known of its spans.
pub(super) struct Names<'a> {
    pub(super) trace: &'a Trace,
    pub(super) attribution: &'a Attribution,
    pub(super) collectives: &'a RankCollectives,
    pub(super) side: Side,
    /// Number of the collective that a span is.
    pub(super) of_span: FxHashMap<SpanId, usize>,
    /// Spans that are collectives or mark steps.
    special: Marks,
    /// Of other spans by category; none where the name tells.
    sorts: Vec<Option<Sort>>,
    /// What names say, by their place.
    said: Vec<Said>,
}

/// What the name of a span says of it.
#[derive(Clone, Copy, Debug)]
struct Said {
    /// It is of a module of the model, as a frame of the Python tracer.
    module: bool,
    /// It runs a checkpointed forward pass again, as an operator.
    recomputes: bool,
}

/// Where in the program something is: what is around it.
#[derive(Clone, Copy, Debug, Default)]
struct Around {
    /// The innermost operator that computes a forward pass again.
    recomputing: StrId,
    /// The innermost module.
    module: StrId,
    /// The innermost function that is no module.
    function: StrId,
}

impl Around {
    fn place(self) -> StrId {
        let known = [self.recomputing, self.module].into_iter().find(|name| !name.is_empty());
        known.unwrap_or(self.function)
    }
}

/// The places in the program of spans, each way outwards gone once.
#[derive(Default)]
pub(super) struct Places {
    /// By span: what is around what is in it.
    within: FxHashMap<SpanId, Around>,
    /// Spans on the way, innermost first.
    way: Vec<SpanId>,
}

impl<'a> Names<'a> {
    pub(super) fn of(trace: &'a Trace, attribution: &'a Attribution, collectives: &'a RankCollectives, side: Side) -> Self {
        let numbered = collectives.collectives.iter().zip(0..);
        let own = collectives.collectives.iter().map(|collective| collective.span);
        let mut special: Vec<u32> = own.chain(trace.steps.iter().map(|mark| mark.span)).map(|span| span.0).collect();
        special.sort_unstable();
        let said = |text: &str| Said { module: text.starts_with(MODULE), recomputes: text.ends_with(RECOMPUTES) };
        Self {
            trace,
            attribution,
            collectives,
            side,
            of_span: numbered.map(|(collective, at)| (collective.span, at)).collect(),
            special: Marks::of(special.into_iter()),
            sorts: trace.categories.iter().map(|category| Sort::of(category.kind)).collect(),
            said: trace.strings.iter().map(|(_, text)| said(text)).collect(),
        }
    }

    pub(super) fn name(&self, span: SpanId) -> StrId {
        self.trace.spans.name[span.0 as usize]
    }

    #[inline]
    pub(super) fn sort(&self, span: SpanId) -> Sort {
        if self.special.place(span.0).is_some() {
            return if self.of_span.contains_key(&span) { Sort::Collective } else { Sort::Step };
        }
        let by_name = || if self.said(span).module { Sort::Module } else { Sort::Function };
        self.sorts[usize::from(self.trace.spans.category[span.0 as usize])].unwrap_or_else(by_name)
    }

    fn said(&self, span: SpanId) -> Said {
        self.said[self.name(span).0 as usize]
    }

    /// Whether `span` is an operator that hands a collective over.
    pub(super) fn hands_over(&self, span: SpanId) -> bool {
        self.trace.kind(span) == CategoryKind::CpuOp && self.trace.name(span).starts_with(HANDS_OVER)
    }

    /// Whether `span` is of a backward pass.
    pub(super) fn runs_backward(&self, span: SpanId) -> bool {
        let name = self.trace.name(span);
        self.trace.kind(span) == CategoryKind::CpuOp && (name.contains("Backward") || name.contains("autograd::engine"))
    }

    /// The backward pass that computes a forward pass again, where `span` is part of one; the innermost module around `span`, else
    /// the innermost function.
    pub(super) fn place(&self, span: SpanId, places: &mut Places) -> StrId {
        let Places { within, way } = places;
        let (mut known, mut at) = (Around::default(), self.attribution.nesting.parent(span));
        while let Some(here) = at {
            if let Some(around) = within.get(&here) {
                known = *around;
                break;
            }
            way.push(here);
            at = self.attribution.nesting.parent(here);
        }
        while let Some(here) = way.pop() {
            known = self.entered(known, here);
            within.insert(here, known);
        }
        known.place()
    }

    /// What is around what is in `span`, where `around` is around it.
    fn entered(&self, around: Around, span: SpanId) -> Around {
        let (name, said) = (self.name(span), self.said(span));
        match self.trace.kind(span) {
            CategoryKind::CpuOp if said.recomputes => Around { recomputing: name, ..around },
            CategoryKind::PythonFunction if said.module => Around { module: name, ..around },
            CategoryKind::PythonFunction if !name.is_empty() => Around { function: name, ..around },
            _ => around,
        }
    }

    /// Steps that the host marks: first and last instant of each mark.
    pub(super) fn step_marks(&self) -> impl Iterator<Item = i64> + '_ {
        let on_host = self.trace.steps.iter().filter(|mark| !self.trace.kind(mark.span).is_on_device());
        on_host.flat_map(|mark| [self.trace.spans.start_ns(mark.span), self.trace.spans.end_ns(mark.span)])
    }
}
