//! What time daemons say of the clocks of nodes, beside what was measured.
//!
//! Each node's daemon says what time it is, within an error of its own. Brought on to the clock of the reference by what was
//! measured, the words of two nodes must not be further apart than the errors of both and the bound between their clocks: else one
//! of the three is wrong. Only words of one witness are compared: two grandmasters need not agree. Nothing is corrected by it, for
//! most daemons are less exact by far.

use std::collections::BTreeMap;

use rankscope_time::{Knot, Span};

use super::Oddity;
use crate::NodeId;
use crate::files::Witness;
use crate::nodes::{NodeEstimate, Solution};

/// An estimate says nothing of readings further away than this.
const NEAR: Span = Span::from_nanos(30_000_000_000);

/// What a rate may be wrong by where it is not known at all.
const RATE_PPM: f64 = 100.0;

/// What a rate that is known may change by within [`NEAR`].
const WANDER_PPM: f64 = 1.0;

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

/// What `witnesses` say beside `solutions`, each by node: nodes that a witness contradicts, and of all others the one that it is
/// furthest away from.
pub fn beside(
    solutions: &[Solution],
    reference: NodeId,
    witnesses: &BTreeMap<Witness, BTreeMap<NodeId, Vec<Knot>>>,
) -> Vec<Oddity> {
    let said = |(witness, of_nodes): (&Witness, &BTreeMap<_, _>)| beside_one(solutions, reference, *witness, of_nodes);
    witnesses.iter().flat_map(said).collect()
}

fn beside_one(
    solutions: &[Solution],
    reference: NodeId,
    witness: Witness,
    of_nodes: &BTreeMap<NodeId, Vec<Knot>>,
) -> Vec<Oddity> {
    let Some(readings) = of_nodes.get(&reference) else { return Vec::new() };
    let estimates = in_order_of_time(solutions, of_nodes);
    let words = |node: NodeId, readings: &[Knot]| -> Vec<Word> {
        let own = estimates.get(&node).map_or(&[][..], Vec::as_slice);
        readings.iter().filter_map(|reading| word(reading, node == reference, own)).collect()
    };
    let mut of_reference = words(reference, readings);
    of_reference.sort_by_key(|word| word.at_ns);
    let others = of_nodes.iter().filter(|(node, _)| **node != reference);
    let compared = others.filter_map(|(node, readings)| {
        let compared = words(*node, readings).into_iter().filter_map(|word| compare(&word, &of_reference));
        compared.max_by_key(|(apart, allowed)| apart.as_nanos() - allowed.as_nanos()).map(|worst| (*node, worst))
    });
    let (against, agreeing): (Vec<_>, Vec<_>) = compared.partition(|(_, (apart, allowed))| apart > allowed);
    let nodes = agreeing.len();
    let furthest = agreeing.into_iter().max_by_key(|(_, (apart, _))| *apart);
    let agrees = furthest.map(|(node, (apart, allowed))| Oddity::WitnessAgrees { witness, nodes, node, apart, allowed });
    let contradicts = |(node, (apart, allowed))| Oddity::WitnessContradicts { witness, node, apart, allowed };
    against.into_iter().map(contradicts).chain(agrees).collect()
}

/// By node that has a witness, what is known of its clock.
fn in_order_of_time<'a>(
    solutions: &'a [Solution],
    of_witness: &BTreeMap<NodeId, Vec<Knot>>,
) -> BTreeMap<NodeId, Vec<&'a NodeEstimate>> {
    let mut of_nodes: BTreeMap<NodeId, Vec<&NodeEstimate>> = BTreeMap::new();
    let is_used = |estimate: &&NodeEstimate| !estimate.degraded && of_witness.contains_key(&estimate.node);
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
    let (least_ppb, most_ppb) = nearest.skew_bound_ppb;
    let rate_ppm = (most_ppb - nearest.skew_ppb).max(nearest.skew_ppb - least_ppb) / 1e3 + WANDER_PPM;
    let at_ns = host_ns.checked_sub(nearest.offset.as_nanos().checked_add(gained_ns)?)?;
    Some((at_ns, bound.as_nanos().checked_add(gained_max_ns(away, rate_ppm))?))
}

/// How far two words are apart, and how far they may be. Those of the reference are in order of time.
fn compare(word: &Word, of_reference: &[Word]) -> Option<(Span, Span)> {
    let (ahead_ns, allowed_ns) = said_at(word.at_ns, of_reference)?;
    let allowed_ns = [word.theirs_ns, word.ours_ns].into_iter().try_fold(allowed_ns, i64::checked_add)?;
    let apart_ns = i64::try_from(word.ahead_ns.abs_diff(ahead_ns)).ok()?;
    Some((Span::from_nanos(apart_ns), Span::from_nanos(allowed_ns)))
}

