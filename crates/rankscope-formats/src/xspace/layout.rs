//! Which plane and line each event of a trace goes to, and what their stamps count from.
//!
//! A trace that came from an XSpace goes back to where it was. Of any other, the busiest process becomes `/host:CPU`, devices
//! become `/device:GPU:n`, and every line counts from the first event: XLA's readers hold stamps as `double`, which would
//! round nanoseconds since the epoch to 256.

use std::cmp::Reverse;

use rankscope_trace::{SourceFormat, SpanId, Trace, Track, TrackId, TrackKey, TrackKind};
use rustc_hash::FxHashSet;

use super::schema;

/// An event on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Span(SpanId),
    /// By index among the instants.
    Instant(u32),
    /// By index among the counter samples.
    Counter(u32),
}

/// A plane to be written.
#[derive(Debug)]
pub(super) struct Plane {
    pub(super) track: TrackId,
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) lines: Vec<Line>,
}

/// A line to be written.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) track: TrackId,
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) label: String,
    pub(super) display_id: i64,
    pub(super) origin_ns: i64,
    pub(super) items: Vec<Item>,
}

/// The whole file.
#[derive(Debug)]
pub(super) struct Layout {
    /// The trace came from an XSpace.
    pub(super) native: bool,
    /// Its statistics are all among the arguments, so none is derived from the columns.
    pub(super) complete: bool,
    /// What the stamps of lines are relative to.
    pub(super) base_ns: i64,
    /// First and last moment of the trace.
    pub(super) bounds_ns: (i64, i64),
    pub(super) planes: Vec<Plane>,
}

impl Layout {
    pub(super) fn of(trace: &Trace) -> Self {
        let native = trace.provenance.format == SourceFormat::XSpace;
        let complete = native && trace.spans.args.rows() == trace.spans.len() && trace.tracks.args.rows() == trace.tracks.len();
        let bounds_ns = bounds(trace);
        let base_ns = if native { trace.provenance.clock_base_ns.unwrap_or(0) } else { base(bounds_ns) };
        let mut layout = Self { native, complete, base_ns, bounds_ns, planes: Vec::new() };
        layout.planes = layout.planes(trace);
        layout
    }

    fn planes(&self, trace: &Trace) -> Vec<Plane> {
        let mut items = self.items_by_track(trace);
        let load = load(trace, &items);
        let mut names = Names::new(trace, &load);
        let mut place_of = vec![usize::MAX; trace.tracks.len()];
        let mut planes: Vec<Plane> = Vec::new();
        for (id, track) in trace.tracks.iter() {
            let own = std::mem::take(&mut items[id.0 as usize]);
            let home = planes.get_mut(place_of[root(trace, id).0 as usize]);
            if let Some(home) = home.filter(|_| track.parent.is_some()) {
                home.lines.push(self.line(trace, id, track, own));
                continue;
            }
            if self.is_rewritten(trace, track) && load[id.0 as usize] == 0 {
                continue;
            }
            place_of[id.0 as usize] = planes.len();
            let name = if self.native { trace.strings.text(track.name).to_owned() } else { names.name(id, track) };
            let mut plane = Plane { track: id, id: self.plane_id(track, planes.len()), name, lines: Vec::new() };
            if !own.is_empty() {
                plane.lines.push(self.extra_line(id, 0, "process", own));
            }
            planes.push(plane);
        }
        self.add_counters(trace, &mut planes, &place_of);
        planes
    }

    /// The writer makes this plane itself where its statistics were not kept.
    fn is_rewritten(&self, trace: &Trace, track: &Track) -> bool {
        self.native && !self.complete && trace.strings.text(track.name) == schema::ENVIRONMENT_PLANE
    }

    fn add_counters(&self, trace: &Trace, planes: &mut [Plane], place_of: &[usize]) {
        for (index, sample) in (0..).zip(&trace.counters) {
            let Some(plane) = planes.get_mut(place_of[root(trace, sample.track).0 as usize]) else { continue };
            let last =
                plane.lines.last_mut().filter(|line| line.name == schema::COUNTER_LINE && line.id == schema::COUNTER_LINE_ID);
            match last {
                Some(line) => line.items.push(Item::Counter(index)),
                None => {
                    let items = vec![Item::Counter(index)];
                    plane.lines.push(self.extra_line(plane.track, schema::COUNTER_LINE_ID, schema::COUNTER_LINE, items));
                }
            }
        }
    }

    fn plane_id(&self, track: &Track, place: usize) -> i64 {
        match (track.sort_index.filter(|_| self.native), track.key) {
            (Some(id), _) | (None, TrackKey::Number(id)) => id,
            (None, TrackKey::Text(_)) => place as i64,
        }
    }

