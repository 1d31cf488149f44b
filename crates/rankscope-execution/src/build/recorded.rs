//! [`Recorded`]: what the profiler itself says was waited for.
//!
//! A profiler that is asked to records which event a stream or the host waits for, and which call recorded that event. An event is over
//! when all is over that its stream had been given when it was recorded: the last work that had been launched on it, and what the stream
//! had been told to wait for since. So the host's calls are gone through once, in their order, and each stream remembers both. Where
//! only the stream is named, it is taken as it was when the wait was called.
//!
//! Whose event was recorded before the trace begins waits for nothing that is known. A record is left out and counted where times
//! contradict it: the event is recorded after the wait, or what was waited for had not ended when what waited went on.

use rankscope_trace::{Awaited, ProblemKind, Problems, SpanId, Trace, TrackId, TrackKey, TrackKind};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::PieceId;

use super::devices::{DevicePiece, Devices};
use super::names::Names;

/// What such a synchronisation is called that has a stream wait, and one that has the host wait.
const STREAM_WAITS: &str = "Stream Wait Event";
const HOST_WAITS: &str = "Event Sync";

/// How calls are named that launch a whole graph: what waits within it was not told by calls.
const GRAPH_LAUNCH: &str = "GraphLaunch";

/// What is recorded of what was waited for.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// What each piece waits for, by its place, with its end; empty where no wait of a stream is recorded.
    of_pieces: Vec<Option<(i64, PieceId)>>,
    /// By the number of the host's call: the places of what it waits for.
    of_calls: FxHashMap<u64, Vec<usize>>,
    /// Numbers of the calls that had a stream wait, of which it is recorded for which one.
    told: FxHashSet<u64>,
    /// Waits that are contradicted: how many, and where the first of them is.
    contradicted: Option<(u64, u64)>,
}

impl Recorded {
    /// What `names` has of it about the pieces of `devices`. Nothing is looked at where nothing is recorded.
    pub(super) fn of(names: &Names<'_>, devices: &Devices) -> Self {
        let trace = names.trace;
        if trace.awaited.is_empty() || devices.pieces.is_empty() {
            return Self::default();
        }
        let mut sweep = Sweep::of(trace, &devices.pieces);
        for (_, number, did) in sweep.done() {
            match did {
                Did::Record => sweep.record(number),
                Did::Wait(at) => sweep.wait(at, number),
                Did::Launch(at) => sweep.launch(at),
            }
        }
        sweep.found
    }

    /// What the piece at `at` waits for, with its end.
    pub(super) fn of_piece(&self, at: usize) -> Option<(i64, PieceId)> {
        self.of_pieces.get(at).copied().flatten()
    }

    /// Whether it is recorded what `piece` waits for, even if that is nothing: within a graph it is not.
    pub(super) fn tells(&self, trace: &Trace, piece: &DevicePiece) -> bool {
        let launched_alone = |call| !trace.name(call).contains(GRAPH_LAUNCH);
        !self.of_pieces.is_empty() && piece.launch.is_some_and(launched_alone)
    }

    /// Whether it is recorded what `call` has a stream wait for.
    pub(super) fn tells_of_call(&self, trace: &Trace, call: SpanId) -> bool {
        !self.told.is_empty() && trace.correlations.get(call).is_some_and(|number| self.told.contains(&number))
    }

    /// The places of the pieces that the host waits for in `call`, where that is recorded.
    pub(super) fn of_call(&self, trace: &Trace, call: SpanId) -> Option<&[usize]> {
        if self.of_calls.is_empty() {
            return None;
        }
        self.of_calls.get(&trace.correlations.get(call)?).map(Vec::as_slice)
    }

    /// Notes that the record at `span` cannot be true.
    pub(super) fn contradict(&mut self, trace: &Trace, span: SpanId) {
        let offset = trace.spans.offset[span.0 as usize];
        let (count, first) = self.contradicted.unwrap_or((0, offset));
        self.contradicted = Some((count + 1, first.min(offset)));
    }

    /// Adds what was left out to `problems`.
    pub(super) fn report(&self, problems: &mut Problems) {
        if let Some((count, first)) = self.contradicted {
            problems.add_detailed(ProblemKind::ContradictedWait, first, count, String::new());
        }
    }
}

/// What the host did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Did {
    /// It recorded an event.
    Record,
    /// It had a stream, or itself, wait, as the record at that place says.
    Wait(usize),
    /// It launched the piece at that place.
    Launch(usize),
}

/// A record of a wait for an event.
#[derive(Clone, Copy, Debug)]
struct Wait {
    span: SpanId,
    /// The number of the call.
    number: Option<u64>,
    /// The stream that waits; none where the host does.
    waiting: Option<TrackId>,
    /// The stream that the event was recorded on.
    stream: TrackId,
    /// The number of the call that recorded it.
    recorded_by: Option<u64>,
}

impl Wait {
    /// The record at `span`, where it says for which stream.
    fn of(trace: &Trace, span: SpanId, awaited: Awaited) -> Option<Self> {
        let track = trace.spans.track[span.0 as usize];
        let waiting = match trace.name(span) {
            STREAM_WAITS => Some(track),
            HOST_WAITS => None,
            _ => return None,
        };
        let device = trace.tracks.get(track).parent;
        let stream = trace.tracks.find(TrackKind::Stream, device, TrackKey::Number(awaited.stream?.into()))?;
        Some(Self { span, number: trace.correlations.get(span), waiting, stream, recorded_by: awaited.recorded_by })
    }
}

