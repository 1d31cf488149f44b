//! What chronyd says of the clocks of nodes, beside what was measured.
//!
//! Each node's chronyd says what time it is, within an error of its own. Brought on to the clock of the reference by what was
//! measured, the words of two nodes must not be further apart than the errors of both and the bound between their clocks: else one
//! of the three is wrong. Nothing is corrected by it, for chronyd is a thousand times less exact as a rule.

use std::collections::BTreeMap;

use rankscope_time::{Knot, Span};

use super::Oddity;
use crate::NodeId;
use crate::nodes::{NodeEstimate, Solution};

/// An estimate says nothing of readings further away than this.
const NEAR: Span = Span::from_nanos(30_000_000_000);

/// What a rate may be wrong by away from where an estimate holds, and what a clock may gain between readings of the reference.
const RATE_PPM: i64 = 100;

/// One reading of a witness, on the clock of the reference.
#[derive(Clone, Copy)]
struct Word {
    /// When.
    at_ns: i64,
    /// What it says less what the reference's clock shows.
    ahead_ns: i64,
    theirs_ns: i64,
    ours_ns: i64,
}

/// What `witnesses` say beside `solutions`, each by node: nodes whose chronyd contradicts them, and of all others the one that is
/// furthest away.
pub fn beside(solutions: &[Solution], reference: NodeId, witnesses: &BTreeMap<NodeId, Vec<Knot>>) -> Vec<Oddity> {
    let Some(readings) = witnesses.get(&reference) else { return Vec::new() };
    let estimates = in_order_of_time(solutions, witnesses);
    let words = |node: NodeId, readings: &[Knot]| -> Vec<Word> {
        let own = estimates.get(&node).map_or(&[][..], Vec::as_slice);
        readings.iter().filter_map(|reading| word(reading, node == reference, own)).collect()
    };
    let mut of_reference = words(reference, readings);
    of_reference.sort_by_key(|word| word.at_ns);
    let others = witnesses.iter().filter(|(node, _)| **node != reference);
    let compared = others.filter_map(|(node, readings)| {
        let compared = words(*node, readings).into_iter().filter_map(|word| compare(&word, &of_reference));
        compared.max_by_key(|(apart, allowed)| apart.as_nanos() - allowed.as_nanos()).map(|worst| (*node, worst))
    });
    let (against, agreeing): (Vec<_>, Vec<_>) = compared.partition(|(_, (apart, allowed))| apart > allowed);
    let nodes = agreeing.len();
    let furthest = agreeing.into_iter().max_by_key(|(_, (apart, _))| *apart);
    let agrees = furthest.map(|(node, (apart, allowed))| Oddity::ChronyAgrees { nodes, node, apart, allowed });
    let contradicts = |(node, (apart, allowed))| Oddity::ChronyContradicts { node, apart, allowed };
    against.into_iter().map(contradicts).chain(agrees).collect()
}

/// By node that has a witness, what is known of its clock.
fn in_order_of_time<'a>(
    solutions: &'a [Solution],
    witnesses: &BTreeMap<NodeId, Vec<Knot>>,
) -> BTreeMap<NodeId, Vec<&'a NodeEstimate>> {
    let mut of_nodes: BTreeMap<NodeId, Vec<&NodeEstimate>> = BTreeMap::new();
    let is_used = |estimate: &&NodeEstimate| !estimate.degraded && witnesses.contains_key(&estimate.node);
    for estimate in solutions.iter().flat_map(|round| &round.nodes).filter(is_used) {
        of_nodes.entry(estimate.node).or_default().push(estimate);
    }
    of_nodes.values_mut().for_each(|estimates| estimates.sort_by_key(|estimate| estimate.at));
    of_nodes
}

/// Of what is in order of time the one nearest to a moment, the earlier of two, and how far away it is.
fn nearest<T>(in_order: &[T], at_ns: i64, time_ns: impl Fn(&T) -> i64) -> Option<(&T, Span)> {
    let after = in_order.partition_point(|one| time_ns(one) < at_ns);
    let near_by = &in_order[after.saturating_sub(1)..];
    let found = near_by.iter().take(2).min_by_key(|one| time_ns(one).abs_diff(at_ns))?;
    Some((found, Span::from_nanos(at_ns.checked_sub(time_ns(found))?)))
}

fn word(reading: &Knot, is_reference: bool, estimates: &[&NodeEstimate]) -> Option<Word> {
    let theirs_ns = i64::try_from(reading.uncertainty_ns).ok()?;
    let (at_ns, ours_ns) = if is_reference { (reading.to_ns, 0) } else { on_reference(reading.to_ns, estimates)? };
    Some(Word { at_ns, ahead_ns: reading.from_ns.checked_sub(at_ns)?, theirs_ns, ours_ns })
}

/// What the reference shows when the node's clock shows `host_ns`, and what that may be wrong by.
fn on_reference(host_ns: i64, estimates: &[&NodeEstimate]) -> Option<(i64, i64)> {
    let (nearest, away) = nearest(estimates, host_ns, |estimate| estimate.at.nanos_since_epoch())?;
    if away.abs() > NEAR {
        return None;
    }
    let gained_ns = (nearest.skew_ppb / 1e9 * away.as_nanos() as f64).round() as i64;
    let bound = (nearest.bound.hi - nearest.offset).max(nearest.offset - nearest.bound.lo);
    let at_ns = host_ns.checked_sub(nearest.offset.as_nanos().checked_add(gained_ns)?)?;
    Some((at_ns, bound.as_nanos().checked_add(drift_ns(away))?))
}

