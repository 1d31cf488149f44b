//! Ranks that send, receive or hold more than they may get rid of pieces, whole ones, wherever those may go.

use super::assignment::{Assignment, Transfer};
use super::rooms::Rooms;

/// Moves pieces that burden ranks above a cap until they are not or nothing helps. Loads stay within `limits`.
pub(super) fn relieve(assignment: &mut Assignment, limits: &[u64], rooms: &mut Rooms) {
    for rank in 0..limits.len() as u32 {
        while let Some(transfer) = best(assignment, rank, rooms) {
            let from = assignment.pieces(transfer.document)[transfer.piece].at;
            assignment.apply(&transfer);
            for rank in [from, transfer.to] {
                rooms.set(rank, limits[rank as usize].saturating_sub(assignment.load(rank)));
            }
        }
    }
}

/// The cheapest transfer after which `rank` is less above its caps.
fn best(assignment: &Assignment, rank: u32, rooms: &Rooms) -> Option<Transfer> {
    let excess = assignment.excess_bytes(rank);
    if excess == 0 {
        return None;
    }
    let mut best: Option<(i64, Transfer)> = None;
    for document in 0..assignment.len() {
        for (place, piece) in assignment.pieces(document).iter().enumerate() {
            if piece.at != rank && piece.home != rank {
                continue;
            }
            let work = assignment.work.of(piece.start, piece.end);
            for to in (0..assignment.loads().len() as u32).filter(|&to| to != piece.at && rooms.room(to) >= work) {
                let transfer = Transfer { document, piece: place, start: piece.start, end: piece.end, to };
                let cost = assignment.cost(&transfer, assignment.reach(document, to));
                if best.is_none_or(|best| cost < best.0)
                    && assignment.excess_bytes_after(rank, &transfer) < excess
                    && assignment.allows(&transfer)
                {
                    best = Some((cost, transfer));
                }
            }
        }
    }
    best.map(|best| best.1)
}
