//! [`Names`]: what the spans of a trace are to its graph, by their categories and names.

use rankscope_analyze::Side;
use rankscope_collectives::RankCollectives;
use rankscope_tables::Attribution;
use rankscope_trace::{CategoryKind, SpanId, StrId, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

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

/// A trace with what is known of its spans.
pub(super) struct Names<'a> {
    pub(super) trace: &'a Trace,
    pub(super) attribution: &'a Attribution,
    pub(super) collectives: &'a RankCollectives,
    pub(super) side: Side,
    /// Number of the collective that a span is.
    pub(super) of_span: FxHashMap<SpanId, usize>,
    marks: FxHashSet<SpanId>,
}

impl<'a> Names<'a> {
    pub(super) fn of(trace: &'a Trace, attribution: &'a Attribution, collectives: &'a RankCollectives, side: Side) -> Self {
        let numbered = collectives.collectives.iter().zip(0..);
        Self {
            trace,
            attribution,
            collectives,
            side,
            of_span: numbered.map(|(collective, at)| (collective.span, at)).collect(),
            marks: trace.steps.iter().map(|mark| mark.span).collect(),
        }
    }

    pub(super) fn name(&self, span: SpanId) -> StrId {
        self.trace.spans.name[span.0 as usize]
    }

    pub(super) fn sort(&self, span: SpanId) -> Sort {
        match self.trace.kind(span) {
            _ if self.of_span.contains_key(&span) => Sort::Collective,
            _ if self.marks.contains(&span) => Sort::Step,
            CategoryKind::CpuOp => Sort::Operator,
            CategoryKind::Runtime | CategoryKind::Driver => Sort::Call,
            CategoryKind::PythonFunction if self.trace.name(span).starts_with(MODULE) => Sort::Module,
            CategoryKind::PythonFunction => Sort::Function,
            _ => Sort::Annotation,
        }
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
    pub(super) fn place(&self, span: SpanId) -> StrId {
        let (mut module, mut function) = (StrId::EMPTY, StrId::EMPTY);
        for around in self.attribution.around(span) {
            let (kind, name) = (self.trace.kind(around), self.name(around));
            let text = || self.trace.strings.text(name);
            if kind == CategoryKind::CpuOp && text().ends_with(RECOMPUTES) {
                return name;
            }
            if kind == CategoryKind::PythonFunction {
                let outer = if text().starts_with(MODULE) { &mut module } else { &mut function };
                *outer = if outer.is_empty() { name } else { *outer };
            }
        }
        if module.is_empty() { function } else { module }
    }

    /// Steps that the host marks: first and last instant of each mark.
    pub(super) fn step_marks(&self) -> impl Iterator<Item = i64> + '_ {
        let on_host = self.trace.steps.iter().filter(|mark| !self.trace.kind(mark.span).is_on_device());
        on_host.flat_map(|mark| [self.trace.spans.start_ns(mark.span), self.trace.spans.end_ns(mark.span)])
    }
}
