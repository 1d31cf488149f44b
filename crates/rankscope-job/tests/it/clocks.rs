//! Clocks move positions and never a rank's own durations.

use proptest::prelude::*;
use rankscope_align::RankMap;
use rankscope_document::{Document, Rank, Time};
use rankscope_job::{Analysed, ClockChoice, Facts, Job, Judging, Rules, judge};
use rankscope_testkit::{Dialect, Job as Synthetic};
use rankscope_time::{Instant, Knot, Rate};

use crate::bench::{json, little, parts};

fn as_recorded() -> Job {
    let job = Synthetic { ranks: 2, steps: 2, ..little() };
    let judging = Judging::default().with_clocks(ClockChoice::AsRecorded);
    judge(parts(&job, &Dialect::default(), &Rules::default()), &Facts::default(), judging).expect("it can be judged")
}

/// `job` with these clocks.
fn on(mut job: Job, maps: &[RankMap]) -> (Job, Document) {
    for (clock, map) in job.clocks.ranks.iter_mut().zip(maps) {
        clock.map = map.clone();
    }
    let analysed = Analysed::of(job, None).expect("it has steps");
    let document = analysed.document("a job");
    (analysed.job, document)
}

/// A clock that gains `drift_ppb` and was off by `offset_ns` when `job` began.
fn clock(job: &Job, offset_ns: i64, drift_ppb: i64) -> RankMap {
    let (from, to) = job.ranks[0].about.bounds_ns.expect("spans");
    let (from, to) = (from - 1_000_000_000, to + 1_000_000_000);
    let knot = |at: i64| {
        let gained = i128::from(at - from) * i128::from(drift_ppb) / 1_000_000_000;
        Knot { from_ns: at, to_ns: at + offset_ns + gained as i64, uncertainty_ns: 0 }
    };
    RankMap::from_knots(vec![knot(from), knot(to)], Rate::ZERO).expect("ascending")
}

/// What does not hang on how long the others recorded.
fn own(rank: &Rank) -> (Time, Vec<Time>) {
    let time = Time { total: 0, idle: 0, ..rank.time_ns };
    (time, rank.steps.iter().map(|step| step.time_ns).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn durations_are_those_of_the_own_clock(
        clocks in [(-100_000i64..100_000, -50_000i64..50_000), (-100_000i64..100_000, -50_000i64..50_000)], same: bool,
    ) {
        let job = as_recorded();
        let (_, still) = on(job.clone(), &[]);
        let maps: Vec<RankMap> = clocks.iter().map(|one| if same { &clocks[0] } else { one }).map(|(offset, drift)| clock(&job, *offset, *drift)).collect();
        let (job, moved) = on(job, &maps);
        for ((before, after), (rank, map)) in still.ranks.iter().zip(&moved.ranks).zip(job.ranks.iter().zip(&maps)) {
            prop_assert_eq!(own(before), own(after));
            prop_assert_eq!(&before.copies, &after.copies);
            prop_assert_eq!(json(&before.kernels), json(&after.kernels));
            let at = |ns| map.map(Instant::from_nanos_since_epoch(ns)).nanos_since_epoch();
            for (step, recorded) in after.steps.iter().zip(&rank.report.steps) {
                prop_assert_eq!(step.window_ns, [at(recorded.start_ns), at(recorded.end_ns)]);
            }
            // Where all clocks run alike, all ranks' windows are as long as before; a nanosecond of each edge is rounded.
            prop_assert!(!same || (before.time_ns.total - after.time_ns.total).abs() <= 2);
            prop_assert_eq!(after.time_ns.busy + after.time_ns.idle, after.time_ns.total);
        }
        let exposed = |document: &Document| document.collectives.groups.iter().map(|group| group.exposed_ns).sum::<i64>();
        prop_assert_eq!(exposed(&still), exposed(&moved));
        prop_assert_eq!(still.collectives.matched, moved.collectives.matched);
    }
}
