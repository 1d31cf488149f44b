//! Two ranks' collectives of one group, in order: which are the same?
//!
//! Usually all are, one for one. When one rank recorded fewer (a later start, an earlier stop, a loss), the order alone does not
//! say which; layers repeat, so signatures do not either. Causality does: under the true clock offset the two stays in one
//! collective overlap, if the operation needs every rank. So an offset is wanted, and a walk under it pairs. It is known where the
//! two ranks were paired before; else ends vote for one; where the vote is not clear, as what repeats perfectly leaves it, whatever
//! hints at one is tried; and where none of these pairs nearly all, each shift of one sequence against the other proposes the
//! offset at which most ends coincide, and each is tried (`search`). What several that fit equally well pair differently is not paired:
//! nothing tells which collectives are the same. The offset found here only serves to pair: align estimates clocks.
//!
//! A clear vote comes before hints: it is evidence from the two sequences themselves, and takes milliseconds. So a hint that is
//! wrong changes nothing where the sequences tell by themselves.

use crate::LocalCollective;
use crate::search::{PARTS, proposed_offset};
use crate::vote::{Vote, vote};

/// Operations that do not need every rank may miss each other by this much and still be one.
const LOOSE_NS: i64 = 1_000_000;

/// After a walk has paired some, their stays narrow the offset down and may let in more. It settles within a few rounds.
const REFINEMENTS_MAX: usize = 4;

/// What led to an offset under which two sequences were paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// None was needed: everything pairs in order.
    Order,
    /// It was known.
    Known,
    /// Ends voted for it.
    Vote,
    /// Something hinted at it.
    Hint,
    /// Every shift was tried.
    Search,
    /// The same, and several fit equally well: what they pair otherwise is not paired.
    NotTold,
}

/// Two sequences, paired.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Paired {
    /// Indices into both, ascending in both.
    pub(crate) pairs: Vec<(usize, usize)>,
    pub(crate) by: By,
}

/// Pairs `ours` and `theirs`, which are in order of their start, without trying every shift; `None` where that is what is left. `known` is
/// what their clock is ahead of ours, where that is known from elsewhere; `hints` are what it may be.
pub(crate) fn pair_at_once(
    ours: &[&LocalCollective],
    theirs: &[&LocalCollective],
    known: Option<i64>,
    hints: impl IntoIterator<Item = i64>,
) -> Option<Paired> {
    let found = |by: By| move |pairs: Pairs| Paired { pairs, by };
    let by_known = || by_known(ours, theirs, known).map(found(By::Known));
    let by_others = || {
        let vote = vote(ours, theirs);
        if vote.is_clear {
            return by_vote(ours, theirs, vote).map(found(By::Vote));
        }
        by_hints(ours, theirs, hints, &vote).map(found(By::Hint))
    };
    in_order(ours, theirs).map(found(By::Order)).or_else(by_known).or_else(by_others)
}

pub(crate) type Pairs = Vec<(usize, usize)>;

/// Where both look alike from first to last, and their stays overlap one for one.
pub(crate) fn in_order(ours: &[&LocalCollective], theirs: &[&LocalCollective]) -> Option<Pairs> {
    let alike = ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| a.looks_like(b));
    let in_order: Pairs = (0..ours.len()).filter(|_| alike).map(|at| (at, at)).collect();
    let overlaps = || {
        let drifting = || walk(ours, theirs, proposed_offset(ours, theirs, 0, PARTS[0]).unwrap_or(0));
        common_offsets(ours, theirs, &in_order).is_some() || drifting().pairs.len() == ours.len()
    };
    (alike && overlaps()).then_some(in_order)
}

