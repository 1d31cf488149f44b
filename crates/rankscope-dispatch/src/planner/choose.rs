//! Which rank should hold which tokens, if a loader is free to choose.
//!
//! A planner takes the layout as it is, and the layout decides most of what must move: a document that lies whole on one rank
//! moves nothing, one that is cut for the sake of file order does. So documents are laid out in several ways (`packing`), each
//! is planned, and the best plan is kept. The layout as given is among them unless it is less even than a choice may be.

use super::bounded::{Limits, Options, loads, slowest};
use super::goal::{Goal, Rating};
use super::packing::{Cut, Degree, SHARE_TOKENS, pack};
use crate::{Batch, Error};

/// A layout that was chosen, and its plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chosen {
    /// Where tokens lie; every task stays there.
    pub layout: Batch,
    /// The plan of it.
    pub plan: Batch,
    /// The plan of the documents as given, if there is one within the caps.
    pub given: Option<Batch>,
}

/// Chooses where the documents of `given` should lie, over the same ranks. Each holds at most `tokens_per_rank`, or where nothing
/// is said, at most one part in [`SPARE_PARTS`] more than the mean. The plan keeps to what is asked if any of those tried does,
/// and is the best of them by `goal`.
///
/// # Errors
/// [`Error::NoRoom`] when the ranks together are too small; else those of [`Goal::plan`], when no layout that was tried can be
/// planned.
pub fn choose(given: &Batch, tokens_per_rank: Option<u64>, options: &Options, goal: Goal) -> Result<Chosen, Error> {
    let lengths: Vec<u32> = given.documents().map(|document| document.iter().map(|shard| shard.tokens).sum()).collect();
    let world_size = given.world_size();
    let held = given.linear_tokens();
    let mean = held.iter().sum::<u64>().div_ceil(u64::from(world_size));
    let most = tokens_per_rank.unwrap_or(mean + mean / SPARE_PARTS);
    // Rooms of whole blocks, so that the longest documents, which come first, are cut after whole blocks.
    let room = Some(most / SHARE_TOKENS * SHARE_TOKENS).filter(|room| *room >= mean).unwrap_or(most);
    let cells = given.cells_at_home()?.into_iter().try_fold(0, u64::checked_add);
    let cells = cells.ok_or(Error::Overflow { what: "the cells of all ranks" })?;
    let share = (cells as f64 / f64::from(world_size) * (1.0 + goal.tolerance(options))) as u64;

    let given_plan = goal.plan(given, options);
    let mut best = match &given_plan {
        Ok(plan) if held.iter().all(|held| *held <= most) => {
            Some((Standing::of(given, plan, options, goal)?, given.clone(), plan.clone()))
        }
        _ => None,
    };
    let mut refused = None;
    for (degree, cut) in
        [(Degree::ByTokens, Cut::HeadAndTail), (Degree::ByTokens, Cut::Run), (Degree::ByWork(share), Cut::HeadAndTail)]
    {
        let layout = pack(&lengths, world_size, room, degree, cut)?;
        match goal.plan(&layout, options) {
            Ok(plan) => {
                let standing = Standing::of(&layout, &plan, options, goal)?;
                if best.as_ref().is_none_or(|best| standing < best.0) {
                    best = Some((standing, layout, plan));
                }
            }
            // Caps may leave no way with one layout and leave one with another.
            Err(error) => refused = Some(error),
        }
    }
    match (best, refused) {
        (Some((_, layout, plan)), _) => Ok(Chosen { layout, plan, given: given_plan.ok() }),
        (None, Some(error)) => Err(error),
        (None, None) => unreachable!("every layout that was tried has a plan or was refused"),
    }
}

/// What is compared: for the fewest bytes the balance, as far as it is worse than asked; then what the goal says.
#[derive(PartialEq, PartialOrd)]
struct Standing(f64, Rating);

impl Standing {
    fn of(layout: &Batch, plan: &Batch, options: &Options, goal: Goal) -> Result<Self, Error> {
        let rating = goal.rating(plan, options)?;
        // In time, whatever makes the slowest rank slower counts already.
        if matches!(goal, Goal::ShortestTime(_)) {
            return Ok(Self(0.0, rating));
        }
        let loads = loads(plan, &options.work)?;
        let limits = Limits::new(layout, &options.work, options.eps, &options.weights)?;
        let kept = loads.iter().zip(&limits.target).all(|(load, limit)| load <= limit);
        Ok(Self(if kept { 0.0 } else { slowest(&loads, &options.weights) }, rating))
    }
}

/// Of a mean share of tokens: what a rank may hold beyond it. Ranks that are exactly even would cut many documents for a few
/// tokens; with one part in a hundred the layers outside of attention take at most 1 % longer.
pub const SPARE_PARTS: u64 = 100;
