//! Which rank set the pace of a change: whose own time changed most in its direction.
//!
//! While one rank gets slower, the others wait for it, so all steps grow alike; what tells it from the others is its time without
//! communication that it exposes. Where that changed on no rank, communication itself did, and a rank that waits less for
//! others shows it best. Ranks that are alike in that are told apart by changes of structure, then by the least waiting.

use super::account::{Mode, RankPair};
use crate::work::Class;

/// Changes of ranks that differ by less than this share of the largest are alike.
const ALIKE: f64 = 0.05;

/// What is less than this share of the step's change does not explain it.
const EXPLAINS: f64 = 0.25;

/// The rank among `pairs` that set the pace.
pub(super) fn rank<'a, 'b>(pairs: &'b [RankPair<'a>], mode: Mode, step_delta_ns: i64) -> Option<&'b RankPair<'a>> {
    let accounts: Vec<_> = pairs.iter().map(|pair| (pair.base_account(mode), pair.test_account(mode))).collect();
    let total = |index: usize| accounts[index].1.total_ns() - accounts[index].0.total_ns();
    let exposed = |index: usize| accounts[index].1.of(Class::ExposedComm) - accounts[index].0.of(Class::ExposedComm);
    let own: Vec<i64> = (0..pairs.len()).map(|index| total(index) - exposed(index)).collect();
    let without_waits: Vec<i64> = (0..pairs.len()).map(|index| total(index) - pairs[index].wait_delta_ns()).collect();
    let delta_ns = if mode == Mode::TraceWithoutMarks { 0 } else { step_delta_ns };
    let leading = leading(&own, delta_ns).or_else(|| leading(&without_waits, delta_ns));
    let leading = leading.unwrap_or_else(|| (0..pairs.len()).collect());
    let first = leading.into_iter().min_by_key(|index| {
        let pair = &pairs[*index];
        (std::cmp::Reverse(pair.structure.len()), pair.wait_ns(), pair.number)
    });
    first.map(|index| &pairs[index])
}

/// The ranks whose change is the largest in the direction of the job's, whatever its direction where the job's is much smaller.
fn leading(changes: &[i64], step_delta_ns: i64) -> Option<Vec<usize>> {
    let size = |change: i64| change.unsigned_abs() as f64;
    let largest = changes.iter().map(|change| size(*change)).fold(0.0, f64::max);
    let job = size(step_delta_ns);
    let is_aside = job < EXPLAINS * largest;
    let along = |change: i64| if is_aside || change.signum() == step_delta_ns.signum() { size(change) } else { 0.0 };
    let best = changes.iter().map(|change| along(*change)).fold(0.0, f64::max);
    if best <= 0.0 || best < EXPLAINS * job {
        return None;
    }
    Some((0..changes.len()).filter(|index| along(changes[*index]) >= (1.0 - ALIKE) * best).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_that_changed_by_itself_leads() {
        assert_eq!(leading(&[0, 3, 100, -2], 98), Some(vec![2]));
        assert_eq!(leading(&[0, -300, 100, -2], 98), Some(vec![2]));
        assert_eq!(leading(&[98, 3, 100, -2], 98), Some(vec![0, 2]));
        // The job's step did not change, as another rank was slower anyway.
        assert_eq!(leading(&[0, 0, 100, 0], 1), Some(vec![2]));
    }

    #[test]
    fn what_does_not_explain_the_change_leads_nowhere() {
        assert_eq!(leading(&[1, 2, 0], 100), None);
        assert_eq!(leading(&[0, 0], 0), None);
        assert_eq!(leading(&[], 5), None);
    }
}
