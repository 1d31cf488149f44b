//! Orders: calls by which the host tells a stream to wait.
//!
//! Most traces record the call (`cudaStreamWaitEvent` and its like) and neither its stream nor its event. Where it stands between two launches
//! on two streams, and nothing else is launched between them, the second stream was most likely told to wait for what had just been
//! launched on the first: so does whoever uses what a collective or a message brought. A pair of streams for which this was seen often,
//! and contradicted hardly ever by work that started before what it should have waited for was over, is tied in all of these places,
//! whether or not the wait held anything up. Threads take turns, as the one that runs the backward pass with the one that asked for it.

use rankscope_trace::{SpanId, TrackId};
use rustc_hash::FxHashMap;

use crate::PieceId;

use super::devices::{DevicePiece, Devices};
use super::names::Names;
use super::recorded::Recorded;
use super::streams::{CASES_MIN, EXCEPTION_OF};

/// How the names of such calls end.
const ORDERS: &str = "StreamWaitEvent";

/// What the host does: something is launched, or a stream is told to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Did {
    Order,
    Launch(usize),
}

/// For each of the pieces of `devices`, by its place, what its stream was told to wait for before it, with its end; by calls of which that
/// is not `recorded`.
pub(super) fn ordered(names: &Names<'_>, devices: &Devices, recorded: &Recorded) -> Vec<Option<(i64, PieceId)>> {
    let pieces = &devices.pieces;
    let followed = followed(names, devices, recorded);
    let mut pairs: FxHashMap<(TrackId, TrackId), (u32, u32)> = FxHashMap::default();
    let contradicts = |before: &DevicePiece, piece: &DevicePiece| piece.start_ns < before.end_ns;
    for (before, piece) in followed.iter().map(|(before, at)| (&pieces[*before], &pieces[*at])) {
        let (cases, broken) = pairs.entry((before.track, piece.track)).or_default();
        *cases += 1;
        *broken += u32::from(contradicts(before, piece));
    }
    let mut found = vec![None; pieces.len()];
    for (before, at) in followed {
        let (before, piece) = (&pieces[before], &pieces[at]);
        let (cases, broken) = pairs.get(&(before.track, piece.track)).copied().unwrap_or_default();
        if cases >= CASES_MIN && broken.saturating_mul(EXCEPTION_OF) <= cases && !contradicts(before, piece) {
            found[at] = Some((before.end_ns, before.id));
        }
    }
    found
}

/// Pieces of two streams that were launched one after the other with an order between them.
fn followed(names: &Names<'_>, devices: &Devices, recorded: &Recorded) -> Vec<(usize, usize)> {
    let trace = names.trace;
    let mut is_order: Vec<Option<bool>> = vec![None; trace.strings.len()];
    let mut orders = |span: &SpanId| {
        let name = names.name(*span);
        *is_order[name.0 as usize].get_or_insert_with(|| trace.strings.text(name).ends_with(ORDERS))
    };
    let calls = trace.spans.ids().filter(|span| trace.kind(*span).is_launch()).filter(|span| orders(span));
    let calls = calls.filter(|span| !recorded.tells_of_call(trace, *span));
    let mut did: Vec<(i64, Did)> = calls.map(|span| (trace.spans.start_ns(span), Did::Order)).collect();
    if did.is_empty() {
        return Vec::new();
    }
    let launched = |(at, piece): (usize, &DevicePiece)| Some((piece.launched_ns?, Did::Launch(at)));
    did.extend(devices.pieces.iter().enumerate().filter_map(launched));
    did.sort_unstable();
    let mut followed = Vec::new();
    let (mut last, mut ordered) = (None, false);
    for (_, did) in did {
        let Did::Launch(at) = did else {
            ordered = true;
            continue;
        };
        let is_other = |before: &usize| devices.pieces[*before].track != devices.pieces[at].track;
        followed.extend(last.filter(|before| ordered && is_other(before)).map(|before| (before, at)));
        (last, ordered) = (Some(at), false);
    }
    followed
}
