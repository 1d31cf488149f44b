//! [`Devices`]: the pieces of streams.

use rankscope_analyze::spans::thread_label;
use rankscope_analyze::{Class, Work};
use rankscope_tables::{Attributed, Owner};
use rankscope_trace::{SpanId, StrId, TrackId};
use rustc_hash::FxHashMap;

use crate::{Activity, Builder, LaneId, LaneKind, PieceId};

use super::keys::{Keys, TraceKey};
use super::names::{Names, Places};

/// A kernel, a copy or a fill.
#[derive(Clone, Copy, Debug)]
pub(super) struct DevicePiece {
    pub(super) id: PieceId,
    pub(super) track: TrackId,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) class: Class,
    pub(super) name: StrId,
    /// The call that launched it.
    pub(super) launch: Option<SpanId>,
    /// When that call began.
    pub(super) launched_ns: Option<i64>,
}

/// All pieces of streams, in order of their start.
#[derive(Default)]
pub(super) struct Devices {
    pub(super) pieces: Vec<DevicePiece>,
}

impl Devices {
    /// Adds a piece for each of `work`.
    pub(super) fn of(names: &Names<'_>, work: &[Work], keys: &mut Keys<'_>, builder: &mut Builder) -> Self {
        let trace = names.trace;
        let mut lanes: FxHashMap<TrackId, LaneId> = FxHashMap::default();
        let mut tracks: Vec<TrackId> = work.iter().map(|one| trace.spans.track[one.span.0 as usize]).collect();
        tracks.sort_unstable();
        tracks.dedup();
        for track in tracks {
            lanes.insert(track, builder.lane(LaneKind::Stream, thread_label(trace, track)));
        }
        let mut pieces: Vec<DevicePiece> = Vec::with_capacity(work.len());
        let mut places = Places::default();
        // Both list the device work of the trace in the order of the file.
        for (one, owned) in work.iter().zip(&names.attribution.work) {
            let track = trace.spans.track[one.span.0 as usize];
            let dur_ns = one.end_ns.saturating_sub(one.start_ns);
            let key = keys.place(key(names, one, owned, &mut places), builder);
            let collective = names.of_span.get(&one.span).copied();
            let id = builder.piece_of(key, lanes[&track], one.start_ns, dur_ns, collective);
            pieces.push(DevicePiece {
                id,
                track,
                start_ns: one.start_ns,
                end_ns: one.end_ns,
                class: one.class,
                name: names.name(one.span),
                launch: owned.launch,
                launched_ns: owned.launch.map(|launch| trace.spans.start_ns(launch)),
            });
        }
        pieces.sort_by_key(|piece| (piece.start_ns, piece.end_ns, piece.track, piece.id));
        Self { pieces }
    }

    /// Whether nothing but collectives ran, and no call that launched any is recorded.
    pub(super) fn only_communicate(&self) -> bool {
        self.pieces.iter().all(|piece| piece.class == Class::Comm && piece.launch.is_none())
    }
}

fn key(names: &Names<'_>, work: &Work, owned: &Attributed, places: &mut Places) -> TraceKey {
    let activity = match work.class {
        Class::Compute => Activity::Kernel,
        Class::Comm => Activity::Communication,
        Class::Memcpy(_) => Activity::Copy,
        Class::Memset => Activity::Fill,
    };
    let operator = match owned.owner {
        Owner::Operator(span) => Some(span),
        // A call is no operator, and nothing else owns work as `Attribution::of_work` tells it.
        _ => None,
    };
    TraceKey {
        activity,
        name: names.name(work.span),
        operator: operator.map_or(StrId::EMPTY, |span| names.name(span)),
        place: owned.launch.or(operator).map_or(StrId::EMPTY, |span| names.place(span, places)),
    }
}
