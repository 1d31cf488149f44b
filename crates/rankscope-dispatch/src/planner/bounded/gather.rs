//! Moves that pay for themselves: a rank that holds the last few tokens of a long document fetches all of its context for them.
//! Sent to a rank that has the context anyway, those queries cost less, whether or not anybody is above a limit.

use super::assignment::{Assignment, Transfer};
use super::involved::{Involved, involved};
use super::rooms::Rooms;

/// Moves whole pieces of these documents to ranks that have something of them and room, as long as that saves bytes; the change
/// in bytes.
pub(super) fn gather(assignment: &mut Assignment, documents: &[usize], limits: &[u64], rooms: &mut Rooms) -> i64 {
    let mut change = 0;
    for &document in documents {
        while let Some((cost, transfer)) = best(assignment, document, rooms) {
            let from = assignment.pieces(document)[transfer.piece].at;
            assignment.apply(&transfer);
            change += cost;
            for rank in [from, transfer.to] {
                rooms.set(rank, limits[rank as usize].saturating_sub(assignment.load(rank)));
            }
        }
    }
    change
}

/// The transfer within `document` that saves most.
fn best(assignment: &Assignment, document: usize, rooms: &Rooms) -> Option<(i64, Transfer)> {
    let pieces = assignment.pieces(document);
    if pieces.len() < 2 {
        return None;
    }
    let ranks = involved(pieces);
    let largest_room = rooms.largest();
    let mut best: Option<(i64, Transfer)> = None;
    // Only the last queries of a rank decide on its context.
    for giver in &ranks {
        let Some(place) = giver.last else { break };
        let piece = &pieces[place];
        let saved = assignment.context_bytes(document, giver.rank, giver.rest..piece.end);
        if assignment.least_query_bytes(piece) - saved >= best.map_or(0, |best| best.0) {
            continue;
        }
        let work = assignment.work.of(piece.start, piece.end);
        if work > largest_room {
            continue;
        }
        // Most pieces are at home, and a document can lie on thousands of ranks.
        let home = if piece.home == piece.at { None } else { ranks.iter().find(|other| other.rank == piece.home) };
        let others = ranks.iter().take(LOOKED_AT).filter(|other| other.rank != piece.home);
        let fits = |other: &&Involved| other.rank != piece.at && rooms.room(other.rank) >= work;
        for other in home.into_iter().filter(fits).chain(others.filter(fits).take(RECEIVERS)) {
            let transfer = Transfer { document, piece: place, start: piece.start, end: piece.end, to: other.rank };
            let cost = assignment.cost_of_taking(&transfer, other.reach) - saved;
            let better = cost < best.map_or(0, |best| best.0);
            if better && assignment.may_join(&transfer) && assignment.allows(&transfer) {
                best = Some((cost, transfer));
            }
        }
    }
    best
}

/// Ranks that are asked to take a piece, beside its home.
const RECEIVERS: usize = 16;
/// Ranks that are looked at to find these, those with the longest context first.
const LOOKED_AT: usize = 128;
