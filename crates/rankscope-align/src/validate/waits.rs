//! What a device profiler says about synchronisation: waits for events, the calls that record those, and streams that are
//! waited for. Three of torch's six rules.

use rankscope_trace::{CategoryKind, SpanId, Trace};
use rustc_hash::FxHashMap;

use super::args::{Arg, Names};
use super::{Check, Finding, Rule};

/// The synchronisations of a trace, with what they wait for.
struct Waits<'a> {
    trace: &'a Trace,
    events: Vec<(SpanId, &'a str)>,
    streams: Vec<SpanId>,
    device: Arg<'a>,
    stream: Arg<'a>,
}

pub(super) fn check(trace: &Trace) -> [Check; 3] {
    let waits = Waits::of(trace);
    let (named, earlier) = waits.records();
    [named, earlier, waits.idle()]
}

impl<'a> Waits<'a> {
    fn of(trace: &'a Trace) -> Self {
        let kind = Arg::of(trace, "cuda_sync_kind");
        let (device, stream) = (Arg::of(trace, "device"), Arg::of(trace, "stream"));
        let mut waits = Self { trace, events: Vec::new(), streams: Vec::new(), device, stream };
        for span in trace.spans.ids().filter(|span| trace.kind(*span) == CategoryKind::Sync) {
            match kind.text(span) {
                Some(kind @ ("Stream Wait Event" | "Event Sync")) => waits.events.push((span, kind)),
                Some("Stream Sync") => waits.streams.push(span),
                _ => {}
            }
        }
        waits
    }

    /// Whether every wait names a record, and whether what streams wait for was recorded before.
    fn records(&self) -> (Check, Check) {
        let (mut named, mut earlier) = (Check::of(Rule::WaitNamesRecord), Check::of(Rule::RecordBeforeWait));
        let recorded = if self.events.is_empty() { FxHashMap::default() } else { self.recorded() };
        let reference = Arg::of(self.trace, "wait_on_cuda_event_record_corr_id");
        for (span, kind) in &self.events {
            named.judged += 1;
            let id = reference.integer(*span);
            let Some(id) = id.and_then(|id| u64::try_from(id).ok()) else {
                let said = id.map_or_else(|| "nothing".to_owned(), |id| id.to_string());
                let detail = format!("a {kind} that names {said} as the record of its event");
                named.find(1, || Finding::about(self.trace, *span, None, detail));
                continue;
            };
            if *kind == "Event Sync" {
                continue;
            }
            // The recording may have begun between the two.
            let Some(at) = recorded.get(&id) else {
                let detail = format!("waits for an event that call {id} records, which is not in the trace");
                named.find(1, || Finding::about(self.trace, *span, None, detail));
                continue;
            };
            earlier.judged += 1;
            let late_ns = at.saturating_sub(self.trace.spans.start_ns(*span));
            if late_ns > 0 {
                let detail = format!("waits for an event that call {id} records later");
                earlier.find(1, || Finding::about(self.trace, *span, Some(late_ns), detail));
            }
        }
        (named, earlier)
    }

    /// When events are first recorded, by the correlation id or external id of the call.
    fn recorded(&self) -> FxHashMap<u64, i64> {
        let trace = self.trace;
        let records = Names::that(trace, |name| name.starts_with("cudaEventRecord"));
        let mut recorded: FxHashMap<u64, i64> = FxHashMap::default();
        for (span, id) in trace.correlations.iter().chain(trace.external_ids.iter()) {
            if trace.kind(span).is_launch() && records.contain(trace.spans.row(span).name) {
                let at = trace.spans.start_ns(span);
                recorded.entry(id).and_modify(|first| *first = at.min(*first)).or_insert(at);
            }
        }
        recorded
    }

    /// Whether streams are idle when they are synchronised.
    fn idle(&self) -> Check {
        let mut check = Check::of(Rule::StreamIdleAtSync);
        if self.streams.is_empty() {
            return check;
        }
        let kernels = self.kernels();
        for span in &self.streams {
            check.judged += 1;
            let at = self.trace.spans.start_ns(*span);
            let Some(running) = kernels.get(&self.place(*span)).and_then(|kernels| kernels.running(at)) else { continue };
            let detail = format!("{} is still running on the stream", self.trace.name(running.longest));
            check.find(running.count, || Finding::about(self.trace, *span, Some(running.end_ns.saturating_sub(at)), detail));
        }
        check
    }

    /// The device and stream that arguments name; kernels and synchronisations say it in the same words.
    fn place(&self, span: SpanId) -> Place {
        (self.device.integer(span), self.stream.integer(span))
    }

    fn kernels(&self) -> FxHashMap<Place, Kernels> {
        let mut kernels: FxHashMap<Place, Vec<(i64, i64, SpanId)>> = FxHashMap::default();
        for span in self.trace.spans.ids().filter(|span| self.trace.kind(*span) == CategoryKind::Kernel) {
            let (start, end) = (self.trace.spans.start_ns(span), self.trace.spans.end_ns(span));
            // One without length is never running.
            if start < end {
                kernels.entry(self.place(span)).or_default().push((start, end, span));
            }
        }
        kernels.into_iter().map(|(place, kernels)| (place, Kernels::of(kernels))).collect()
    }
}

type Place = (Option<i64>, Option<i64>);

/// The kernels of one stream.
struct Kernels {
    /// Starts, each with the latest end of the kernels up to it and whose that is.
    starts: Vec<(i64, i64, SpanId)>,
    ends: Vec<i64>,
}

struct Running {
    count: u64,
    longest: SpanId,
    end_ns: i64,
}

impl Kernels {
    fn of(mut kernels: Vec<(i64, i64, SpanId)>) -> Self {
        kernels.sort_unstable();
        let mut ends: Vec<i64> = kernels.iter().map(|(_, end, _)| *end).collect();
        ends.sort_unstable();
        let mut latest = (i64::MIN, SpanId(0));
        for (_, end, span) in &mut kernels {
            latest = latest.max((*end, *span));
            (*end, *span) = latest;
        }
        Self { starts: kernels, ends }
    }

    /// Those that started before `at` and end after it.
    fn running(&self, at: i64) -> Option<Running> {
        let started = self.starts.partition_point(|(start, ..)| *start < at);
        let ended = self.ends.partition_point(|end| *end <= at);
        let count = started.checked_sub(ended).filter(|count| *count > 0)? as u64;
        let (_, end_ns, longest) = self.starts[started - 1];
        Some(Running { count, longest, end_ns })
    }
}