/// What their clock is ahead of ours by the ends of `pairs`; `None` where these are too few of too many.
pub(crate) fn offset_of(ours: &[&LocalCollective], theirs: &[&LocalCollective], pairs: &[(usize, usize)]) -> Option<i64> {
    if pairs.len() < PAIRS_MIN.max(nearly_all(ours, theirs)) {
        return None;
    }
    let mut differences: Vec<i64> = pairs.iter().map(|(i, j)| theirs[*j].end_ns.saturating_sub(ours[*i].end_ns)).collect();
    let middle = differences.len() / 2;
    Some(*differences.select_nth_unstable(middle).1)
}

/// Fewer pairs than this do not show an offset that others may rely on.
const PAIRS_MIN: usize = 16;

/// So many pairs are nine in ten of what can be paired: more than that is hardly lost, and less hints at a wrong offset.
fn nearly_all(ours: &[&LocalCollective], theirs: &[&LocalCollective]) -> usize {
    (9 * ours.len().min(theirs.len())).div_ceil(10)
}

fn by_known(ours: &[&LocalCollective], theirs: &[&LocalCollective], known: Option<i64>) -> Option<Pairs> {
    enough(ours, theirs, walk(ours, theirs, known?))
}

fn by_vote(ours: &[&LocalCollective], theirs: &[&LocalCollective], vote: Vote) -> Option<Pairs> {
    enough(ours, theirs, vote.offsets.into_iter().map(|offset| walk(ours, theirs, offset)).reduce(Pairing::better)?)
}

/// What few pairs agree with proves nothing, and few are searched at once. Nor may ends lie further apart than under an offset that
/// got votes: those are few or contradict each other, but what they tell apart they do.
fn by_hints(
    ours: &[&LocalCollective],
    theirs: &[&LocalCollective],
    hints: impl IntoIterator<Item = i64>,
    vote: &Vote,
) -> Option<Pairs> {
    let hinted = hints.into_iter().map(|offset| walk(ours, theirs, offset)).reduce(Pairing::better)?;
    let hinted = refined(ours, theirs, hinted);
    if hinted.pairs.len() < PAIRS_MIN.max(nearly_all(ours, theirs)) {
        return None;
    }
    let voted = vote.offsets.iter().map(|offset| walk(ours, theirs, *offset));
    let mut rivals = voted.filter(|voted| voted.pairs.len() >= nearly_all(ours, theirs));
    let as_close = |rival: Pairing| hinted.apart_ns() <= rival.apart_ns().saturating_mul(2).saturating_add(vote.grain_ns);
    rivals.all(as_close).then_some(hinted.pairs)
}

