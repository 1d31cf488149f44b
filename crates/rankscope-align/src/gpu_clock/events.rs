//! What the GPU did as events: spans of a trace, with how far off each can be.
//!
//! They are no kernels to whoever analyses the trace: the collectives are there already, as the host saw them, and would count twice. A
//! row holds one communicator's, and another one those that overlap there.

use rankscope_trace::{ArgValue, CategoryKind, Description, SpanId, SpanRow, StrId, Trace, TrackId, TrackKey, TrackKind};
use rustc_hash::FxHashMap;

use super::told::group_of;
use super::{GpuClock, GpuPlaced, GpuSpan};

/// What was added to a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuEvents {
    /// How many operations have a place.
    pub placed: GpuPlaced,
    /// Of each that has, its span, in order of the spans.
    pub events: Vec<GpuEvent>,
}

/// What a GPU did for an operation, as a span of its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuEvent {
    /// It.
    pub span: SpanId,
    /// The operation.
    pub of: SpanId,
    /// How far its start can be from where it is placed.
    pub start_error_ns: i64,
}

/// The name of their device.
const DEVICE: &str = "placed by the bounds of its clock";
/// Their category.
const CATEGORY: &str = "gpu_placed";

impl GpuClock {
    /// Adds to `trace` a span for whatever its GPU did that has a place on its clock, and says what has one; none where no times of the
    /// GPU were told.
    pub fn add_events(trace: &mut Trace) -> Option<GpuEvents> {
        let (clock, spans) = Self::with_spans(trace)?;
        let events = if spans.is_empty() { Vec::new() } else { Adding::to(trace).spans(spans) };
        Some(GpuEvents { placed: clock.placed.unwrap_or_default(), events })
    }
}

struct Adding<'a> {
    trace: &'a mut Trace,
    device: TrackId,
    category: u16,
    /// Of each communicator, its rows, and until when each is taken.
    rows: FxHashMap<StrId, Vec<(TrackId, i64)>>,
    /// The keys of the errors of start and stop.
    keys: [StrId; 2],
}

impl<'a> Adding<'a> {
    fn to(trace: &'a mut Trace) -> Self {
        let title = trace.strings.intern(DEVICE);
        let device = trace.tracks.find_or_add(TrackKind::Device, None, TrackKey::Text(title));
        trace.tracks.get_mut(device).name = title;
        let category = trace.category(CATEGORY, CategoryKind::Other);
        let keys = ["start error ns", "stop error ns"].map(|key| trace.strings.intern(key));
        Self { trace, device, category, rows: FxHashMap::default(), keys }
    }

    fn spans(mut self, mut spans: Vec<GpuSpan>) -> Vec<GpuEvent> {
        while self.trace.spans.args.rows() < self.trace.spans.len() {
            self.trace.spans.args.end_row();
        }
        spans.sort_by_key(|span| (span.start.at_ns, span.span));
        let events = spans.iter().map(|span| self.span(span)).collect();
        let all = self.trace.spans.len();
        let spans = &mut self.trace.spans;
        if !spans.picos.is_empty() {
            spans.picos.resize(all, (0, 0));
        }
        if !spans.description.is_empty() {
            spans.description.resize(all, Description::NONE);
        }
        events
    }

    fn span(&mut self, GpuSpan { span, start, stop }: &GpuSpan) -> GpuEvent {
        let of = self.trace.spans.row(*span);
        let track = self.row(*span, start.at_ns, stop.at_ns);
        let name = format!("{} on the GPU", self.trace.strings.text(of.name));
        let name = self.trace.strings.intern(&name);
        let dur_ns = stop.at_ns.saturating_sub(start.at_ns);
        let row = SpanRow { start_ns: start.at_ns, dur_ns, name, track, category: self.category, offset: of.offset };
        let event = GpuEvent { span: self.trace.spans.push(row), of: *span, start_error_ns: start.error_ns() };
        for (key, at) in self.keys.into_iter().zip([start, stop]) {
            self.trace.spans.args.push(key, ArgValue::I64(at.error_ns()));
        }
        self.trace.spans.args.end_row();
        event
    }

    /// The first row of the communicator of `span` that is free from `start_ns` on, which is taken until `stop_ns` now.
    fn row(&mut self, span: SpanId, start_ns: i64, stop_ns: i64) -> TrackId {
        let group = group_of(self.trace, span);
        let rows = self.rows.entry(group).or_default();
        if let Some((row, taken_ns)) = rows.iter_mut().find(|(_, taken_ns)| *taken_ns <= start_ns) {
            *taken_ns = stop_ns;
            return *row;
        }
        let name = self.trace.strings.text(group);
        let name = if rows.is_empty() { name.to_owned() } else { format!("{name} ({})", rows.len() + 1) };
        let key = TrackKey::Text(self.trace.strings.intern(&name));
        let row = self.trace.tracks.find_or_add(TrackKind::Stream, Some(self.device), key);
        rows.push((row, stop_ns));
        row
    }
}
