//! Looking for something better: a few ranks take everything back that they gave away and give anew, in another order and with
//! another taste. What moves fewer bytes stays.

use super::assignment::{Assignment, Transfer};
use super::gather::gather;
use super::ranges::Ideal;
use super::rooms::Rooms;
use super::shed::{Stuck, Taste, shed};
use crate::splitmix::{GOLDEN, SplitMix};

/// Tries at most `steps` times, and ends when it has not found anything for long.
pub(super) fn improve(assignment: &mut Assignment, limits: &[u64], ideal: &Ideal, steps: Option<u32>) {
    let world_size = limits.len() as u32;
    let givers: Vec<u32> = (0..world_size).filter(|&rank| assignment.given(rank).next().is_some()).collect();
    if givers.is_empty() {
        return;
    }
    let mut left = if steps.is_some() { usize::MAX } else { VISITS };
    let steps = steps.unwrap_or_else(|| world_size.min(STEPS_PER_GIVER.saturating_mul(givers.len() as u32)));
    let patience = PATIENCE.max(STEPS_PER_GIVER as usize * givers.len());
    let mut in_vain = 0;
    let mut rooms = Rooms::new(limits, assignment.loads());
    let mut dice = SplitMix::new(GOLDEN);
    for _ in 0..steps {
        if in_vain == patience || left == 0 {
            return;
        }
        let first = givers[dice.below(givers.len())];
        let second = match dice.below(2) {
            0 => neighbour(assignment, first, &mut dice),
            _ => Some(givers[dice.below(givers.len())]),
        };
        let again = [second, Some(first)];
        let again = || again.into_iter().flatten().take(if second == Some(first) { 1 } else { 2 });
        let taste = Taste { seed: dice.bits(), spread: SPREADS[dice.below(SPREADS.len())] };
        let mut change: i64 = again().map(|giver| take_back(assignment, giver, limits, &mut rooms)).sum();
        let given: Result<i64, Stuck> = again().map(|giver| shed(assignment, giver, limits, ideal, &mut rooms, taste)).sum();
        change += given.unwrap_or(i64::MAX / 2);
        for giver in again() {
            let documents = assignment.documents_on(giver).to_vec();
            left = left.saturating_sub(visits(assignment, giver, &documents));
            change += gather(assignment, &documents, limits, &mut rooms);
        }
        in_vain = if change < 0 { 0 } else { in_vain + 1 };
        // What a giver took back may have been too much for it, or for those that it needs context of.
        if change <= 0 && assignment.check_caps().is_ok() {
            assignment.commit();
        } else {
            for rank in assignment.rollback() {
                rooms.set(rank, limits[rank as usize].saturating_sub(assignment.load(rank)));
            }
        }
    }
}

/// Somebody else who gives to a rank that `giver` gives to.
fn neighbour(assignment: &mut Assignment, giver: u32, dice: &mut SplitMix) -> Option<u32> {
    let receivers: Vec<u32> = assignment.given(giver).map(|(document, piece)| assignment.pieces(document)[piece].at).collect();
    let receiver = receivers[dice.below(receivers.len().max(1)).min(receivers.len().checked_sub(1)?)];
    let others = assignment.givers_to(receiver, giver);
    match others.len() {
        0 => None,
        count => Some(others[dice.below(count)]),
    }
}

/// Has `giver` compute again what lies on it; the change in bytes.
fn take_back(assignment: &mut Assignment, giver: u32, limits: &[u64], rooms: &mut Rooms) -> i64 {
    let mut change = 0;
    loop {
        let Some((document, piece)) = assignment.given(giver).next() else { return change };
        let run = assignment.pieces(document)[piece];
        let transfer = Transfer { document, piece, start: run.start, end: run.end, to: giver };
        change += assignment.cost(&transfer, assignment.reach(document, giver));
        assignment.apply(&transfer);
        for rank in [run.at, giver] {
            rooms.set(rank, limits[rank as usize].saturating_sub(assignment.load(rank)));
        }
    }
}

/// Pieces that are looked at when `giver` gives anew: for each that it gives, all of the documents on it.
fn visits(assignment: &Assignment, giver: u32, documents: &[usize]) -> usize {
    let pieces: usize = documents.iter().map(|&document| assignment.pieces(document).len()).sum();
    pieces * (1 + assignment.given(giver).count())
}

/// Looks at pieces after which a search ends, if it is not said how many steps it may take. Few batches come near, but a
/// document that lies on all ranks of a large job has to be looked through for every piece of it.
const VISITS: usize = 4_000_000;
/// Steps for each rank that gives something away; more find little.
const STEPS_PER_GIVER: u32 = 4;
/// Steps without success after which a search ends; more where more ranks give.
const PATIENCE: usize = 64;
/// How far scores are spread: little to follow the best, more to get elsewhere.
const SPREADS: [f64; 3] = [0.0, 0.1, 0.4];
