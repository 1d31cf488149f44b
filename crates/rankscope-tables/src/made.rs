//! Small traces made by hand, for tests. Times are in microseconds.

use rankscope_trace::{CategoryKind, SpanId, SpanRow, Trace, TrackId, TrackKey, TrackKind};

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

    pub(crate) fn annotation(&mut self, name: &str, start_us: i64, dur_us: i64) -> SpanId {
        let thread = self.track(TrackKind::Process, TrackKind::Thread, 1);
        self.span("user_annotation", name, thread, start_us, dur_us)
    }

    pub(crate) fn launch(&mut self, name: &str, start_us: i64, dur_us: i64, correlation: u64) -> SpanId {
        let thread = self.track(TrackKind::Process, TrackKind::Thread, 1);
        let span = self.span("cuda_runtime", name, thread, start_us, dur_us);
        self.trace.correlations.push(span, correlation);
        span
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
