//! Finding the lowest limits that a plan can keep to.
//!
//! What is asked is tried first, with whole blocks of 128 tokens and then with smaller ones. Where no block is small enough, the
//! limits are raised, for all ranks alike and no further than needed: up to where a plan is sure to be found, or to where
//! nothing has to move at all.

use super::assignment::Assignment;
use super::gather::gather;
use super::limits::Limits;
use super::ranges::Ideal;
use super::relieve::relieve;
use super::rooms::Rooms;
use super::shed::{Stuck, shed_all};
use crate::planner::BLOCK_TOKENS;

/// Balances with the lowest limits that were found, and returns these.
pub(super) fn balance(assignment: &mut Assignment, limits: &Limits, ideal: &Ideal) -> Result<Vec<u64>, Stuck> {
    let (levels, smallest_block) = (&limits.levels, limits.smallest_block);
    // Above its caps, the layout as it lies is no plan to be compared with.
    let as_it_lies = if assignment.check_caps().is_ok() { levels.as_it_lies } else { f64::INFINITY };
    let goal = levels.goal.min(as_it_lies);
    let limits = levels.limits(goal);
    let mut block = BLOCK_TOKENS;
    loop {
        assignment.cut_in_blocks_of(block);
        if attempt(assignment, &limits, ideal).is_ok() {
            return Ok(limits);
        }
        assignment.rollback();
        if block <= smallest_block {
            break;
        }
        block /= 2;
    }
    let (mut low, mut high) = (goal, levels.sure.min(as_it_lies));
    while high - low > levels.precision() {
        let middle = f64::midpoint(low, high);
        match attempt(assignment, &levels.limits(middle), ideal) {
            Ok(()) => high = middle,
            Err(_) => low = middle,
        }
        assignment.rollback();
    }
    let limits = levels.limits(high);
    attempt(assignment, &limits, ideal)?;
    Ok(limits)
}

/// Ranks above their caps first: what they give away they need not give away again.
fn attempt(assignment: &mut Assignment, limits: &[u64], ideal: &Ideal) -> Result<(), Stuck> {
    let mut rooms = Rooms::new(limits, assignment.loads());
    let documents: Vec<usize> = (0..assignment.len()).collect();
    relieve(assignment, limits, &mut rooms);
    gather(assignment, &documents, limits, &mut rooms);
    shed_all(assignment, limits, ideal, &mut rooms)?;
    gather(assignment, &documents, limits, &mut rooms);
    relieve(assignment, limits, &mut rooms);
    Ok(())
}
