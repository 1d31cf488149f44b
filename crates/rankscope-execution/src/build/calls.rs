//! Calls that return when a device is done, and what each waited for.
//!
//! A call waits for what its event stands for, where that is recorded. Else it waits for work that was launched before it and ended within
//! it: of its stream where a record of the device tells which (CUPTI ties one to the call by its correlation id), else of any. A call
//! within which no such work ended did not wait.

use rankscope_analyze::{Class, Direction};
use rankscope_trace::{CategoryKind, SpanId, TrackId};
use rustc_hash::FxHashMap;

use crate::PieceId;

use super::devices::{DevicePiece, Devices};
use super::names::Names;
use super::recorded::Recorded;

/// Parts of the names of calls that wait.
const WAITS: [&str; 4] = ["Synchronize", "QueueFinish", "EventWait", "WaitForFences"];

/// Calls that wait before they do anything.
const FREES: [&str; 2] = ["cudaFree", "hipFree"];

/// A call that waited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waited {
    pub(super) call: SpanId,
    /// For what.
    pub(super) piece: PieceId,
    /// When that had ended.
    pub(super) until_ns: i64,
}

/// All calls of `names` that waited, by call.
pub(super) fn waits(names: &Names<'_>, devices: &Devices, recorded: &mut Recorded) -> FxHashMap<SpanId, Waited> {
    let trace = names.trace;
    let mut waiting: Vec<Option<bool>> = vec![None; trace.strings.len()];
    let mut is_waiting = |call: SpanId| {
        let name = names.name(call);
        *waiting[name.0 as usize].get_or_insert_with(|| waits_by_name(trace.strings.text(name)))
    };
    let mut found: FxHashMap<SpanId, Waited> = FxHashMap::default();
    let mut ended: Vec<&DevicePiece> = devices.pieces.iter().collect();
    ended.sort_by_key(|piece| (piece.end_ns, piece.id));
    let streams = Streams::of(names);
    let calls = trace.spans.ids().filter(|span| trace.kind(*span).is_launch());
    for call in calls.filter(|span| is_waiting(*span)) {
        let last = match recorded.of_call(trace, call).map(|places| last_of(places, devices)) {
            Some(last) => last.filter(|piece| within(names, call, piece, recorded)),
            None => last_within(names, &ended, call, streams.of_call(names, call)),
        };
        found.extend(last.map(|piece| (call, Waited { call, piece: piece.id, until_ns: piece.end_ns })));
    }
    for piece in devices.pieces.iter().filter(|piece| blocks(names, piece)) {
        let Some(call) = piece.launch else { continue };
        let waited = Waited { call, piece: piece.id, until_ns: piece.end_ns };
        let known = found.entry(call).or_insert(waited);
        if waited.until_ns > known.until_ns {
            *known = waited;
        }
    }
    found
}

fn waits_by_name(name: &str) -> bool {
    WAITS.iter().any(|part| name.contains(part)) || FREES.contains(&name)
}

/// What of the pieces at `places` ended last.
fn last_of<'a>(places: &[usize], devices: &'a Devices) -> Option<&'a DevicePiece> {
    places.iter().map(|at| &devices.pieces[*at]).max_by_key(|piece| (piece.end_ns, piece.id))
}

/// Whether `piece`, which is recorded as what `call` waited for, ended within it. Where it ended after it the record cannot be true.
fn within(names: &Names<'_>, call: SpanId, piece: &DevicePiece, recorded: &mut Recorded) -> bool {
    let spans = &names.trace.spans;
    if piece.end_ns > spans.end_ns(call) {
        recorded.contradict(names.trace, call);
    }
    piece.end_ns > spans.start_ns(call) && piece.end_ns <= spans.end_ns(call)
}

/// How much work that ended within a call is looked at for the last that the call can have waited for.
const LOOKED_AT: usize = 256;

/// The last of `ended` that was launched before `call` and ended within it, on `stream` where there is one.
fn last_within<'a>(
    names: &Names<'_>,
    ended: &[&'a DevicePiece],
    call: SpanId,
    stream: Option<TrackId>,
) -> Option<&'a DevicePiece> {
    let (start_ns, end_ns) = (names.trace.spans.start_ns(call), names.trace.spans.end_ns(call));
    let until = ended.partition_point(|piece| piece.end_ns <= end_ns);
    let within = ended[..until].iter().rev().take_while(|piece| piece.end_ns > start_ns).take(LOOKED_AT);
    let may_be = |piece: &&&DevicePiece| {
        piece.launched_ns.is_none_or(|launched_ns| launched_ns < start_ns) && stream.is_none_or(|stream| piece.track == stream)
    };
    within.copied().find(|piece| may_be(&piece))
}

/// Whether the call that launched `piece` waits for it: a copy that is not asynchronous, or that writes to memory that is not pinned.
fn blocks(names: &Names<'_>, piece: &DevicePiece) -> bool {
    let (Class::Memcpy(direction), Some(call)) = (piece.class, piece.launch) else { return false };
    let (from_ns, to_ns) = (names.trace.spans.start_ns(call), names.trace.spans.end_ns(call));
    let ends_within = piece.end_ns > from_ns && piece.end_ns <= to_ns;
    let text = |span| names.trace.name(span);
    let is_pageable = || direction == Direction::DeviceToHost && names.trace.strings.text(piece.name).contains("Pageable");
    ends_within && text(call).contains("Memcpy") && (!text(call).contains("Async") || is_pageable())
}

/// The streams that records of the device tell of calls.
struct Streams {
    streams: FxHashMap<u64, TrackId>,
}

impl Streams {
    fn of(names: &Names<'_>) -> Self {
        let trace = names.trace;
        let mut works = vec![false; trace.tracks.len()];
        let track = |span: SpanId| trace.spans.track[span.0 as usize];
        names.attribution.work.iter().for_each(|one| works[track(one.work).0 as usize] = true);
        let waits = trace.correlations.iter().filter(|(span, _)| trace.kind(*span) == CategoryKind::Sync);
        let on_stream = waits.map(|(span, id)| (id, track(span))).filter(|(_, track)| works[track.0 as usize]);
        Self { streams: on_stream.collect() }
    }

    fn of_call(&self, names: &Names<'_>, call: SpanId) -> Option<TrackId> {
        self.streams.get(&names.trace.correlations.get(call)?).copied()
    }
}