/// The place of a piece that a stream was told to wait for, and of the record that says so.
type Told = (usize, usize);

/// What a stream had been given by some moment.
#[derive(Clone, Debug, Default)]
struct Given {
    /// The last piece.
    last: Option<usize>,
    /// What it was told to wait for since: of each other stream what was launched last.
    told: Vec<Told>,
}

struct Sweep<'a> {
    trace: &'a Trace,
    pieces: &'a [DevicePiece],
    waits: Vec<Wait>,
    /// By the number of a call that records an event: on which stream.
    records: FxHashMap<u64, TrackId>,
    given: FxHashMap<TrackId, Given>,
    /// What the events so far stand for, by the numbers of the calls that recorded them.
    events: FxHashMap<u64, Vec<usize>>,
    found: Recorded,
}

impl<'a> Sweep<'a> {
    fn of(trace: &'a Trace, pieces: &'a [DevicePiece]) -> Self {
        let waits: Vec<Wait> = trace.awaited.iter().filter_map(|(span, awaited)| Wait::of(trace, span, awaited)).collect();
        let records = waits.iter().filter_map(|wait| Some((wait.recorded_by?, wait.stream))).collect();
        let mut found = Recorded::default();
        if waits.iter().any(|wait| wait.waiting.is_some()) {
            found.of_pieces = vec![None; pieces.len()];
            found.told = waits.iter().filter(|wait| wait.waiting.is_some()).filter_map(|wait| wait.number).collect();
        }
        let (given, events) = Default::default();
        Self { trace, pieces, waits, records, given, events, found }
    }

    /// What the host did that matters here, in order: when, the number of the call, and what.
    fn done(&mut self) -> Vec<(i64, u64, Did)> {
        let trace = self.trace;
        let number = |span: Option<SpanId>| span.and_then(|span| trace.correlations.get(span)).unwrap_or(u64::MAX);
        let launched = self.pieces.iter().enumerate();
        let launched = launched.filter_map(|(at, piece)| Some((piece.launched_ns?, number(piece.launch), Did::Launch(at))));
        let mut done: Vec<(i64, u64, Did)> = launched.collect();
        let waiting: FxHashMap<u64, usize> = (0..).zip(&self.waits).filter_map(|(at, wait)| Some((wait.number?, at))).collect();
        let mut called = vec![false; self.waits.len()];
        let mut recorded: FxHashSet<u64> = FxHashSet::default();
        for (call, number) in trace.correlations.iter().filter(|(span, _)| trace.kind(*span).is_launch()) {
            let start_ns = trace.spans.start_ns(call);
            if self.records.contains_key(&number) && recorded.insert(number) {
                done.push((start_ns, number, Did::Record));
            }
            if let Some(at) = waiting.get(&number).filter(|at| !std::mem::replace(&mut called[**at], true)) {
                done.push((start_ns, number, Did::Wait(*at)));
            }
        }
        // Without the host's call, the record itself says when.
        let alone = self.waits.iter().enumerate().filter(|(at, _)| !called[*at]);
        done.extend(alone.map(|(at, wait)| (trace.spans.start_ns(wait.span), number(Some(wait.span)), Did::Wait(at))));
        done.sort_unstable();
        // What is left are events of calls that are not in the trace.
        self.records.retain(|number, _| recorded.contains(number));
        done
    }

    /// What `stream` has been given so far.
    fn given(&self, stream: TrackId) -> Vec<usize> {
        let given = self.given.get(&stream).into_iter();
        given.flat_map(|given| given.last.into_iter().chain(given.told.iter().map(|(at, _)| *at))).collect()
    }

    fn record(&mut self, number: u64) {
        let given = self.records.get(&number).map(|stream| self.given(*stream));
        self.events.insert(number, given.unwrap_or_default());
    }

    fn wait(&mut self, at: usize, number: u64) {
        let Wait { span, waiting, stream, recorded_by, .. } = self.waits[at];
        let awaited = match recorded_by {
            Some(by) => self.events.get(&by).cloned(),
            None => Some(self.given(stream)),
        };
        match (awaited, waiting) {
            (Some(awaited), Some(own)) => awaited.into_iter().for_each(|piece| self.tell(own, (piece, at))),
            (Some(awaited), None) => drop(self.found.of_calls.insert(number, awaited)),
            (None, _) if recorded_by.is_some_and(|by| self.records.contains_key(&by)) => {
                self.found.contradict(self.trace, span);
            }
            // The event was recorded before the trace begins.
            (None, _) => {}
        }
    }

    /// `stream` waits for that piece from here on.
    fn tell(&mut self, stream: TrackId, (piece, by): Told) {
        let track = self.pieces[piece].track;
        if track == stream {
            return;
        }
        let told = &mut self.given.entry(stream).or_default().told;
        match told.iter_mut().find(|(other, _)| self.pieces[*other].track == track) {
            Some(known) if known.0 >= piece => {}
            Some(known) => *known = (piece, by),
            None => told.push((piece, by)),
        }
    }

    fn launch(&mut self, at: usize) {
        let piece = &self.pieces[at];
        let given = self.given.entry(piece.track).or_default();
        given.last = Some(at);
        for (other, by) in std::mem::take(&mut given.told) {
            let other = &self.pieces[other];
            if other.end_ns <= piece.start_ns {
                self.found.of_pieces[at] = self.found.of_pieces[at].max(Some((other.end_ns, other.id)));
            } else {
                self.found.contradict(self.trace, self.waits[by].span);
            }
        }
    }
}

#[cfg(test)]
mod tests;