/// What `pairing` leads to, if that is nearly all.
fn enough(ours: &[&LocalCollective], theirs: &[&LocalCollective], pairing: Pairing) -> Option<Pairs> {
    let pairs = refined(ours, theirs, pairing).pairs;
    (pairs.len() >= nearly_all(ours, theirs)).then_some(pairs)
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
pub(crate) fn refined(ours: &[&LocalCollective], theirs: &[&LocalCollective], mut best: Pairing) -> Pairing {
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

/// The offset follows a pair by this part of what it is off: a clock that drifts by 50 ppm is followed within microseconds, and
/// the noise of the ends hardly moves it.
const FOLLOW: i64 = 32;

/// Pairs that a walk made.
pub(crate) struct Pairing {
    pub(crate) pairs: Vec<(usize, usize)>,
    /// How far the ends of the pairs lie apart, in all.
    misfit_ns: i64,
}

impl Pairing {
    /// How far the ends of a pair lie apart, on average.
    pub(crate) fn apart_ns(&self) -> i64 {
        self.misfit_ns / (self.pairs.len() as i64).max(1)
    }

    /// The one that pairs more; of equals the one whose ends lie closer.
    pub(crate) fn better(self, other: Self) -> Self {
        let key = |pairing: &Self| (pairing.pairs.len(), std::cmp::Reverse(pairing.misfit_ns));
        if key(&other) > key(&self) { other } else { self }
    }
}

/// Walks both sequences under one offset, which follows the ends slowly: clocks drift over a long recording.
pub(crate) fn walk(ours: &[&LocalCollective], theirs: &[&LocalCollective], offset_ns: i64) -> Pairing {
    let mut offset = offset_ns;
    let mut pairing = Pairing { pairs: Vec::with_capacity(ours.len().min(theirs.len())), misfit_ns: 0 };
    let (mut i, mut j) = (0, 0);
    while let (Some(a), Some(b)) = (ours.get(i), theirs.get(j)) {
        let Some(apart) = apart_ns(a, b, offset) else {
            if a.end_ns < b.end_ns.saturating_sub(offset) {
                i += 1;
            } else {
                j += 1;
            }
            continue;
        };
        let next = |i: usize, j: usize| apart_ns(ours.get(i)?, theirs.get(j)?, offset).map(i64::saturating_abs);
        match chosen(apart.saturating_abs(), next(i + 1, j), next(i, j + 1)) {
            Choice::Pair => {
                pairing.misfit_ns = pairing.misfit_ns.saturating_add(apart.saturating_abs());
                pairing.pairs.push((i, j));
                offset = offset.saturating_add(apart / FOLLOW);
                (i, j) = (i + 1, j + 1);
            }
            Choice::TheyLack => i += 1,
            Choice::WeLack => j += 1,
            Choice::NotTold => (i, j) = (i + 1, j + 1),
        }
    }
    pairing
}

/// By how much `b` ends after `a` under `offset`; `None` where they cannot be one collective.
fn apart_ns(a: &LocalCollective, b: &LocalCollective, offset: i64) -> Option<i64> {
    let (start, end) = (b.start_ns.saturating_sub(offset), b.end_ns.saturating_sub(offset));
    let loose = if a.kind.needs_all() { 0 } else { LOOSE_NS };
    let meet = start <= a.end_ns.saturating_add(loose) && a.start_ns <= end.saturating_add(loose);
    (meet && a.may_be(b)).then(|| end.saturating_sub(a.end_ns))
}

/// What two collectives that may be one are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// One collective.
    Pair,
    /// Theirs is our next one: they lack this one.
    TheyLack,
    /// Ours is their next one.
    WeLack,
    /// Either, and nothing tells which.
    NotTold,
}

/// Collectives that follow each other closely may all overlap on clocks that are a little off. What one rank lost is then told by the ends:
/// those of one collective lie closer than those of neighbours, twice at least.
fn chosen(own_ns: i64, our_next_ns: Option<i64>, their_next_ns: Option<i64>) -> Choice {
    let (rival_ns, lack) = match (our_next_ns, their_next_ns) {
        (None, None) => return Choice::Pair,
        (Some(ours), theirs) if theirs.is_none_or(|theirs| ours <= theirs) => (ours, Choice::TheyLack),
        (_, theirs) => (theirs.unwrap_or(i64::MAX), Choice::WeLack),
    };
    match () {
        () if own_ns.saturating_mul(2) <= rival_ns => Choice::Pair,
        () if rival_ns.saturating_mul(2) <= own_ns => lack,
        () => Choice::NotTold,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rankscope_trace::SpanId;

    use super::*;
    use crate::search::by_search;
    use crate::{Kind, Operation};

    fn pair(
        ours: &[&LocalCollective],
        theirs: &[&LocalCollective],
        known: Option<i64>,
        hints: impl IntoIterator<Item = i64> + Clone,
    ) -> Paired {
        pair_at_once(ours, theirs, known, hints.clone()).unwrap_or_else(|| by_search(ours, theirs, hints))
    }

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
            prop_assert_eq!(&pair(&ours, &theirs, None, []).pairs, &expected);
            prop_assert_eq!(&pair(&ours, &theirs, Some(offset + 350), []).pairs, &expected);
            prop_assert_eq!(&pair(&ours, &theirs, None, [offset + 350]).pairs, &expected);
            prop_assert_eq!(by_search(&ours, &theirs, []).pairs, expected);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]

        /// Losses on both sides, of up to one in a hundred; clocks that are off and drift.
        #[test]
        fn a_vote_finds_what_the_search_finds(
            gaps in prop::collection::vec((30_000i64..330_000, -60_000i64..60_000, 20_000i64..120_000), 400..420),
            offset in -3_000_000i64..3_000_000, drift_ppm in -40i64..40,
            lost in prop::collection::btree_set(0usize..400, 0..4), lost_too in prop::collection::btree_set(0usize..400, 1..4),
            hints in prop::collection::vec(prop_oneof![-4_000_000i64..4_000_000, -400_000i64..400_000], 0..3)
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
            let voted = pair(&ours, &theirs, None, []);
            prop_assert_eq!(&voted, &Paired { pairs: both.collect(), by: By::Vote });
            for hints in [hints.clone(), hints.iter().map(|near| offset + near).collect()] {
                prop_assert_eq!(&pair(&ours, &theirs, None, hints), &voted, "whatever is hinted at");
            }
            prop_assert_eq!(by_search(&ours, &theirs, []).pairs, voted.pairs);
        }
    }

    proptest! {
        /// One after the other without a pause, on clocks that are a little off: what follows the lost one overlaps its place.
        #[test]
        fn neighbours_of_a_lost_one_are_paired_with_their_own_or_with_none(
            lengths in prop::collection::vec(20_000i64..60_000, 40..60), lost in 0usize..40, off in -9_000i64..9_000
        ) {
            let mut now = 0;
            let all: Vec<LocalCollective> = lengths.iter().map(|length| { now += length; stay(now - length, now) }).collect();
            let theirs: Vec<LocalCollective> = all.iter().enumerate().filter(|(at, _)| *at != lost)
                .map(|(_, one)| stay(one.start_ns + off, one.end_ns + off)).collect();
            let (ours, theirs): (Vec<_>, Vec<_>) = (all.iter().collect(), theirs.iter().collect());
            let place = |j: usize| j + usize::from(j >= lost);
            for known in [Some(0), None] {
                let pairs = pair(&ours, &theirs, known, []).pairs;
                prop_assert!(pairs.iter().all(|(i, j)| *i == place(*j)), "{:?}", pairs);
                prop_assert_eq!(pairs.len(), theirs.len());
            }
        }
    }

    #[test]
    fn what_repeats_perfectly_is_paired_with_nothing() {
        let regular = |count: i64| (0..count).map(|at| stay(at * 100_000, at * 100_000 + 20_000)).collect::<Vec<_>>();
        let lost = |list: Vec<LocalCollective>, at: usize| -> Vec<_> {
            list.into_iter().enumerate().filter(|(place, _)| *place != at).map(|(_, stay)| stay).collect()
        };
        let not_told = Paired { pairs: Vec::new(), by: By::NotTold };
        for (ours, theirs) in [
            (regular(400), regular(396)),
            (regular(400), lost(regular(400), 200)),
            (regular(2), regular(1)),
            (regular(9), regular(8)),
        ] {
            let [ours, theirs]: [Vec<_>; 2] = [ours.iter().collect(), theirs.iter().collect()];
            assert_eq!(pair(&ours, &theirs, None, []), not_told, "{} of {}", theirs.len(), ours.len());
        }
        // As long as each other they are taken for the same.
        let (ours, theirs) = (regular(400), regular(400));
        let [ours, theirs]: [Vec<_>; 2] = [ours.iter().collect(), theirs.iter().collect()];
        assert_eq!(pair(&ours, &theirs, None, []).by, By::Order);
    }

    /// Neither the vote nor a search can tell which of many shifts it is; a clock that is known can.
    #[test]
    fn what_repeats_perfectly_is_paired_by_a_hint() {
        let regular = |from: i64, count: i64, ahead: i64| {
            (from..from + count).map(|at| stay(at * 100_000 + ahead, at * 100_000 + ahead + 20_000)).collect::<Vec<_>>()
        };
        let (ours, theirs) = (regular(0, 400, 0), regular(3, 390, 7_000_000));
        let [ours, theirs]: [Vec<_>; 2] = [ours.iter().collect(), theirs.iter().collect()];
        let expected: Pairs = (0..390).map(|at| (at + 3, at)).collect();
        let hinted = Paired { pairs: expected, by: By::Hint };
        assert_eq!(pair(&ours, &theirs, None, [7_001_500]), hinted);
        assert_eq!(pair(&ours, &theirs, None, [-900_000_000, 6_998_000]), hinted, "the one that pairs more");
        assert_eq!(pair(&ours, &theirs, None, [-900_000_000]).by, By::NotTold);
        let (few, fewer) = (&ours[..6], &theirs[..3]);
        assert_eq!(pair(few, fewer, None, [7_000_000]), Paired { pairs: vec![(3, 0), (4, 1), (5, 2)], by: By::Hint });
    }

    /// Steps that are nearly alike pair nearly as well one step off; their ends know better.
    #[test]
    fn a_hint_that_fits_by_chance_yields_to_what_ends_tell() {
        // The second strays by one of two lengths only, so a vote tells no more than that it is some step.
        let mixed = |at: u64| (at ^ (at >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40;
        let strays: [&dyn Fn(i64) -> i64; 2] =
            [&|at| mixed((at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)) as i64 % 16_001, &|at| {
                at * 2_654_435_761 % 16_001
            }];
        for (stray, by) in strays.into_iter().zip([By::Vote, By::Search]) {
            let start = |at: i64| at * 100_000 + stray(at);
            let all: Vec<_> = (0..400).map(|at| stay(start(at), start(at) + 60_000)).collect();
            let (ours, theirs): (Vec<_>, Vec<_>) = (all.iter().collect(), all.iter().skip(3).collect());
            assert!(walk(&ours, &theirs, 100_000).pairs.len() >= nearly_all(&ours, &theirs), "it tempts");
            let pairs: Pairs = (0..397).map(|at| (at + 3, at)).collect();
            assert_eq!(pair(&ours, &theirs, None, [100_000]), Paired { pairs: pairs.clone(), by });
            let by = if by == By::Search { By::Hint } else { by };
            assert_eq!(pair(&ours, &theirs, None, [1_000]), Paired { pairs, by }, "what is true is believed");
        }
    }

    #[test]
    fn a_known_offset_that_is_wrong_costs_no_pair() {
        let gaps: Vec<_> = (0..60).map(|at| (200_000 + at * 7_919 % 500_000, at * 991 % 90_000, 40_000)).collect();
        let (ours, theirs) = two_ranks(&gaps, 1_000_000);
        let [ours, theirs]: [Vec<_>; 2] = [ours.iter().collect(), theirs.iter().skip(3).collect()];
        let expected: Vec<_> = (3..60).map(|at| (at, at - 3)).collect();
        assert_eq!(pair(&ours, &theirs, Some(-700_000_000), [-600_000_000, 900_000_000]).pairs, expected);
        assert_eq!(offset_of(&ours, &theirs, &expected), Some(1_000_700));
    }

    #[test]
    fn nothing_pairs_with_nothing() {
        let one = stay(0, 10);
        assert!(pair(&[], &[&one], None, []).pairs.is_empty());
        assert!(pair(&[&one], &[], None, [0]).pairs.is_empty());
        assert_eq!(pair(&[&one], &[&one], None, []).pairs, [(0, 0)]);
    }

    #[test]
    fn different_operations_do_not_pair() {
        let one = stay(0, 10);
        let other = LocalCollective::new(SpanId(0), 0, 10, Operation::of(Kind::Barrier));
        assert!(pair(&[&one], &[&other], None, []).pairs.is_empty());
    }
}
