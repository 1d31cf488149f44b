//! Moves that pay for themselves: a rank that holds the last few tokens of a long document fetches all of its context for them.
//! Sent to a rank that has the context anyway, those queries cost less, whether or not anybody is above a limit.

use super::assignment::{Assignment, Transfer};
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
    let mut best: Option<(i64, Transfer)> = None;
    for (place, piece) in pieces.iter().enumerate() {
        // Only the last queries of a rank decide on its context.
        if pieces[place + 1..].iter().any(|later| later.at == piece.at) {
            continue;
        }
        let work = assignment.work.of(piece.start, piece.end);
        for to in pieces.iter().flat_map(|other| [other.at, other.home]).filter(|&to| to != piece.at && rooms.room(to) >= work)
        {
            let transfer = Transfer { document, piece: place, start: piece.start, end: piece.end, to };
            let cost = assignment.cost(&transfer, assignment.reach(document, to));
            let better = cost < best.map_or(0, |best| best.0);
            if better && assignment.may_join(&transfer) && assignment.allows(&transfer) {
                best = Some((cost, transfer));
            }
        }
    }
    best
}
