//! Two ranks' collectives of one group, in order: which are the same?
//!
//! Usually all are, one for one. When one rank recorded fewer (a later start, an earlier stop, a loss), the order alone does not
//! say which; layers repeat, so signatures do not either. Causality does: under the true clock offset the two stays in one
//! collective overlap, if the operation needs every rank. So an offset is wanted, and a walk under it pairs. It is known where the
//! two ranks were paired before; else ends vote for one; and where neither pairs nearly all or the vote is not clear, each shift
//! of one sequence against the other proposes the offset at which most ends coincide, each is tried, and the one that pairs most
//! wins; among equals the one whose ends lie closest. The offset found here only serves to pair: align estimates clocks.

use crate::LocalCollective;
use crate::vote::{Vote, vote};

/// Shifts tried in either direction when nothing else leads to an offset.
const SHIFTS_MAX: usize = 512;

/// Operations that do not need every rank may miss each other by this much and still be one.
const LOOSE_NS: i64 = 1_000_000;

/// After a walk has paired some, their stays narrow the offset down and may let in more. It settles within a few rounds.
const REFINEMENTS_MAX: usize = 4;

/// Pairs of indices into `ours` and `theirs`, ascending in both; both sequences are in order of their start. `known` is what
/// their clock is ahead of ours, where that is known from elsewhere.
pub(crate) fn pair(ours: &[&LocalCollective], theirs: &[&LocalCollective], known: Option<i64>) -> Vec<(usize, usize)> {
    let alike = ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| a.looks_like(b));
    if alike {
        let in_order: Vec<_> = (0..ours.len()).map(|at| (at, at)).collect();
        if common_offsets(ours, theirs, &in_order).is_some() {
            return in_order;
        }
        let drifting = walk(ours, theirs, proposed_offset(ours, theirs, 0, PARTS[0]).unwrap_or(0));
        if drifting.pairs.len() == ours.len() {
            return in_order;
        }
    }
    by_known(ours, theirs, known).or_else(|| by_vote(ours, theirs)).unwrap_or_else(|| by_search(ours, theirs))
}

/// What their clock is ahead of ours by the ends of `pairs`; `None` where these are too few of too many.
pub(crate) fn offset_of(ours: &[&LocalCollective], theirs: &[&LocalCollective], pairs: &[(usize, usize)]) -> Option<i64> {
    if pairs.len() < PAIRS_MIN || !nearly_all(pairs, ours, theirs) {
        return None;
    }
    let mut differences: Vec<i64> = pairs.iter().map(|(i, j)| theirs[*j].end_ns.saturating_sub(ours[*i].end_ns)).collect();
    let middle = differences.len() / 2;
    Some(*differences.select_nth_unstable(middle).1)
}

/// Fewer pairs than this do not show an offset that others may rely on.
const PAIRS_MIN: usize = 16;

/// Whether `pairs` has nine in ten of what can be paired: more than that is hardly lost, and less hints at a wrong offset.
fn nearly_all(pairs: &[(usize, usize)], ours: &[&LocalCollective], theirs: &[&LocalCollective]) -> bool {
    10 * pairs.len() >= 9 * ours.len().min(theirs.len())
}

fn by_known(ours: &[&LocalCollective], theirs: &[&LocalCollective], known: Option<i64>) -> Option<Vec<(usize, usize)>> {
    let pairs = refined(ours, theirs, walk(ours, theirs, known?)).pairs;
    nearly_all(&pairs, ours, theirs).then_some(pairs)
}

fn by_vote(ours: &[&LocalCollective], theirs: &[&LocalCollective]) -> Option<Vec<(usize, usize)>> {
    let Vote { offsets, is_clear: true } = vote(ours, theirs) else { return None };
    let best = offsets.into_iter().map(|offset| walk(ours, theirs, offset)).reduce(Pairing::better)?;
    let pairs = refined(ours, theirs, best).pairs;
    nearly_all(&pairs, ours, theirs).then_some(pairs)
}

/// By trying every shift. Takes the square of what there is.
fn by_search(ours: &[&LocalCollective], theirs: &[&LocalCollective]) -> Vec<(usize, usize)> {
    let (len, other) = (ours.len() as isize, theirs.len() as isize);
    let most = SHIFTS_MAX as isize;
    let shifts = -(len - 1).min(most)..=(other - 1).min(most);
    let tries = shifts.flat_map(|shift| PARTS.map(|part| (shift, part)));
    let offsets = tries.filter_map(|(shift, part)| proposed_offset(ours, theirs, shift, part)).chain([0]);
    let best = offsets.map(|offset| walk(ours, theirs, offset)).reduce(Pairing::better);
    best.map_or_else(Vec::new, |best| refined(ours, theirs, best).pairs)
}

