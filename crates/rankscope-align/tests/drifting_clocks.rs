//! Clocks that are known, found again from collectives alone.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use proptest::prelude::*;
use rankscope_align::{ClockEstimate, estimate};
use rankscope_clock::Rng;
use rankscope_collectives::{
    Collectives, Group, Kind, LocalCollective, Matched, Operation, RankCollectives, Sequence, match_ranks,
};
use rankscope_time::{Instant, Rank};
use rankscope_trace::SpanId;

/// `shown = true + offset + drift * (true - START_NS)`.
#[derive(Clone, Copy, Debug)]
struct Clock {
    offset_ns: i64,
    drift_ppb: i64,
}

const START_NS: i64 = 1_790_000_000_000_000_000;

impl Clock {
    fn shown_ns(self, true_ns: i64) -> i64 {
        let gained = i128::from(true_ns - START_NS) * i128::from(self.drift_ppb);
        true_ns + self.offset_ns + gained.div_euclid(1_000_000_000) as i64
    }

    /// What `other` shows less what this shows, when this shows `own_ns`.
    fn behind_ns(self, other: Self, own_ns: i64) -> i64 {
        let mut true_ns = own_ns - self.offset_ns;
        for _ in 0..5 {
            true_ns -= self.shown_ns(true_ns) - own_ns;
        }
        other.shown_ns(true_ns) - own_ns
    }
}

/// A job in which everybody works for a while and meets, over and over. Every other collective is a long one.
#[derive(Clone, Debug)]
struct Work {
    clocks: Vec<Clock>,
    meetings: u64,
    gap_ns: u64,
    /// How unevenly ranks come.
    uneven_ns: u64,
    /// How late each rank leaves long collectives, the same every time, at most.
    late_ns: u64,
    seed: u64,
}

impl Work {
    fn record(&self) -> Vec<RankCollectives> {
        let mut rng = Rng::new(self.seed);
        let late: Vec<i64> = self.clocks.iter().map(|_| rng.below(self.late_ns + 1) as i64).collect();
        let world: Vec<Rank> = (0..self.clocks.len() as u32).map(Rank).collect();
        let group = Group { ranks: world.clone().into(), name: "0".into(), description: String::new() };
        let mut ranks: Vec<RankCollectives> = world
            .into_iter()
            .map(|rank| RankCollectives {
                rank,
                groups: vec![group.clone()],
                collectives: Collectives::default(),
                steps: Vec::new(),
            })
            .collect();
        let mut now_ns = START_NS;
        for meeting in 0..self.meetings {
            let long = meeting % 2 == 1;
            let came: Vec<i64> = ranks.iter().map(|_| now_ns + rng.below(self.uneven_ns + 1) as i64).collect();
            let over_ns = came.iter().max().unwrap() + if long { 400_000 } else { 9_000 };
            for ((rank, clock), (came, late)) in ranks.iter_mut().zip(&self.clocks).zip(came.iter().zip(&late)) {
                let left = over_ns + rng.below(2_000) as i64 + if long { *late } else { 0 };
                rank.collectives.push(stay(clock.shown_ns(*came), clock.shown_ns(left), meeting).as_stay());
            }
            now_ns = over_ns + self.late_ns as i64 + 2_000 + rng.below(self.gap_ns) as i64;
        }
        ranks
    }

    fn estimate(&self, hosts: &[Option<&str>]) -> ClockEstimate {
        let ranks = self.record();
        let matched: Matched = match_ranks(&ranks);
        estimate(&ranks, &matched, hosts)
    }

    /// What rank `rank`'s clock is ahead of the first rank's, where the estimate holds.
    fn truth_ns(&self, estimate: &ClockEstimate, rank: usize) -> i64 {
        self.clocks[0].behind_ns(self.clocks[rank], estimate.at_ns)
    }
}

fn stay(start_ns: i64, end_ns: i64, sequence: u64) -> LocalCollective {
    let mut stay = LocalCollective::new(SpanId(0), start_ns, end_ns, Operation::of(Kind::AllReduce));
    stay.sequence = Sequence::of(Some(sequence));
    stay
}

