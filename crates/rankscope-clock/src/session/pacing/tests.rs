use proptest::prelude::*;

use super::*;
use crate::Rng;

const MS: i64 = 1_000_000;

fn at(ns: i64) -> MonotonicInstant {
    MonotonicInstant::from_nanos_since_epoch(ns)
}

fn pacer(period_ns: i64, seed: u64) -> Pacer {
    let [cadence, spacing, period] = [800_000, 100_000, period_ns].map(Span::from_nanos);
    Pacer::new(Pace { cadence, spacing, jitter_percent: 10, train: 16, period }, at(0), Rng::new(seed))
}

/// The times of the exchanges of `trains` trains, for a driver that is `late_ns` late each time.
fn times(pacer: &mut Pacer, trains: usize, late_ns: i64) -> Vec<Vec<i64>> {
    let mut now = at(0);
    let mut train = || {
        let mut due = Some(pacer.next_train(now));
        let mut times = Vec::new();
        while let Some(next) = due {
            times.push(next.nanos_since_epoch());
            now = now.max(next) + Span::from_nanos(late_ns);
            due = pacer.next_slot(now);
        }
        times
    };
    (0..trains).map(|_| train()).collect()
}

#[test]
fn trains_and_exchanges_keep_to_their_grids_for_ever() {
    let period_ns = 50 * MS;
    let times = times(&mut pacer(period_ns, 1), 2000, 3_000);
    for (k, train) in times.iter().enumerate() {
        assert_eq!(train.len(), 16);
        let early = train[0] - k as i64 * period_ns;
        assert!((-80_000..=(50 * MS - 12_800_000) / 4 + 80_000).contains(&early), "train {k} is {early} ns off its grid");
        for (slot, pair) in train.windows(2).enumerate() {
            assert!((640_000..=960_000).contains(&(pair[1] - pair[0])), "train {k}, slot {slot}");
        }
    }
    let steps: Vec<i64> = times.iter().flat_map(|train| train.windows(2).map(|pair| pair[1] - pair[0])).collect();
    let mean_ns = steps.iter().sum::<i64>() / steps.len() as i64;
    assert!((mean_ns - 800_000).abs() < 1_000, "the mean step is {mean_ns} ns");
}

#[test]
fn without_rest_trains_are_one_stream() {
    let times: Vec<i64> = times(&mut pacer(16 * 800_000, 2), 1000, 3_000).concat();
    assert_eq!(times.len(), 16_000);
    for (i, time) in times.iter().enumerate() {
        assert!((time - i as i64 * 800_000).abs() <= 80_000, "exchange {i} at {time} ns");
    }
}

proptest! {
    #[test]
    fn a_late_driver_skips_and_never_catches_up(late_us in 0i64..20_000, seed in any::<u64>()) {
        let mut pacer = pacer(50 * MS, seed);
        let mut now = at(0);
        for _ in 0..20 {
            let mut due = Some(pacer.next_train(now));
            while let Some(next) = due {
                // It never asks for what is more than a cadence and its jitter ago.
                prop_assert!((now - next).as_nanos() <= 880_000);
                now = now.max(next) + Span::from_nanos(late_us * 1000);
                due = pacer.next_slot(now);
            }
        }
    }
}

#[test]
fn the_slower_end_decides() {
    let mut pacer = pacer(50 * MS, 3);
    pacer.limit(at(7 * MS), Span::from_nanos(20 * MS));
    assert_eq!(pacer.period(), Span::from_nanos(50 * MS), "a faster peer changes nothing");
    pacer.limit(at(7 * MS), Span::from_nanos(200 * MS));
    let starts: Vec<i64> = times(&mut pacer, 5, 0).iter().map(|train| train[0]).collect();
    for pair in starts.windows(2) {
        assert!((pair[1] - pair[0] - 200 * MS).abs() <= 50 * MS, "{starts:?}");
    }
    pacer.limit(at(0), Span::MAX);
    assert_eq!(pacer.period(), PERIOD_MAX);
}