/// The offsets at which all of `pairs` overlap, if there are any: their clock minus ours.
fn common_offsets(ours: &[&LocalCollective], theirs: &[&LocalCollective], pairs: &[(usize, usize)]) -> Option<(i64, i64)> {
    let stays = pairs.iter().map(|(i, j)| (ours[*i], theirs[*j])).filter(|(a, _)| a.kind.needs_all());
    let (least, most) = stays.fold((i64::MIN, i64::MAX), |(least, most), (a, b)| {
        (least.max(b.start_ns.saturating_sub(a.end_ns)), most.min(b.end_ns.saturating_sub(a.start_ns)))
    });
    (least <= most).then_some((least, most))
}

/// Walks again from the middle of what the pairs leave open, as long as that pairs more.
fn refined(ours: &[&LocalCollective], theirs: &[&LocalCollective], mut best: Pairing) -> Pairing {
    for _ in 0..REFINEMENTS_MAX {
        let Some((least, most)) = common_offsets(ours, theirs, &best.pairs) else { break };
        if least == i64::MIN || best.pairs.len() == ours.len().min(theirs.len()) {
            break;
        }
        let again = walk(ours, theirs, least.midpoint(most));
        if again.pairs.len() <= best.pairs.len() {
            break;
        }
        best = again;
    }
    best
}

/// Which part of the ends must coincide for an offset to be proposed: after several losses no one shift is right for many.
const PARTS: [usize; 2] = [4, 8];

/// Their clock minus ours, if `theirs[i + shift]` is `ours[i]`: the middle of the narrowest range that holds one in `part` of the
/// differences between ends. Ends coincide far better than starts, and some pairs are wrong whatever the shift.
fn proposed_offset(ours: &[&LocalCollective], theirs: &[&LocalCollective], shift: isize, part: usize) -> Option<i64> {
    let mut differences: Vec<i64> = ours
        .iter()
        .enumerate()
        .filter_map(|(at, a)| Some((a, theirs.get(usize::try_from(at as isize + shift).ok()?)?)))
        .filter(|(a, b)| a.may_be(b))
        .map(|(a, b)| b.end_ns.saturating_sub(a.end_ns))
        .collect();
    differences.sort_unstable();
    let width = (differences.len() / part).max(2.min(differences.len().saturating_sub(1)));
    let narrowest =
        (0..differences.len().checked_sub(width)?).min_by_key(|at| differences[at + width].saturating_sub(differences[*at]))?;
    Some(differences[narrowest].midpoint(differences[narrowest + width]))
}

/// The offset follows a pair by this part of what it is off: a clock that drifts by 50 ppm is followed within microseconds, and
/// the noise of the ends hardly moves it.
const FOLLOW: i64 = 32;

struct Pairing {
    pairs: Vec<(usize, usize)>,
    /// How far the ends of the pairs lie apart, in all.
    misfit_ns: i64,
}

impl Pairing {
    /// The one that pairs more; of equals the one whose ends lie closer.
    fn better(self, other: Self) -> Self {
        let key = |pairing: &Self| (pairing.pairs.len(), std::cmp::Reverse(pairing.misfit_ns));
        if key(&other) > key(&self) { other } else { self }
    }
}