fn clock() -> impl Strategy<Value = Clock> {
    (-5_000_000i64..5_000_000, -99_000i64..99_000).prop_map(|(offset_ns, drift_ppb)| Clock { offset_ns, drift_ppb })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// A stamp that is moved is off by no more than its map says, from the first collective to the last.
    #[test]
    fn maps_say_how_far_they_are_off(
        clocks in prop::collection::vec(clock(), 2..5), meetings in 3u64..40, gap_ns in 100_000u64..100_000_000,
        uneven_ns in 0u64..2_000_000, late_ns in 0u64..400_000, seed: u64
    ) {
        let work = Work { clocks, meetings, gap_ns, uneven_ns, late_ns, seed };
        let ranks = work.record();
        let estimate = estimate(&ranks, &match_ranks(&ranks), &vec![None; ranks.len()]);
        for (rank, known) in ranks.iter().zip(&estimate.clocks).filter(|(_, known)| known.applied) {
            let map = known.map(estimate.at_ns);
            let clock = work.clocks[rank.rank.0 as usize];
            for stamp_ns in rank.collectives.iter().flat_map(|stay| [stay.start_ns, stay.end_ns]) {
                let stamp = Instant::from_nanos_since_epoch(stamp_ns);
                let truth_ns = stamp_ns + clock.behind_ns(work.clocks[0], stamp_ns);
                let off_ns = map.map(stamp).nanos_since_epoch().abs_diff(truth_ns);
                prop_assert!(off_ns <= map.uncertainty_ns(stamp) + 10, "{off_ns} with {known:?}");
            }
        }
    }

    /// Whatever the clocks, however late ranks come and leave, the truth is inside, and so is the estimate.
    #[test]
    fn the_truth_is_inside_the_interval(
        clocks in prop::collection::vec(clock(), 2..6), meetings in 1u64..60, gap_ns in 1_000u64..200_000_000,
        uneven_ns in 0u64..2_000_000, late_ns in 0u64..400_000, seed in 0u64..1_000
    ) {
        let work = Work { clocks, meetings, gap_ns, uneven_ns, late_ns, seed };
        let found = work.estimate(&vec![None; work.clocks.len()]);
        prop_assert_eq!(found.bounds.contradiction(), None);
        for rank in 1..work.clocks.len() {
            let (truth_ns, clock) = (work.truth_ns(&found, rank), found.clocks[rank]);
            prop_assert_eq!(clock.bound.clamp(truth_ns), truth_ns, "rank {} of {:?}", rank, found.clocks);
            prop_assert_eq!(clock.bound.clamp(clock.offset_ns), clock.offset_ns, "rank {} of {:?}", rank, found.clocks);
        }
    }

    /// Whatever ends at an interval's end, all clocks stay where causality allows them.
    #[test]
    fn both_ends_are_possible(clocks in prop::collection::vec(clock(), 2..6), seed in 0u64..1_000) {
        let work = Work { clocks, meetings: 20, gap_ns: 1_000_000, uneven_ns: 500_000, late_ns: 0, seed };
        let found = work.estimate(&vec![None; work.clocks.len()]);
        let ends = found.interval_ends();
        prop_assert!(!ends.is_empty() || found.shared.len() == 1);
        for end in ends {
            for (a, b) in (0..work.clocks.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
                let apart_ns = end.clocks[b].offset_ns - end.clocks[a].offset_ns;
                prop_assert_eq!(found.bounds.between(a, b).clamp(apart_ns), apart_ns);
            }
        }
    }
}

/// Two nodes of four ranks, the second with a clock of its own.
fn two_nodes(seed: u64, meetings: u64, gap_ns: u64, late_ns: u64) -> Work {
    let mut rng = Rng::new(seed + 1_000);
    let far = Clock { offset_ns: rng.below(6_000_000) as i64 - 3_000_000, drift_ppb: rng.below(20_000) as i64 - 10_000 };
    let clocks = (0..8).map(|rank| if rank < 4 { Clock { offset_ns: 0, drift_ppb: 0 } } else { far }).collect();
    Work { clocks, meetings, gap_ns, uneven_ns: 300_000, late_ns, seed }
}

#[test]
fn offsets_and_drifts_of_two_nodes_are_found_again() {
    for (late_ns, off_ns_max) in [(0, 1_000), (300_000, 1_000)] {
        for seed in 0..20 {
            let work = two_nodes(seed, 160, 8_000_000, late_ns);
            let found = work.estimate(&[None; 8]);
            assert_eq!(found.shared, [vec![0, 1, 2, 3], vec![4, 5, 6, 7]], "seed {seed}");
            for rank in 0..8 {
                let (clock, truth_ns) = (found.clocks[rank], work.truth_ns(&found, rank));
                assert!((clock.offset_ns - truth_ns).abs() <= off_ns_max, "seed {seed}: {clock:?}, truly {truth_ns}");
                assert!((clock.drift_ppb - work.clocks[rank].drift_ppb).abs() <= 3_000, "seed {seed}: {clock:?}");
                let later_ns = START_NS + 600_000_000;
                let shown = Instant::from_nanos_since_epoch(work.clocks[rank].shown_ns(later_ns));
                let off_ns = clock.map(found.at_ns).map(shown).nanos_since_epoch() - later_ns;
                assert!(off_ns.abs() <= off_ns_max, "seed {seed}: {off_ns} off later");
            }
        }
    }
}

