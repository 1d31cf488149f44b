//! Arguments by name. A name the trace does not know costs one look-up for the whole trace.

use rankscope_trace::{ArgValue, SpanId, StrId, Trace};

/// One argument of the spans of a trace.
#[derive(Clone, Copy)]
pub(super) struct Arg<'a> {
    trace: &'a Trace,
    key: Option<StrId>,
}

impl<'a> Arg<'a> {
    pub(super) fn of(trace: &'a Trace, name: &str) -> Self {
        Self { trace, key: trace.strings.find(name) }
    }

    pub(super) fn value(self, span: SpanId) -> Option<ArgValue> {
        self.trace.spans.args.value(span.0 as usize, self.key?)
    }

    pub(super) fn text(self, span: SpanId) -> Option<&'a str> {
        match self.value(span)? {
            ArgValue::Text(text) | ArgValue::Ref(text) => Some(self.trace.strings.text(text)),
            _ => None,
        }
    }

    /// A whole number, however it is written.
    pub(super) fn integer(self, span: SpanId) -> Option<i64> {
        match self.value(span)? {
            ArgValue::I64(number) => Some(number),
            ArgValue::U64(number) => i64::try_from(number).ok(),
            ArgValue::F64(number) if number.fract() == 0.0 && number.abs() < 9e15 => Some(number as i64),
            ArgValue::Text(text) => self.trace.strings.text(text).trim().parse().ok(),
            _ => None,
        }
    }
}

/// For every string of a trace, whether `is` says yes: names are few beside the spans that have them.
pub(super) struct Names(Vec<bool>);

impl Names {
    pub(super) fn that(trace: &Trace, is: impl Fn(&str) -> bool) -> Self {
        Self(trace.strings.iter().map(|(_, text)| is(text)).collect())
    }

    pub(super) fn contain(&self, name: StrId) -> bool {
        self.0.get(name.0 as usize).copied().unwrap_or(false)
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.0.contains(&true)
    }
}
