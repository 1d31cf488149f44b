//! Whom to name of those that stand out.
//!
//! The ranks of a slow one's tensor group are as late as it is, and all ranks of a node may be one such group. So a node or a stage is
//! named where the work of its median rank explains what it costs; where that of one of its ranks does alone, that rank is; and else
//! nobody. A node that is a stage, too, is a heavy stage if it has more to do, and else a slow node.

use super::ranks::{Why, at_median};
use super::{Scene, Worth};
use crate::blame::{Culprit, Suspect};

/// Suspects that are looked at.
const SUSPECTS_MAX: usize = 8;

/// A rank that is worth this share of what its set is worth is what is slow of it.
const ALONE: f64 = 0.8;

/// Those to name, with what a step would save if they worked as long as the median.
pub(super) fn named(scene: &Scene<'_>) -> Vec<(Suspect, Worth)> {
    let mut named: Vec<(Suspect, Worth)> = Vec::new();
    for suspect in scene.input.suspects.iter().take(SUSPECTS_MAX) {
        let Some(worth) = at_median(scene, &suspect.ranks) else { continue };
        let is_explained = suspect.ranks.len() < 2 || Why::of(scene, &suspect.ranks).explains(scene, worth.ns);
        let settled = if is_explained { Some((suspect.clone(), worth)) } else { alone(scene, suspect, worth) };
        let Some((suspect, worth)) = settled else { continue };
        match named.iter_mut().find(|(known, _)| known.ranks == suspect.ranks) {
            Some((known, _)) if is_stage(&suspect) != is_stage(known) => {
                if is_stage(&suspect) == Why::of(scene, &suspect.ranks).has_more_work() {
                    known.culprit = suspect.culprit;
                }
            }
            Some(_) => {}
            None => named.push((suspect, worth)),
        }
    }
    named
}

fn is_stage(suspect: &Suspect) -> bool {
    matches!(suspect.culprit, Culprit::Stage(_))
}

/// The one rank of several that explains what they cost.
fn alone(scene: &Scene<'_>, suspect: &Suspect, worth: Worth) -> Option<(Suspect, Worth)> {
    let more_ns = |rank: usize| scene.sums().more_ns(rank);
    let most = suspect.ranks.iter().copied().max_by_key(|rank| (more_ns(*rank), std::cmp::Reverse(*rank)))?;
    let own = at_median(scene, &[most])?;
    let is_it = own.ns as f64 >= ALONE * worth.ns as f64 && Why::of(scene, &[most]).explains(scene, own.ns);
    is_it.then(|| (Suspect { culprit: Culprit::Rank(most), ranks: vec![most], ..suspect.clone() }, own))
}