/// Walks both sequences under one offset, which follows the ends slowly: clocks drift over a long recording.
fn walk(ours: &[&LocalCollective], theirs: &[&LocalCollective], offset_ns: i64) -> Pairing {
    let mut offset = offset_ns;
    let mut pairing = Pairing { pairs: Vec::with_capacity(ours.len().min(theirs.len())), misfit_ns: 0 };
    let (mut i, mut j) = (0, 0);
    while let (Some(a), Some(b)) = (ours.get(i), theirs.get(j)) {
        let (start, end) = (b.start_ns.saturating_sub(offset), b.end_ns.saturating_sub(offset));
        let loose = if a.kind.needs_all() { 0 } else { LOOSE_NS };
        let meet = start <= a.end_ns.saturating_add(loose) && a.start_ns <= end.saturating_add(loose);
        if meet && a.may_be(b) {
            let apart = end.saturating_sub(a.end_ns);
            pairing.misfit_ns = pairing.misfit_ns.saturating_add(apart.saturating_abs());
            pairing.pairs.push((i, j));
            offset = offset.saturating_add(apart / FOLLOW);
            (i, j) = (i + 1, j + 1);
        } else if a.end_ns < end {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairing
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rankscope_trace::SpanId;

    use super::*;
    use crate::{Kind, Operation};

    fn stay(start_ns: i64, end_ns: i64) -> LocalCollective {
        let elements = Some(1_000);
        let operation = Operation {
            dtype: "Float".into(),
            in_elements: elements,
            out_elements: elements,
            ..Operation::of(Kind::AllReduce)
        };
        LocalCollective::new(SpanId(0), start_ns, end_ns, operation)
    }

    /// What two ranks see of `count` identical collectives, the second rank's clock being `offset` ahead.
    fn two_ranks(gaps: &[(i64, i64, i64)], offset: i64) -> (Vec<LocalCollective>, Vec<LocalCollective>) {
        let mut now = 0;
        gaps.iter()
            .map(|(gap, early, transfer)| {
                now += gap;
                let last = now + early.abs();
                let end = last + transfer;
                let (a, b) = if *early >= 0 { (now, last) } else { (last, now) };
                now = end;
                (stay(a, end), stay(b + offset, end + offset + 700))
            })
            .unzip()
    }

    fn gaps() -> impl Strategy<Value = Vec<(i64, i64, i64)>> {
        prop::collection::vec((200_000i64..4_000_000, -150_000i64..150_000, 20_000i64..900_000), 24..60)
    }

    proptest! {
        #[test]
        fn whatever_one_rank_lost_the_rest_is_paired(
            gaps in gaps(), offset in -3_000_000i64..3_000_000, lost in prop::collection::btree_set(0usize..24, 0..5)
        ) {
            let (ours, theirs) = two_ranks(&gaps, offset);
            let kept: Vec<usize> = (0..theirs.len()).filter(|at| !lost.contains(at)).collect();
            let ours: Vec<_> = ours.iter().collect();
            let theirs: Vec<_> = kept.iter().map(|at| &theirs[*at]).collect();
            let expected: Vec<_> = kept.iter().enumerate().map(|(j, i)| (*i, j)).collect();
            prop_assert_eq!(&pair(&ours, &theirs, None), &expected);
            prop_assert_eq!(&pair(&ours, &theirs, Some(offset + 350)), &expected);
            prop_assert_eq!(by_search(&ours, &theirs), expected);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]

        /// Losses on both sides, of up to one in a hundred; clocks that are off and drift.
        #[test]
        fn a_vote_finds_what_the_search_finds(
            gaps in prop::collection::vec((30_000i64..330_000, -60_000i64..60_000, 20_000i64..120_000), 400..420),
            offset in -3_000_000i64..3_000_000, drift_ppm in -40i64..40,
            lost in prop::collection::btree_set(0usize..400, 0..4), lost_too in prop::collection::btree_set(0usize..400, 1..4)
        ) {
            let (ours, mut theirs) = two_ranks(&gaps, offset);
            for stay in &mut theirs {
                let gained = |ns: i64| ns + ns * drift_ppm / 1_000_000;
                (stay.start_ns, stay.end_ns) = (gained(stay.start_ns), gained(stay.end_ns));
            }
            let kept = |all: &[LocalCollective], lost: &std::collections::BTreeSet<usize>| -> Vec<usize> {
                (0..all.len()).filter(|at| !lost.contains(at)).collect()
            };
            let (of_ours, of_theirs) = (kept(&ours, &lost), kept(&theirs, &lost_too));
            let place = |kept: &[usize], one: usize| kept.binary_search(&one).ok();
            let both = (0..ours.len()).filter_map(|one| Some((place(&of_ours, one)?, place(&of_theirs, one)?)));
            let ours: Vec<_> = of_ours.iter().map(|at| &ours[*at]).collect();
            let theirs: Vec<_> = of_theirs.iter().map(|at| &theirs[*at]).collect();
            let voted = by_vote(&ours, &theirs);
            prop_assert_eq!(voted.as_ref(), Some(&by_search(&ours, &theirs)));
            prop_assert_eq!(voted, Some(both.collect()));
        }
    }

    #[test]
    fn what_repeats_perfectly_is_searched() {
        let regular = |count: i64| (0..count).map(|at| stay(at * 100_000, at * 100_000 + 20_000)).collect::<Vec<_>>();
        let (ours, theirs) = (regular(400), regular(396));
        let [ours, theirs]: [Vec<_>; 2] = [ours.iter().collect(), theirs.iter().collect()];
        assert!(by_vote(&ours, &theirs).is_none());
        assert_eq!(pair(&ours, &theirs, None), by_search(&ours, &theirs));
    }

    #[test]
    fn a_known_offset_that_is_wrong_costs_no_pair() {
        let gaps: Vec<_> = (0..60).map(|at| (200_000 + at * 7_919 % 500_000, at * 991 % 90_000, 40_000)).collect();
        let (ours, theirs) = two_ranks(&gaps, 1_000_000);
        let [ours, theirs]: [Vec<_>; 2] = [ours.iter().collect(), theirs.iter().skip(3).collect()];
        let expected: Vec<_> = (3..60).map(|at| (at, at - 3)).collect();
        assert_eq!(pair(&ours, &theirs, Some(-700_000_000)), expected);
        assert_eq!(offset_of(&ours, &theirs, &expected), Some(1_000_700));
    }

    #[test]
    fn nothing_pairs_with_nothing() {
        let one = stay(0, 10);
        assert!(pair(&[], &[&one], None).is_empty());
        assert!(pair(&[&one], &[], None).is_empty());
        assert_eq!(pair(&[&one], &[&one], None), [(0, 0)]);
    }

    #[test]
    fn different_operations_do_not_pair() {
        let one = stay(0, 10);
        let other = LocalCollective::new(SpanId(0), 0, 10, Operation::of(Kind::Barrier));
        assert!(pair(&[&one], &[&other], None).is_empty());
    }
}
