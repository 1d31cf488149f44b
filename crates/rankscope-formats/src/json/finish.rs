//! What can be said only when the whole file has been read: absolute times, halves of spans, ends of arrows, names of tracks.

use rankscope_trace::{FlowPhase, FlowPoint, ProblemKind, SpanId, SpanRow, Trace, TrackId, TrackKey, TrackKind};
use rustc_hash::FxHashMap;

use super::piece::{Arrow, AsyncId, Binding, Edge, Naming, Pending, Says};

/// Completes `trace` with what its pieces had put aside.
pub(super) fn finish(trace: &mut Trace, pending: Pending) {
    join_edges(trace, pending.edges);
    tie_arrows(trace, &pending.arrows);
    name_tracks(trace, &pending.namings);
    add_base(trace);
    trace.mark_profiler_steps();
}

/// Stamps are relative to a base that many files state only at their end.
fn add_base(trace: &mut Trace) {
    let Some(base) = trace.provenance.clock_base_ns.filter(|base| *base != 0) else { return };
    for start in &mut trace.spans.start_ns {
        *start = start.saturating_add(base);
    }
    for mark in &mut trace.instants {
        mark.time_ns = mark.time_ns.saturating_add(base);
    }
    for sample in &mut trace.counters {
        sample.time_ns = sample.time_ns.saturating_add(base);
    }
    for point in &mut trace.flows {
        point.time_ns = point.time_ns.saturating_add(base);
    }
}

/// Makes spans of begins and ends: nested ones by their order on the track, asynchronous ones by their operation. An end closes
/// the last begin of its name, and the last of any where it has none or fits none. A begin without an end lasts to the end of
/// the trace, and is counted.
fn join_edges(trace: &mut Trace, mut edges: Vec<Edge>) {
    if edges.is_empty() {
        return;
    }
    // A stable sort: of two edges at one time, the file's order holds.
    edges.sort_by_key(|edge| edge.time_ns);
    let last_ns = edges.iter().map(|edge| edge.time_ns).chain(trace.bounds_ns().map(|(_, end)| end)).max().unwrap_or(0);
    let mut open: FxHashMap<Whose, Vec<Edge>> = FxHashMap::default();
    for edge in edges {
        // Asynchronous halves may lie in different processes; their id and category are what ties them.
        let whose = edge.id.map_or(Whose::Track(edge.track), |id| Whose::Operation(edge.category, id));
        let stack = open.entry(whose).or_default();
        if edge.begins {
            stack.push(edge);
            continue;
        }
        let last_of_name = stack.iter().rposition(|begin| begin.name == edge.name);
        match last_of_name.or_else(|| stack.len().checked_sub(1)) {
            Some(at) => {
                push_joined(trace, &stack.remove(at), edge.time_ns);
            }
            None => trace.provenance.problems.add(ProblemKind::UnbalancedSpan, edge.offset),
        }
    }
    let mut unfinished: Vec<Edge> = open.into_values().flatten().collect();
    unfinished.sort_by_key(|edge| edge.offset);
    for begin in unfinished {
        trace.provenance.problems.add(ProblemKind::UnbalancedSpan, begin.offset);
        let span = push_joined(trace, &begin, last_ns);
        trace.unfinished.push(span);
    }
}

/// Whose begins and ends belong together.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Whose {
    Track(TrackId),
    Operation(u16, AsyncId),
}

fn push_joined(trace: &mut Trace, begin: &Edge, end_ns: i64) -> SpanId {
    let span = trace.spans.push(SpanRow {
        start_ns: begin.time_ns,
        dur_ns: end_ns.saturating_sub(begin.time_ns).max(0),
        name: begin.name,
        track: begin.track,
        category: begin.category,
        offset: begin.offset,
    });
    if trace.spans.args.rows() > 0 {
        trace.spans.args.end_row();
    }
    span
}