/// What the reference's witness says at a moment, and what that may be wrong by: on the line through the words before and after, for
/// what its clock gains on the reference's is then known, or what the nearest says.
fn said_at(at_ns: i64, words: &[Word]) -> Option<(i64, i64)> {
    let (nearest, away) = nearest(words, at_ns, |word| word.at_ns)?;
    if away.abs() > NEAR {
        return None;
    }
    let after = words.partition_point(|word| word.at_ns < at_ns);
    let around = after.checked_sub(1).and_then(|before| Some((words[before], *words.get(after)?)));
    let Some((before, after)) =
        around.filter(|(before, after)| after.at_ns.abs_diff(before.at_ns) <= NEAR.as_nanos().unsigned_abs())
    else {
        return Some((nearest.ahead_ns, nearest.theirs_ns.checked_add(gained_max_ns(away, RATE_PPM))?));
    };
    let gained = i128::from(after.ahead_ns) - i128::from(before.ahead_ns);
    let (since, between) = (i128::from(at_ns) - i128::from(before.at_ns), i128::from(after.at_ns) - i128::from(before.at_ns));
    let gained_ns = i64::try_from(gained * since / between.max(1)).ok()?;
    let theirs_ns = before.theirs_ns.max(after.theirs_ns).checked_add(gained_max_ns(away, WANDER_PPM))?;
    Some((before.ahead_ns.checked_add(gained_ns)?, theirs_ns))
}

/// What a clock may gain in `away`. A rate of which nothing is known is one of any oscillator.
fn gained_max_ns(away: Span, rate_ppm: f64) -> i64 {
    let rate_ppm = if rate_ppm.is_finite() { rate_ppm.clamp(0.0, RATE_PPM) } else { RATE_PPM };
    (away.as_nanos() as f64 / 1e6 * rate_ppm).abs().ceil() as i64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::files::ClockIdentity;
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
        // 2 us of ours and 10 us of each of theirs.
        for (error_ns, agrees) in [(0, true), (21_000, true), (-21_000, true), (30_000, false), (-30_000, false)] {
            let of_nodes = BTreeMap::from([(NodeId(0), said(0, 0, 10_000)), (NodeId(1), said(5_000_000, error_ns, 10_000))]);
            let found = beside(&rounds(), NodeId(0), &BTreeMap::from([(Witness::Chrony, of_nodes)]));
            match found.as_slice() {
                [Oddity::WitnessAgrees { nodes: 1, node, apart, .. }] if agrees => {
                    assert!(*node == NodeId(1) && (apart.as_nanos() - error_ns.abs()).abs() < 100, "{apart:?} for {error_ns}");
                }
                [Oddity::WitnessContradicts { node, apart, allowed, .. }] if !agrees => {
                    assert!(*node == NodeId(1) && apart > allowed, "{found:?}");
                }
                _ => panic!("{error_ns}: {found:?}"),
            }
        }
    }

    #[test]
    fn without_the_reference_or_an_estimate_near_by_there_is_nothing_to_compare() {
        let second = (NodeId(1), said(5_000_000, 0, 10_000));
        assert_eq!(beside_one(&rounds(), NodeId(0), Witness::Chrony, &BTreeMap::from([second.clone()])), []);
        let both = BTreeMap::from([(NodeId(0), said(0, 0, 10_000)), second]);
        assert_eq!(beside_one(&[], NodeId(0), Witness::Chrony, &both), []);
        let late = rounds().into_iter().map(|mut round| {
            round.nodes[0].at = round.nodes[0].at + Span::from_nanos(100 * SECOND);
            round
        });
        assert_eq!(beside_one(&late.collect::<Vec<_>>(), NodeId(0), Witness::Chrony, &both), []);
    }

    #[test]
    fn words_of_two_grandmasters_are_not_compared() {
        let ptp = |last: u8| Witness::Ptp { grandmaster: ClockIdentity([0, 0, 0, 0xff, 0xfe, 0, 0, last]) };
        let of = |node: u32, ahead_ns: i64, error_ns: i64| BTreeMap::from([(NodeId(node), said(ahead_ns, error_ns, 100))]);
        let apart = BTreeMap::from([(ptp(1), of(0, 0, 0)), (ptp(2), of(1, 5_000_000, 1_000_000_000))]);
        assert_eq!(beside(&rounds(), NodeId(0), &apart), []);
        let both: BTreeMap<_, _> = of(0, 0, 0).into_iter().chain(of(1, 5_000_000, 1_000_000_000)).collect();
        let found = beside(&rounds(), NodeId(0), &BTreeMap::from([(ptp(1), both)]));
        assert!(matches!(found.as_slice(), [Oddity::WitnessContradicts { witness, .. }] if *witness == ptp(1)), "{found:?}");
    }

    #[test]
    fn a_witness_whose_clock_runs_at_another_rate_is_compared_on_the_line_through_its_words() {
        // The witness gains 50 ppm on the reference: 200 us from word to word. Two seconds later the other node says the same.
        let word = |number: i64, ahead_ns: i64| Word { at_ns: number * 4 * SECOND, ahead_ns, theirs_ns: 1_000, ours_ns: 0 };
        let words: Vec<Word> = (0..4).map(|number| word(number, number * 200_000)).collect();
        let between = Word { at_ns: 6 * SECOND, ahead_ns: 300_000, theirs_ns: 1_000, ours_ns: 500 };
        let (apart, allowed) = compare(&between, &words).unwrap();
        assert_eq!((apart.as_nanos(), allowed.as_nanos()), (0, 1_000 + 1_000 + 500 + 2_000));
        let after = Word { at_ns: 14 * SECOND, ahead_ns: 700_000, ..between };
        let (apart, allowed) = compare(&after, &words).unwrap();
        assert_eq!(
            (apart.as_nanos(), allowed.as_nanos()),
            (100_000, 1_000 + 1_000 + 500 + 200_000),
            "nothing is said after it"
        );
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
            let _found = beside_one(&rounds(), NodeId(0), Witness::Chrony, &BTreeMap::from([(NodeId(0), knots.clone()), (NodeId(1), knots)]));
        }
    }
}
