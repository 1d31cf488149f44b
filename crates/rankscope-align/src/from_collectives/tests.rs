//! Jobs of more ranks than pairs are followed for, in groups of which none holds all.

use rankscope_clock::Rng;

use super::intervals::{Intervals, intervals};
use super::meetings::{Meetings, Stay};
use super::placing::placed;
use crate::pairs::DENSE_RANKS_MAX;

const START_NS: i64 = 1_790_000_000_000_000_000;
const TENSOR: usize = 8;

/// A job laid out as usual: eight ranks share each layer, `data` of these eights work on different samples, and `stages` of those
/// hand activations on and gradients back. So whoever is far from the first rank meets it through a chain of others.
#[derive(Clone, Copy, Debug)]
struct Layout {
    data: usize,
    stages: usize,
    drift_ppb_max: u64,
}

impl Layout {
    fn ranks(self) -> usize {
        TENSOR * self.data * self.stages
    }

    fn rank(self, tensor: usize, data: usize, stage: usize) -> usize {
        tensor + TENSOR * (data + self.data * stage)
    }

    /// What all do together once, as who is needed and who needs: an all-reduce of every eight and of every column of a stage, and
    /// a message to the next stage and one back.
    fn step(self) -> Vec<Vec<(usize, bool, bool)>> {
        let all = |ranks: Vec<usize>| ranks.into_iter().map(|rank| (rank, true, true)).collect::<Vec<_>>();
        let mut step = Vec::new();
        for stage in 0..self.stages {
            step.extend((0..self.data).map(|data| all((0..TENSOR).map(|tensor| self.rank(tensor, data, stage)).collect())));
            step.extend((0..TENSOR).map(|tensor| all((0..self.data).map(|data| self.rank(tensor, data, stage)).collect())));
            let places = (0..TENSOR).flat_map(|tensor| (0..self.data).map(move |data| (tensor, data)));
            for (tensor, data) in places.filter(|_| stage > 0) {
                let [before, own] = [stage - 1, stage].map(|stage| self.rank(tensor, data, stage));
                step.extend(
                    [(true, false), (false, true)].map(|(sends, gets)| vec![(before, sends, gets), (own, gets, sends)]),
                );
            }
        }
        step.retain(|ranks| ranks.len() > 1);
        step
    }

    /// What each clock shows more than the first one's, at a true time.
    fn clocks(self, rng: &mut Rng) -> Vec<impl Fn(i64) -> i64 + use<>> {
        let clock = |rank: usize| {
            let mut within = |most: u64| if rank == 0 { 0 } else { rng.below(2 * most + 1) as i64 - most as i64 };
            let (offset_ns, drift_ppb) = (within(5_000_000), within(self.drift_ppb_max));
            move |at_ns: i64| {
                offset_ns + (i128::from(at_ns - START_NS) * i128::from(drift_ppb)).div_euclid(1_000_000_000) as i64
            }
        };
        (0..self.ranks()).map(clock).collect()
    }

    fn meetings(self, steps: usize, clocks: &[impl Fn(i64) -> i64], rng: &mut Rng) -> Meetings<'static> {
        let mut now_ns = START_NS;
        let mut meetings = Vec::new();
        for together in (0..steps).flat_map(|_| self.step()) {
            now_ns += rng.below(20_000) as i64;
            let came: Vec<i64> = together.iter().map(|_| now_ns + rng.below(100_000) as i64).collect();
            let over_ns = came.iter().max().expect("somebody came") + 9_000;
            let stays = together.iter().zip(came).map(|((rank, is_needed, needs), came_ns)| {
                let left_ns = over_ns + rng.below(2_000) as i64;
                let shown_ns = |at_ns: i64| at_ns + clocks[*rank](at_ns);
                Stay { is_needed: *is_needed, needs: *needs, ..Stay::of(*rank, shown_ns(came_ns), shown_ns(left_ns)) }
            });
            meetings.push(stays.collect::<Vec<_>>());
        }
        meetings.into_iter().collect()
    }
}

