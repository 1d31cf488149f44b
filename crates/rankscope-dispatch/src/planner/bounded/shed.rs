//! Ranks above their limit give work away until they are not.

use super::assignment::{Assignment, Transfer};
use super::involved::involved;
use super::ranges::{Cuts, Ideal, ranges};
use super::rooms::Rooms;
use crate::splitmix::mixed;

/// Serves the ranks above their limit, the one with the most excess first; fails with the first rank that nobody relieves.
pub(super) fn shed_all(assignment: &mut Assignment, limits: &[u64], ideal: &Ideal, rooms: &mut Rooms) -> Result<(), Stuck> {
    let mut givers: Vec<u32> =
        (0..).zip(limits).filter(|&(rank, limit)| assignment.load(rank) > *limit).map(|(rank, _)| rank).collect();
    givers.sort_by_key(|&rank| std::cmp::Reverse(assignment.load(rank) - limits[rank as usize]));
    for giver in givers {
        shed(assignment, giver, limits, ideal, rooms, Taste::PLAIN)?;
    }
    Ok(())
}

/// Which of nearly equal transfers to prefer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taste {
    pub(super) seed: u64,
    pub(super) spread: f64,
}

impl Taste {
    /// Scores as they are.
    const PLAIN: Self = Self { seed: 0, spread: 0.0 };

    fn of(self, score: f64, transfer: &Transfer) -> f64 {
        if self.spread == 0.0 {
            return score;
        }
        let bits = (u64::from(transfer.to) << 32 | u64::from(transfer.end)) ^ (transfer.document as u64) << 16;
        let unit = (mixed(self.seed ^ bits) >> 40) as f64 / (1_u64 << 24) as f64;
        score + score.abs() * self.spread * unit
    }
}

/// A rank above its limit that nobody takes work from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stuck(pub(super) u32);

/// Moves work away from `giver` until it is within its limit; the bytes that it costs.
pub(super) fn shed(
    assignment: &mut Assignment,
    giver: u32,
    limits: &[u64],
    ideal: &Ideal,
    rooms: &mut Rooms,
    taste: Taste,
) -> Result<i64, Stuck> {
    let mut bytes = 0;
    while assignment.load(giver) > limits[giver as usize] {
        let excess = assignment.load(giver) - limits[giver as usize];
        let Some(transfer) = best(assignment, giver, excess, ideal, rooms, taste) else { return Err(Stuck(giver)) };
        bytes += assignment.cost(&transfer, assignment.reach(transfer.document, transfer.to));
        assignment.apply(&transfer);
        for rank in [transfer.to, giver] {
            rooms.set(rank, limits[rank as usize].saturating_sub(assignment.load(rank)));
        }
    }
    Ok(bytes)
}

/// The transfer that brings `giver` nearest to its limit for the fewest bytes, counting what the rest of its excess will cost.
fn best(assignment: &Assignment, giver: u32, excess: u64, ideal: &Ideal, rooms: &Rooms, taste: Taste) -> Option<Transfer> {
    let mut best: Option<(f64, Transfer)> = None;
    let largest = rooms.largest();
    let least = (excess.min(largest) / CROWDED).max(1);
    let mut receivers: Vec<(u32, u32)> = Vec::new();
    let cuts = Cuts { work: assignment.work, block: assignment.block() };
    let gives = |document: &&usize| assignment.pieces(**document).iter().any(|piece| piece.at == giver);
    for &document in assignment.documents_on(giver).iter().filter(gives).take(DOCUMENTS) {
        let pieces = assignment.pieces(document);
        let ranks = involved(pieces);
        let Some(own) = ranks.iter().find(|own| own.rank == giver) else { continue };
        receivers.clear();
        let takes = |rank: u32| rank != giver && rooms.room(rank) >= least;
        let others = ranks.iter().filter(|other| takes(other.rank)).take(RECEIVERS);
        receivers.extend(others.map(|other| (other.rank, other.reach)));
        let near = assignment.near(giver);
        for rank in rooms.suited(excess, assignment.capped()).chain(near).filter(|&rank| takes(rank)) {
            if receivers.iter().all(|other| other.0 != rank) {
                let reach = ranks.iter().find(|other| other.rank == rank).map_or(0, |other| other.reach);
                receivers.push((rank, reach));
            }
        }
        for (index, piece) in pieces.iter().enumerate().filter(|(_, piece)| piece.at == giver) {
            for &(to, reach) in &receivers {
                ranges(piece, reach, cuts, ideal, excess..=rooms.room(to), |start, end| {
                    let transfer = Transfer { document, piece: index, start, end, to };
                    let moved = assignment.relief(&transfer);
                    let rest = ideal.bytes_in_parts(excess.saturating_sub(moved), largest);
                    let hopeless =
                        |(score, _): (f64, Transfer)| end < piece.end && rest + assignment.least_cost(&transfer) > score;
                    if moved == 0 || best.is_some_and(hopeless) || !assignment.may_join(&transfer) {
                        return;
                    }
                    let score = assignment.cost_with(&transfer, reach, own) as f64 + rest;
                    let score = taste.of(score, &transfer);
                    if best.is_none_or(|best| score < best.0) && assignment.allows(&transfer) {
                        best = Some((score, transfer));
                    }
                });
            }
        }
    }
    best.map(|best| best.1)
}

/// A rank that could take only this part of what the emptiest rank could is not asked.
const CROWDED: u64 = 16;
/// Ranks that have something of a document already and are asked, those with the longest context first: the context of the
/// others costs more.
const RECEIVERS: usize = 64;
/// Documents of a giver that are looked at. Long ones are cheapest to cut.
const DOCUMENTS: usize = 6;
