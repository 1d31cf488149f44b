//! speedscope's own format, <https://www.speedscope.app/file-format-schema.json>: a profile a thread, whose events open and
//! close frames in order of time.
//!
//! Frames of a profile must nest. Spans that overlap without nesting keep their true lengths: the later one moves, with what
//! lies in it, to a further profile of the same thread. Times are nanoseconds since the first span of all.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::io::{self, Write};

use rankscope_analyze::spans::{Nesting, Selection, SpansOf, thread_label};
use rankscope_trace::{SpanId, Strings, Trace};
use rustc_hash::FxHashMap;
use serde::Serialize;

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// Writes the threads of `traces` that `selection` wants. `title` names the file in the viewer, `exporter` what wrote it.
///
/// # Errors
/// What `out` fails with.
pub fn speedscope(
    traces: &[SpansOf<'_>],
    selection: Selection<'_>,
    (title, exporter): (&str, &str),
    out: &mut impl Write,
) -> io::Result<()> {
    let first_ns = traces.iter().filter_map(|of| of.trace.bounds_ns()).map(|(start, _)| start).min().unwrap_or(0);
    let mut frames = Strings::default();
    write!(out, "{{\"$schema\":{},\"name\":{},", json(SCHEMA)?, json(title)?)?;
    write!(out, "\"exporter\":{},\"activeProfileIndex\":0,\"profiles\":[", json(exporter)?)?;
    let mut written = 0;
    for of in traces {
        for (track, spans) in of.nesting.tracks().filter(|(track, _)| !of.nesting.is_async(*track)) {
            let thread = thread_label(of.trace, track);
            if !(selection.thread)(&thread) {
                continue;
            }
            for (number, lane) in lanes_of(of.trace, of.nesting, spans).into_iter().enumerate() {
                let overlapping = if number == 0 { String::new() } else { format!(", overlapping {number}") };
                let profile = Profile {
                    sort: "evented",
                    name: format!("{}: {thread}{overlapping}", of.process),
                    unit: "nanoseconds",
                    start: lane.iter().map(|open| open.start_ns).min().unwrap_or(0).saturating_sub(first_ns),
                    end: lane.iter().map(|open| open.end_ns).max().unwrap_or(0).saturating_sub(first_ns),
                    events: events(of.trace, &lane, first_ns, &mut frames),
                };
                out.write_all(if written == 0 { b"\n" } else { b",\n" })?;
                serde_json::to_writer(&mut *out, &profile)?;
                written += 1;
            }
        }
    }
    out.write_all(b"\n],\"shared\":{\"frames\":[")?;
    for (at, (_, name)) in frames.iter().enumerate() {
        let comma = if at == 0 { "\n" } else { ",\n" };
        let name = if name.is_empty() { "(no name)" } else { name };
        write!(out, "{comma}{{\"name\":{}}}", json(name)?)?;
    }
    out.write_all(b"\n]}}\n")
}

#[derive(Serialize)]
struct Profile {
    #[serde(rename = "type")]
    sort: &'static str,
    name: String,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start: i64,
    #[serde(rename = "endValue")]
    end: i64,
    events: Vec<Event>,
}

#[derive(Serialize)]
struct Event {
    #[serde(rename = "type")]
    sort: &'static str,
    at: i64,
    frame: u32,
}

/// A span as it is drawn: what was rounded up beyond the span it lies in is cut.
#[derive(Clone, Copy)]
struct Drawn {
    span: SpanId,
    start_ns: i64,
    end_ns: i64,
}

/// The spans of one thread, in groups that nest: a span is drawn in the one it lies in, or in a group that is empty just then.
fn lanes_of(trace: &Trace, nesting: &Nesting, spans: &[SpanId]) -> Vec<Vec<Drawn>> {
    let mut lanes: Vec<Lane> = Vec::new();
    let mut lane_of: FxHashMap<SpanId, usize> = FxHashMap::default();
    let (mut busy, mut free) = (BinaryHeap::new(), BTreeSet::new());
    for span in spans {
        let mut drawn = Drawn { span: *span, start_ns: trace.spans.start_ns(*span), end_ns: trace.spans.end_ns(*span) };
        let around = nesting.parent(*span).and_then(|parent| {
            let at = lane_of[&parent];
            let top = lanes[at].top(drawn.start_ns)?;
            (top.span == parent).then_some((at, top.end_ns))
        });
        let at = match around {
            Some((at, end_ns)) => {
                drawn.end_ns = drawn.end_ns.min(end_ns);
                at
            }
            None => {
                while busy.peek().is_some_and(|Reverse((until, _))| *until <= drawn.start_ns) {
                    free.extend(busy.pop().map(|Reverse((_, at))| at));
                }
                let at = free.pop_first().unwrap_or(lanes.len());
                busy.push(Reverse((drawn.end_ns, at)));
                at
            }
        };
        if at == lanes.len() {
            lanes.push(Lane::default());
        }
        lane_of.insert(*span, at);
        lanes[at].open.push(drawn);
        lanes[at].all.push(drawn);
    }
    lanes.into_iter().map(|lane| lane.all).collect()
}

#[derive(Default)]
struct Lane {
    open: Vec<Drawn>,
    all: Vec<Drawn>,
}

impl Lane {
    /// The innermost span that is open at `now_ns`.
    fn top(&mut self, now_ns: i64) -> Option<Drawn> {
        while self.open.pop_if(|open| open.end_ns <= now_ns).is_some() {}
        self.open.last().copied()
    }
}

/// Frames opened and closed, in order of time.
fn events(trace: &Trace, lane: &[Drawn], first_ns: i64, frames: &mut Strings) -> Vec<Event> {
    let mut events = Vec::with_capacity(lane.len() * 2);
    let mut open: Vec<(i64, u32)> = Vec::new();
    let at = |ns: i64| ns.saturating_sub(first_ns);
    for span in lane {
        while let Some((end, frame)) = open.pop_if(|(end, _)| *end <= span.start_ns) {
            events.push(Event { sort: "C", at: at(end), frame });
        }
        let name = trace.spans.name[span.span.0 as usize];
        // The empty string is the first of every table, and a frame like any other.
        let frame = frames.intern(trace.strings.text(name)).0;
        events.push(Event { sort: "O", at: at(span.start_ns), frame });
        open.push((span.end_ns, frame));
    }
    while let Some((end, frame)) = open.pop() {
        events.push(Event { sort: "C", at: at(end), frame });
    }
    events
}

fn json(value: &(impl Serialize + ?Sized)) -> io::Result<String> {
    Ok(serde_json::to_string(value)?)
}