/// An arrow names a pid and a tid, which may be a thread or a stream. Where a file has both, launches start on threads and end
/// on streams. One that is bound to the next span is put at its start, where that span is the one that encloses it.
fn tie_arrows(trace: &mut Trace, arrows: &[Arrow]) {
    let mut tracks: FxHashMap<(TrackKey, TrackKey), (Option<TrackId>, Option<TrackId>)> = FxHashMap::default();
    let starts = Starts::of(trace, arrows);
    for arrow in arrows {
        let (host, device) = *tracks.entry((arrow.pid, arrow.tid)).or_insert_with(|| {
            let find = |outer, inner| {
                let parent = trace.tracks.find(outer, None, arrow.pid)?;
                trace.tracks.find(inner, Some(parent), arrow.tid)
            };
            (find(TrackKind::Process, TrackKind::Thread), find(TrackKind::Device, TrackKind::Stream))
        });
        let track = if arrow.phase == FlowPhase::End { device.or(host) } else { host.or(device) };
        // On a thread without events it lies within no span, and is counted with those.
        let track = track.unwrap_or_else(|| thread(trace, arrow));
        let Arrow { id, category, name, phase, mut time_ns, binding, .. } = *arrow;
        if binding == Binding::Next {
            time_ns = starts.next(track, time_ns).unwrap_or(time_ns);
        }
        trace.flows.push(FlowPoint { id, category, name, phase, track, time_ns });
    }
}

fn thread(trace: &mut Trace, arrow: &Arrow) -> TrackId {
    let process = trace.tracks.find_or_add(TrackKind::Process, None, arrow.pid);
    trace.tracks.find_or_add(TrackKind::Thread, Some(process), arrow.tid)
}

/// When the spans of each track begin, in order; nothing where no arrow asks.
struct Starts(Vec<Vec<i64>>);

impl Starts {
    fn of(trace: &Trace, arrows: &[Arrow]) -> Self {
        let mut starts = Vec::new();
        if arrows.iter().any(|arrow| arrow.binding == Binding::Next) {
            starts.resize(trace.tracks.len(), Vec::new());
            for (track, start_ns) in trace.spans.track.iter().zip(&trace.spans.start_ns) {
                starts[track.0 as usize].push(*start_ns);
            }
            starts.iter_mut().for_each(|starts: &mut Vec<i64>| starts.sort_unstable());
        }
        Self(starts)
    }

    /// The first start on `track` that is no earlier than `time_ns`.
    fn next(&self, track: TrackId, time_ns: i64) -> Option<i64> {
        let starts = self.0.get(track.0 as usize)?;
        starts.get(starts.partition_point(|start| *start < time_ns)).copied()
    }
}

/// Kineto names every process and device it could have seen; only those with events have a track to carry the name. A pid may
/// be both a process and a device: labels and thread names tell which is meant.
fn name_tracks(trace: &mut Trace, namings: &[Naming]) {
    for naming in namings {
        for (outer, inner) in [(TrackKind::Process, TrackKind::Thread), (TrackKind::Device, TrackKind::Stream)] {
            let Some(parent) = trace.tracks.find(outer, None, naming.pid) else { continue };
            let track = match naming.tid {
                None => Some(parent),
                Some(tid) => trace.tracks.find(inner, Some(parent), tid),
            };
            let Some(track) = track else { continue };
            if means_other_side(trace, naming, outer) {
                continue;
            }
            let track = trace.tracks.get_mut(track);
            match naming.what {
                Says::Name(name) => track.name = name,
                Says::Label(label) => track.label = label,
                Says::SortIndex(index) => track.sort_index = Some(index),
            }
        }
    }
}

fn means_other_side(trace: &Trace, naming: &Naming, outer: TrackKind) -> bool {
    let other = if outer == TrackKind::Device { TrackKind::Process } else { TrackKind::Device };
    let has_both = trace.tracks.find(other, None, naming.pid).is_some();
    let text = match naming.what {
        Says::Name(text) | Says::Label(text) => trace.strings.text(text),
        Says::SortIndex(_) => return has_both && outer == TrackKind::Device,
    };
    let of_device = text.starts_with("stream ") || text.starts_with("GPU ");
    has_both && of_device != (outer == TrackKind::Device)
}