#[test]
fn a_span_too_short_for_a_drift_has_none() {
    for seed in 0..20 {
        let work = two_nodes(seed, 16, 100_000, 0);
        let found = work.estimate(&[None; 8]);
        assert!(found.clocks.iter().all(|clock| clock.drift_ppb == 0), "seed {seed}: {:?}", found.clocks);
    }
}

#[test]
fn one_host_is_left_alone_and_two_are_not() {
    let mut work = two_nodes(3, 40, 1_000_000, 0);
    work.clocks = vec![Clock { offset_ns: 0, drift_ppb: 0 }; 8];
    assert!(!work.estimate(&[Some("a"); 8]).corrected);
    assert!(!work.estimate(&[None; 8]).corrected);
    assert!(!work.estimate(&[Some("localhost"); 8]).corrected);
    let far = two_nodes(3, 40, 1_000_000, 0);
    assert!(far.estimate(&[Some("localhost"); 8]).corrected, "a name that every machine has is no host");
}

#[test]
fn ranks_that_are_late_every_time_are_no_clocks() {
    let mut work = two_nodes(5, 60, 1_000_000, 0);
    work.clocks = vec![Clock { offset_ns: 0, drift_ppb: 0 }; 4];
    let mut ranks = work.record();
    // All collectives take half a millisecond, and rank 2 leaves each of them 200 us after the others.
    for (at, rank) in ranks.iter_mut().enumerate() {
        let mut rows = rank.collectives.to_rows();
        rows.iter_mut().for_each(|row| row.end_ns += 500_000 + if at == 2 { 200_000 } else { 0 });
        rank.collectives = rows.into();
    }
    let found = estimate(&ranks, &match_ranks(&ranks), &[None; 4]);
    assert!(!found.corrected, "{:?}", found.clocks);
}

#[test]
fn ranks_that_share_no_collective_are_not_bounded() {
    let mut ranks = two_nodes(1, 10, 1_000_000, 0).record();
    ranks[7].collectives = Collectives::default();
    let found = estimate(&ranks, &match_ranks(&ranks), &[None; 8]);
    assert_eq!((found.clocks[7].bound.width_ns(), found.clocks[7].applied), (None, false));
    let nobody = estimate(&[], &Matched::default(), &[]);
    assert!(nobody.clocks.is_empty() && !nobody.corrected);
    let alone = estimate(&ranks[..1], &match_ranks(&ranks[..1]), &[None]);
    assert_eq!((alone.clocks.len(), alone.corrected, alone.agreement_ns), (1, false, None));
}

#[test]
fn what_goes_one_way_bounds_one_side() {
    let rank = |rank: u32, kind: Kind, start_ns: i64, end_ns: i64, peer: u32| {
        let mut only = LocalCollective::new(SpanId(0), start_ns, end_ns, Operation::of(kind));
        only.peer = Some(peer);
        let groups = vec![Group { ranks: [Rank(0), Rank(1)].into(), name: "0".into(), description: String::new() }];
        RankCollectives { rank: Rank(rank), groups, collectives: vec![only].into(), steps: Vec::new() }
    };
    let both = [
        [rank(0, Kind::Send, 1_000, 2_000, 1), rank(1, Kind::Recv, 1_500, 2_500, 0)],
        [rank(0, Kind::Broadcast, 1_000, 2_000, 0), rank(1, Kind::Broadcast, 1_500, 2_500, 0)],
        [rank(0, Kind::Reduce, 1_000, 2_000, 1), rank(1, Kind::Reduce, 1_500, 2_500, 1)],
    ];
    for ranks in both {
        let bound = estimate(&ranks, &match_ranks(&ranks), &[None; 2]).clocks[1].bound;
        // As if the second had left the moment the first entered, and two nanoseconds for rounding.
        assert_eq!((bound.lo_ns, bound.hi_ns), (None, Some(1_502)));
    }
}