#[test]
fn along_chains_of_groups_every_clock_is_bounded_and_the_truth_is_inside() {
    for (data, stages, drift_ppb_max) in [(1, 36, 0), (2, 20, 50_000), (40, 1, 99_000)] {
        let layout = Layout { data, stages, drift_ppb_max };
        let mut rng = Rng::new(stages as u64);
        let clocks = layout.clocks(&mut rng);
        let meetings = layout.meetings(4, &clocks, &mut rng);
        let truth_ns: Vec<i64> = clocks.iter().map(|clock| clock(START_NS)).collect();
        let shown_ns: Vec<i64> = truth_ns.iter().map(|ahead| START_NS + ahead).collect();
        assert!(layout.ranks() > DENSE_RANKS_MAX);

        let Intervals { bounds, .. } = intervals(&shown_ns, &meetings);
        assert_eq!(bounds.contradiction(), None);
        for (rank, truth) in truth_ns.iter().enumerate().skip(1) {
            let bound = bounds.between(0, rank);
            assert!(bound.width_ns().is_some(), "{layout:?}: nothing bounds {rank}");
            assert_eq!(bound.clamp(*truth), *truth, "{layout:?}: {rank} in {bound:?}");
        }
        for meeting in meetings.iter() {
            for (a, b) in meeting.stays().flat_map(|a| meeting.stays().map(move |b| (a.rank(), b.rank()))) {
                let (bound, apart) = (bounds.between(a, b), truth_ns[b] - truth_ns[a]);
                assert!(bound.width_ns().is_some() || a == b, "{layout:?}: nothing bounds {b} by {a}");
                assert_eq!(bound.clamp(apart), apart, "{layout:?}: {b} by {a} in {bound:?}");
            }
        }
    }
}

/// Wherever clocks are wanted, and whoever is to share one: what they are put to satisfies every constraint.
#[test]
fn clocks_of_many_ranks_are_placed_where_all_their_bounds_hold() {
    let layout = Layout { data: 2, stages: 20, drift_ppb_max: 0 };
    let mut rng = Rng::new(11);
    let clocks = layout.clocks(&mut rng);
    let meetings = layout.meetings(2, &clocks, &mut rng);
    let shown_ns: Vec<i64> = clocks.iter().map(|clock| START_NS + clock(START_NS)).collect();
    let Intervals { bounds, .. } = intervals(&shown_ns, &meetings);
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let mut alike: Vec<usize> = (0..layout.ranks()).collect();
        alike.sort_by_cached_key(|_| rng.bits());
        let wanted: Vec<_> =
            alike.chunks(1 + seed as usize % 3).map(|ranks| (ranks, rng.below(20_000_000) as i64 - 10_000_000)).collect();
        let found = placed(&bounds, &wanted);
        for (a, b) in (0..layout.ranks()).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let bound = bounds.between(a, b);
            assert_eq!(bound.clamp(found[b] - found[a]), found[b] - found[a], "{b} by {a} in {bound:?}, seed {seed}");
        }
    }
}

/// Ten thousand ranks have fifty million pairs.
#[test]
fn what_is_kept_of_ten_thousand_ranks_grows_with_them_and_not_with_their_pairs() {
    let layout = Layout { data: 25, stages: 50, drift_ppb_max: 0 };
    let ranks = layout.ranks();
    assert_eq!(ranks, 10_000);
    let mut rng = Rng::new(1);
    let clocks = layout.clocks(&mut rng);
    let meetings = layout.meetings(1, &clocks, &mut rng);
    let shown_ns: Vec<i64> = clocks.iter().map(|clock| START_NS + clock(START_NS)).collect();
    let Intervals { bounds, .. } = intervals(&shown_ns, &meetings);
    assert!((1..ranks).all(|rank| bounds.between(0, rank).width_ns().is_some()));
    // Both ways with the first of the eight and of the column, and with the same place of the stage before.
    let (edges, places) = bounds.kept();
    assert!(edges <= 6 * ranks, "{edges} bounds for {ranks} ranks");
    assert!(places <= 3 * edges + 34 * ranks, "{places} for {ranks} ranks");
    let alone: Vec<[usize; 1]> = (0..ranks).map(|rank| [rank]).collect();
    let wanted: Vec<_> = alone.iter().zip(&clocks).map(|(rank, clock)| (&rank[..], clock(START_NS))).collect();
    let found = placed(&bounds, &wanted);
    assert!(wanted.iter().all(|(rank, truth_ns)| found[rank[0]] == *truth_ns));
}
