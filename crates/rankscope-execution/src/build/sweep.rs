//! [`sweep`]: one thread in time, told stretch by stretch what it is in.
//!
//! At any instant a thread is in the span that began last among those that are open on it. Between two stretches a span begins or
//! ends, so that nothing that is recorded happens within one.

use rankscope_trace::{SpanId, StrId};

use crate::Activity;

use super::keys::TraceKey;
use super::names::{Names, Sort};

/// What a thread is in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Doing {
    operator: Option<SpanId>,
    annotation: StrId,
    function: StrId,
    module: StrId,
    call: Option<SpanId>,
    /// The collective around it.
    pub(super) collective: Option<SpanId>,
    /// The innermost span, and what it is.
    pub(super) innermost: Option<(SpanId, Sort)>,
}

impl Doing {
    fn entered(self, names: &Names<'_>, span: SpanId) -> Self {
        let sort = names.sort(span);
        let name = names.name(span);
        let innermost = Some((span, sort));
        match sort {
            Sort::Operator => Self { operator: Some(span), innermost, ..self },
            Sort::Call => Self { call: Some(span), innermost, ..self },
            Sort::Annotation => Self { annotation: name, innermost, ..self },
            Sort::Function => Self { function: name, innermost, ..self },
            Sort::Module => Self { module: name, innermost, ..self },
            Sort::Collective => Self { collective: Some(span), innermost, ..self },
            Sort::Step => Self { innermost, ..self },
        }
    }

    /// What that time goes to: the call, else the innermost operator, else the innermost annotation, else the innermost function.
    pub(super) fn key(&self, names: &Names<'_>) -> TraceKey {
        if let Some(call) = self.call {
            let operator = self.operator.map_or(StrId::EMPTY, |span| names.name(span));
            return TraceKey { operator, ..TraceKey::new(Activity::Call, names.name(call)) };
        }
        let place = if self.module.is_empty() { self.function } else { self.module };
        if let Some(operator) = self.operator {
            return TraceKey { place, ..TraceKey::new(Activity::Operator, names.name(operator)) };
        }
        match (self.annotation, self.function) {
            (StrId::EMPTY, StrId::EMPTY) => TraceKey::new(Activity::Unrecorded, StrId::EMPTY),
            (StrId::EMPTY, function) => TraceKey { place: self.module, ..TraceKey::new(Activity::Python, function) },
            (annotation, _) => TraceKey { place, ..TraceKey::new(Activity::Annotation, annotation) },
        }
    }

    /// The call that it is in.
    pub(super) fn call(&self) -> Option<SpanId> {
        self.call
    }

    /// Whether it is in an operator or a call.
    pub(super) fn is_busy(&self) -> bool {
        self.operator.is_some() || self.call.is_some()
    }
}

struct Frame<T> {
    span: SpanId,
    end_ns: i64,
    doing: Doing,
    note: T,
}

/// Tells `each` the stretches of the thread whose `spans` come by start, longer ones first: from, to, and what it is in. Of what it
/// is in `each` keeps a note, which it gets again with the next stretch in the same.
pub(super) fn sweep<T: Default>(names: &Names<'_>, spans: &[SpanId], mut each: impl FnMut(i64, i64, &Doing, &mut T)) {
    let Some(first) = spans.first() else { return };
    let mut now_ns = names.trace.spans.start_ns(*first);
    let mut open: Vec<Frame<T>> = Vec::new();
    let (nothing, mut of_nothing) = (Doing::default(), T::default());
    for span in spans {
        let start_ns = names.trace.spans.start_ns(*span);
        now_ns = advance(&mut open, now_ns, start_ns, &mut each);
        if start_ns > now_ns {
            each(now_ns, start_ns, &nothing, &mut of_nothing);
            now_ns = start_ns;
        }
        let parent = names.attribution.nesting.parent(*span);
        let around = parent.and_then(|parent| open.iter().rev().find(|frame| frame.span == parent));
        let doing = around.map_or(nothing, |frame| frame.doing).entered(names, *span);
        open.push(Frame { span: *span, end_ns: names.trace.spans.end_ns(*span), doing, note: T::default() });
    }
    advance(&mut open, now_ns, i64::MAX, &mut each);
}

/// Goes on from `now_ns` to `to_ns`, as far as anything is open, and returns where it is.
fn advance<T>(open: &mut Vec<Frame<T>>, mut now_ns: i64, to_ns: i64, each: &mut impl FnMut(i64, i64, &Doing, &mut T)) -> i64 {
    while let Some(top) = open.last_mut() {
        let until_ns = top.end_ns.min(to_ns);
        if until_ns > now_ns {
            each(now_ns, until_ns, &top.doing, &mut top.note);
            now_ns = until_ns;
        }
        if top.end_ns > to_ns {
            break;
        }
        open.pop();
    }
    now_ns
}