    fn line(&self, trace: &Trace, id: TrackId, track: &Track, items: Vec<Item>) -> Line {
        let (name, label) = (trace.strings.text(track.name), trace.strings.text(track.label));
        let key = match track.key {
            TrackKey::Number(number) => number.to_string(),
            TrackKey::Text(text) => trace.strings.text(text).to_owned(),
        };
        let (name, label) = match track.kind {
            _ if self.native => (name.to_owned(), label.to_owned()),
            TrackKind::Stream => (format!("Stream #{key}"), name.to_owned()),
            _ if name.is_empty() => (format!("thread {key}"), label.to_owned()),
            _ => (name.to_owned(), label.to_owned()),
        };
        Line {
            track: id,
            id: if let TrackKey::Number(number) = track.key { number } else { i64::from(id.0) },
            name,
            label,
            display_id: track.sort_index.unwrap_or(0),
            origin_ns: if self.native { track.origin_ns } else { self.base_ns },
            items,
        }
    }

    fn extra_line(&self, track: TrackId, id: i64, name: &str, items: Vec<Item>) -> Line {
        let (name, label) = (name.to_owned(), String::new());
        Line { track, id, name, label, display_id: 0, origin_ns: self.base_ns, items }
    }

    /// The file's own order, or that of time with what encloses before what is enclosed.
    fn items_by_track(&self, trace: &Trace) -> Vec<Vec<Item>> {
        let mut items = vec![Vec::new(); trace.tracks.len()];
        for (span, track) in trace.spans.ids().zip(&trace.spans.track) {
            items[track.0 as usize].push(Item::Span(span));
        }
        for (index, instant) in (0..).zip(&trace.instants) {
            items[instant.track.0 as usize].push(Item::Instant(index));
        }
        // Instants are ours alone, and lines of ours are in order of time.
        for items in &mut items {
            if !self.native || items.iter().any(|item| matches!(item, Item::Instant(_))) {
                items.sort_by_key(|item| {
                    let (start_ns, start_ps, dur_ns, dur_ps) = times(trace, *item);
                    (start_ns, start_ps, Reverse((dur_ns, dur_ps)))
                });
            }
        }
        items
    }
}

/// Start and length of `item`, each in nanoseconds and picoseconds beyond: start, start, length, length.
pub(super) fn times(trace: &Trace, item: Item) -> (i64, u16, i64, u16) {
    match item {
        Item::Span(span) => {
            let (start_ps, dur_ps) = trace.spans.picos(span);
            (trace.spans.start_ns(span), start_ps, trace.spans.dur_ns[span.0 as usize], dur_ps)
        }
        Item::Instant(index) => (trace.instants[index as usize].time_ns, 0, 0, 0),
        Item::Counter(index) => (trace.counters[index as usize].time_ns, 0, 0, 0),
    }
}

/// The process or device `track` belongs to, or is.
fn root(trace: &Trace, track: TrackId) -> TrackId {
    trace.tracks.get(track).parent.unwrap_or(track)
}

/// How many events each process or device has.
fn load(trace: &Trace, items: &[Vec<Item>]) -> Vec<usize> {
    let mut load = vec![0; trace.tracks.len()];
    for (id, _) in trace.tracks.iter() {
        load[root(trace, id).0 as usize] += items[id.0 as usize].len();
    }
    load
}

fn bounds(trace: &Trace) -> (i64, i64) {
    let marks = trace.instants.iter().map(|instant| instant.time_ns).chain(trace.counters.iter().map(|sample| sample.time_ns));
    let (first, last) = marks.fold((i64::MAX, i64::MIN), |(first, last), time| (first.min(time), last.max(time)));
    let spans = trace.bounds_ns().unwrap_or((first, last));
    (first.min(spans.0), last.max(spans.1))
}

/// The first moment, unless the trace lasts longer than that is after the epoch: then a reader could not tell which stamps are
/// relative, and stamps that small need not be.
fn base((first, last): (i64, i64)) -> i64 {
    if first > 0 && last.saturating_sub(first) < first { first } else { 0 }
}

/// Names for the planes of a trace that has none.
struct Names {
    host: Option<TrackId>,
    taken: FxHashSet<String>,
}

impl Names {
    fn new(trace: &Trace, load: &[usize]) -> Self {
        let hosts = trace.tracks.iter().filter(|(_, track)| track.parent.is_none() && !is_device(track));
        let host = hosts.map(|(id, _)| id).max_by_key(|id| (load[id.0 as usize], Reverse(*id)));
        Self { host, taken: FxHashSet::default() }
    }

    fn name(&mut self, id: TrackId, track: &Track) -> String {
        let number = if let TrackKey::Number(number) = track.key { number } else { i64::from(id.0) };
        let name = match is_device(track) {
            true => format!("/device:GPU:{number}"),
            false if self.host == Some(id) => schema::HOST_PLANE.to_owned(),
            false => format!("{}:{number}", schema::HOST_PLANE),
        };
        let mut unique = name.clone();
        for copy in 2.. {
            if self.taken.insert(unique.clone()) {
                break;
            }
            unique = format!("{name} ({copy})");
        }
        unique
    }
}

fn is_device(track: &Track) -> bool {
    matches!(track.kind, TrackKind::Device | TrackKind::Stream)
}