/// How far two words are apart, and how far they may be. Those of the reference are in order of time.
fn compare(word: &Word, of_reference: &[Word]) -> Option<(Span, Span)> {
    let (nearest, away) = nearest(of_reference, word.at_ns, |other| other.at_ns)?;
    let allowed_ns =
        [word.theirs_ns, word.ours_ns, nearest.theirs_ns, drift_ns(away)].into_iter().try_fold(0i64, i64::checked_add)?;
    let apart_ns = i64::try_from(word.ahead_ns.abs_diff(nearest.ahead_ns)).ok()?;
    (away.abs() <= NEAR).then_some((Span::from_nanos(apart_ns), Span::from_nanos(allowed_ns)))
}

fn drift_ns(away: Span) -> i64 {
    away.abs().as_nanos() / 1_000_000 * RATE_PPM
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{HostInstant, Interval};

    const SECOND: i64 = 1_000_000_000;

    /// Node 1 is 5 ms ahead, within 2 us, and gains 1 ppm.
    fn rounds() -> Vec<Solution> {
        let round = |number: i64| {
            let (at, offset) = (number * 4 * SECOND, Span::from_nanos(5_000_000 + number * 4_000));
            let node = NodeEstimate {
                node: NodeId(1),
                at: HostInstant::from_nanos_since_epoch(at),
                offset,
                skew_ppb: 1_000.0,
                bound: Interval { lo: offset - Span::from_nanos(2_000), hi: offset + Span::from_nanos(1_000) },
                skew_bound_ppb: (0.0, 2_000.0),
                sigma_ns: 50.0,
                residual_ns: 0.0,
                degraded: false,
            };
            Solution { nodes: vec![node], ..Solution::default() }
        };
        (0..5).map(round).collect()
    }

    /// What a chronyd says that is wrong by `error_ns` and owns up to `own_ns`, of a clock that is `ahead_ns` of the reference.
    fn said(ahead_ns: i64, error_ns: i64, own_ns: u64) -> Vec<Knot> {
        let reading = |number: i64| {
            let true_ns = number * 4 * SECOND;
            let to_ns = true_ns + ahead_ns + if ahead_ns == 0 { 0 } else { number * 4_000 };
            Knot { from_ns: true_ns + 37 * SECOND + error_ns, to_ns, uncertainty_ns: own_ns }
        };
        (0..5).map(reading).collect()
    }

    #[test]
    fn who_keeps_within_the_errors_of_both_agrees_and_who_does_not_contradicts() {
        // 2 us of ours, 10 us of each of theirs, and half a microsecond for the five milliseconds between the readings.
        for (error_ns, agrees) in [(0, true), (21_000, true), (-21_000, true), (30_000, false), (-30_000, false)] {
            let witnesses = BTreeMap::from([(NodeId(0), said(0, 0, 10_000)), (NodeId(1), said(5_000_000, error_ns, 10_000))]);
            let found = beside(&rounds(), NodeId(0), &witnesses);
            match found.as_slice() {
                [Oddity::ChronyAgrees { nodes: 1, node, apart, .. }] if agrees => {
                    assert!(*node == NodeId(1) && (apart.as_nanos() - error_ns.abs()).abs() < 100, "{apart:?} for {error_ns}");
                }
                [Oddity::ChronyContradicts { node, apart, allowed }] if !agrees => {
                    assert!(*node == NodeId(1) && apart > allowed, "{found:?}");
                }
                _ => panic!("{error_ns}: {found:?}"),
            }
        }
    }

    #[test]
    fn without_the_reference_or_an_estimate_near_by_there_is_nothing_to_compare() {
        let second = (NodeId(1), said(5_000_000, 0, 10_000));
        assert_eq!(beside(&rounds(), NodeId(0), &BTreeMap::from([second.clone()])), []);
        let both = BTreeMap::from([(NodeId(0), said(0, 0, 10_000)), second]);
        assert_eq!(beside(&[], NodeId(0), &both), []);
        let late = rounds().into_iter().map(|mut round| {
            round.nodes[0].at = round.nodes[0].at + Span::from_nanos(100 * SECOND);
            round
        });
        assert_eq!(beside(&late.collect::<Vec<_>>(), NodeId(0), &both), []);
    }

    proptest! {
        #[test]
        fn the_nearest_is_who_is_no_further_away_than_all(mut times in prop::collection::vec(-50i64..50, 0..8), at_ns in -60i64..60) {
            times.sort_unstable();
            let plain = times.iter().map(|time| (time.abs_diff(at_ns), *time)).min();
            let found = nearest(&times, at_ns, |time| *time);
            prop_assert_eq!(found.map(|(time, away)| (away.as_nanos().unsigned_abs(), *time)), plain);
        }

        #[test]
        fn no_readings_make_it_panic(readings in prop::collection::vec((any::<i64>(), any::<i64>(), any::<u64>()), 0..6)) {
            let knots: Vec<Knot> =
                readings.iter().map(|(from_ns, to_ns, uncertainty_ns)| Knot { from_ns: *from_ns, to_ns: *to_ns, uncertainty_ns: *uncertainty_ns }).collect();
            let _found = beside(&rounds(), NodeId(0), &BTreeMap::from([(NodeId(0), knots.clone()), (NodeId(1), knots)]));
        }
    }
}
