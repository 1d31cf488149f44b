//! Small traces made by hand, for tests. Times are in microseconds.

use rankscope_trace::{ArgValue, CategoryKind, SpanId, SpanRow, Trace, TrackId, TrackKey, TrackKind};

/// A trace of one host thread and one device.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) trace: Trace,
}

impl Made {
    pub(crate) fn operator(&mut self, name: &str, start_us: i64, dur_us: i64) -> SpanId {
        let thread = self.track(TrackKind::Process, TrackKind::Thread, 1);
        self.span("cpu_op", name, thread, start_us, dur_us)
    }

    /// An operator on another thread than the first.
    pub(crate) fn operator_on(&mut self, thread: i64, name: &str, start_us: i64, dur_us: i64) -> SpanId {
        let thread = self.track(TrackKind::Process, TrackKind::Thread, thread);
        self.span("cpu_op", name, thread, start_us, dur_us)
    }

    /// A frame of the Python tracer.
    pub(crate) fn frame(&mut self, name: &str, start_us: i64, dur_us: i64) -> SpanId {
        let thread = self.track(TrackKind::Process, TrackKind::Thread, 1);
        self.span("python_function", name, thread, start_us, dur_us)
    }

    /// The numbers that tie `span`, the last one made, to operators of the other direction.
    pub(crate) fn numbers(&mut self, span: SpanId, sequence: i64, thread: i64) {
        self.args(span, &[("Sequence number", ArgValue::I64(sequence)), ("Fwd thread id", ArgValue::I64(thread))]);
    }

    /// An argument of `span`, the last one made.
    pub(crate) fn text(&mut self, span: SpanId, key: &str, text: &str) {
        let text = self.trace.strings.intern(text);
        self.args(span, &[(key, ArgValue::Text(text))]);
    }

    fn args(&mut self, span: SpanId, args: &[(&str, ArgValue)]) {
        while self.trace.spans.args.rows() < span.0 as usize {
            self.trace.spans.args.end_row();
        }
        for (key, value) in args {
            let key = self.trace.strings.intern(key);
            self.trace.spans.args.push(key, *value);
        }
        self.trace.spans.args.end_row();
    }

    pub(crate) fn launch_on(&mut self, thread: i64, name: &str, start_us: i64, dur_us: i64, correlation: u64) -> SpanId {
        let thread = self.track(TrackKind::Process, TrackKind::Thread, thread);
        let span = self.span("cuda_runtime", name, thread, start_us, dur_us);
        self.trace.correlations.push(span, correlation);
        span
    }

    pub(crate) fn annotation(&mut self, name: &str, start_us: i64, dur_us: i64) -> SpanId {
        let thread = self.track(TrackKind::Process, TrackKind::Thread, 1);
        self.span("user_annotation", name, thread, start_us, dur_us)
    }

    pub(crate) fn launch(&mut self, name: &str, start_us: i64, dur_us: i64, correlation: u64) -> SpanId {
        self.launch_on(1, name, start_us, dur_us, correlation)
    }

    pub(crate) fn kernel(&mut self, name: &str, stream: i64, start_us: i64, dur_us: i64, correlation: u64) -> SpanId {
        self.on_device("kernel", name, stream, start_us, dur_us, correlation)
    }

    /// Work or an annotation of any category on a stream.
    pub(crate) fn on_device(
        &mut self,
        category: &str,
        name: &str,
        stream: i64,
        start_us: i64,
        dur_us: i64,
        correlation: u64,
    ) -> SpanId {
        let stream = self.track(TrackKind::Device, TrackKind::Stream, stream);
        let span = self.span(category, name, stream, start_us, dur_us);
        self.trace.correlations.push(span, correlation);
        span
    }

    /// A kernel on another device than the first.
    pub(crate) fn on_other_device(
        &mut self,
        device: i64,
        name: &str,
        stream: i64,
        start_us: i64,
        dur_us: i64,
        correlation: u64,
    ) -> SpanId {
        let device = self.trace.tracks.find_or_add(TrackKind::Device, None, TrackKey::Number(device));
        let stream = self.trace.tracks.find_or_add(TrackKind::Stream, Some(device), TrackKey::Number(stream));
        let span = self.span("kernel", name, stream, start_us, dur_us);
        self.trace.correlations.push(span, correlation);
        span
    }

    fn track(&mut self, parent: TrackKind, kind: TrackKind, number: i64) -> TrackId {
        let parent = self.trace.tracks.find_or_add(parent, None, TrackKey::Number(0));
        self.trace.tracks.find_or_add(kind, Some(parent), TrackKey::Number(number))
    }

    fn span(&mut self, category: &str, name: &str, track: TrackId, start_us: i64, dur_us: i64) -> SpanId {
        let category = self.trace.category(category, CategoryKind::of_kineto(category));
        let name = self.trace.strings.intern(name);
        let (start_ns, dur_ns) = (start_us * 1_000, dur_us * 1_000);
        self.trace.spans.push(SpanRow { start_ns, dur_ns, name, track, category, offset: 0 })
    }
}
