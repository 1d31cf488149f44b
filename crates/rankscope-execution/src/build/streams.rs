//! What streams wait for on other streams. Few traces record the events that tie streams together; where one does, that is what counts
//! ([`recorded`](super::recorded)). Else they are inferred.
//!
//! 1. **What explains a start.** Of all work on other streams that was launched earlier and had ended when a piece started, the last to
//!    end is what the piece waited for, where it ended after the piece was launched and after the piece before it in its stream, and no
//!    more than [`LAG_NS_MAX`] before the start: nothing else that is recorded held the piece up until then.
//! 2. **What always holds.** A stream whose work never starts before the end of what was last launched on another one depends on that
//!    one throughout, where there were enough cases to tell ([`CASES_MIN`]): the piece could have started earlier otherwise. Such a
//!    dependency is kept even where it did not hold a piece up, as it would under other durations.
//!
//! 3. **What the host ordered** ([`orders`](super::orders)). Where the host told some stream to wait between two launches.
//!
//! Of these the work that ended last counts. Work whose launch is not recorded has no place in the order of launches, and waits for nothing here.

use rankscope_trace::TrackId;

use crate::{Builder, PieceId};

use super::devices::{DevicePiece, Devices};
use super::names::Names;
use super::orders::ordered;
use super::recorded::Recorded;

/// From the end of what is waited for to the start of what waits: about five times what an event takes on cards of today.
const LAG_NS_MAX: i64 = 50_000;

/// Cases that make a rule.
pub(super) const CASES_MIN: u32 = 8;

/// Of so many cases one may be otherwise.
pub(super) const EXCEPTION_OF: u32 = 100;

/// So many pieces that ended last are looked at for one that explains a start.
const LOOKED_AT: usize = 32;

/// Streams that are looked at in pairs: those with most work.
const STREAMS_MAX: usize = 16;

/// Adds what pieces of `devices` wait for.
pub(super) fn tie(names: &Names<'_>, devices: &Devices, recorded: &Recorded, builder: &mut Builder) {
    let pieces = &devices.pieces;
    let ready_ns = ready(pieces);
    let standing = standing(pieces, &ready_ns);
    let binding = binding(pieces, &ready_ns);
    let ordered = ordered(names, devices, recorded);
    let inferred = standing.into_iter().zip(binding);
    for (((at, piece), ordered), (standing, binding)) in pieces.iter().enumerate().zip(ordered).zip(inferred) {
        let last = match recorded.tells(names.trace, piece) {
            true => recorded.of_piece(at).max(ordered),
            false => [standing, binding, ordered].into_iter().flatten().max(),
        };
        if let Some((_, other)) = last {
            builder.wait(piece.id, other);
        }
    }
}

/// What a piece may wait for, with its end.
type Found = Option<(i64, PieceId)>;

/// When each piece could have started, by its launch and its stream; none for those whose launch is not recorded.
fn ready(pieces: &[DevicePiece]) -> Vec<Option<i64>> {
    let mut free_ns: rustc_hash::FxHashMap<TrackId, i64> = rustc_hash::FxHashMap::default();
    let ready = |piece: &DevicePiece| {
        let free_ns = free_ns.entry(piece.track).or_insert(i64::MIN);
        let ready_ns = piece.launched_ns.map(|launched_ns| launched_ns.max(*free_ns));
        *free_ns = piece.end_ns.max(*free_ns);
        ready_ns
    };
    pieces.iter().map(ready).collect()
}

/// The work of another stream that explains when each piece started.
fn binding(pieces: &[DevicePiece], ready_ns: &[Option<i64>]) -> Vec<Found> {
    let mut ended: Vec<&DevicePiece> = pieces.iter().collect();
    ended.sort_by_key(|piece| (piece.end_ns, piece.id));
    let found = |(piece, ready_ns): (&DevicePiece, &Option<i64>)| {
        let ready_ns = (*ready_ns)?;
        let until = ended.partition_point(|other| other.end_ns <= piece.start_ns);
        let from_ns = ready_ns.max(piece.start_ns.saturating_sub(LAG_NS_MAX));
        let explains = |other: &&&DevicePiece| other.track != piece.track && other.launched_ns <= piece.launched_ns;
        let late = ended[..until].iter().rev().take_while(|other| other.end_ns > from_ns).take(LOOKED_AT);
        late.copied().find(|other| explains(&other)).map(|other| (other.end_ns, other.id))
    };
    pieces.iter().zip(ready_ns).map(found).collect()
}

/// What each piece waits for by what always holds between its stream and another.
fn standing(pieces: &[DevicePiece], ready_ns: &[Option<i64>]) -> Vec<Found> {
    let streams = busiest(pieces);
    let count = streams.len();
    let mut found: Vec<Found> = vec![None; pieces.len()];
    if count < 2 {
        return found;
    }
    let stream_of = |piece: &DevicePiece| streams.iter().position(|track| *track == piece.track);
    let mut launched: Vec<usize> = (0..pieces.len()).filter(|at| ready_ns[*at].is_some()).collect();
    launched.sort_by_key(|at| (pieces[*at].launched_ns, *at));
    // In two rounds: which pairs always hold, and then what they mean for each piece.
    let mut cases = vec![(0_u32, 0_u32); count * count];
    for telling in [true, false] {
        let mut last: Vec<Option<usize>> = vec![None; count];
        for at in launched.iter().copied() {
            let piece = &pieces[at];
            let Some(own) = stream_of(piece) else { continue };
            for (other, before) in last.iter().enumerate().filter(|(other, _)| *other != own) {
                let Some(before) = before.map(|before| &pieces[before]) else { continue };
                let (informative, broken) = &mut cases[own * count + other];
                let is_informative = ready_ns[at].is_some_and(|ready_ns| ready_ns < before.end_ns);
                if telling {
                    *informative += u32::from(is_informative);
                    *broken += u32::from(is_informative && piece.start_ns < before.end_ns);
                } else if *informative >= CASES_MIN && *broken * EXCEPTION_OF <= *informative && before.end_ns <= piece.start_ns
                {
                    found[at] = found[at].max(Some((before.end_ns, before.id)));
                }
            }
            last[own] = Some(at);
        }
    }
    found
}

/// The streams with most work, at most [`STREAMS_MAX`].
fn busiest(pieces: &[DevicePiece]) -> Vec<TrackId> {
    let mut tracks: Vec<TrackId> = pieces.iter().map(|piece| piece.track).collect();
    tracks.sort_unstable();
    let mut counts: Vec<(usize, TrackId)> = tracks.chunk_by(|a, b| a == b).map(|own| (own.len(), own[0])).collect();
    counts.sort_unstable_by_key(|(count, track)| (std::cmp::Reverse(*count), *track));
    counts.into_iter().take(STREAMS_MAX).map(|(_, track)| track).collect()
}
