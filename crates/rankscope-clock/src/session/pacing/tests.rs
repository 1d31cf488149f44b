use proptest::prelude::*;

use super::*;

const MS: i64 = 1_000_000;

fn at(ns: i64) -> MonotonicInstant {
    MonotonicInstant::from_nanos_since_epoch(ns)
}

fn pacer(period_ns: i64, seed: u64) -> Pacer {
    let [cadence, spacing, period] = [800_000, 100_000, period_ns].map(Span::from_nanos);
    Pacer::new(Pace { cadence, spacing, jitter_percent: 10, train: 16, period, run: 7, seed }, at(0))
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
    pacer.limit(Span::from_nanos(20 * MS));
    assert_eq!(pacer.period(), Span::from_nanos(50 * MS), "a faster peer changes nothing");
    pacer.limit(Span::from_nanos(200 * MS));
    let starts: Vec<i64> = times(&mut pacer, 5, 0).iter().map(|train| train[0]).collect();
    for pair in starts.windows(2) {
        assert!((pair[1] - pair[0] - 200 * MS).abs() <= 50 * MS, "{starts:?}");
    }
    pacer.limit(Span::MAX);
    assert_eq!(pacer.period(), PERIOD_MAX);
}

proptest! {
    /// Whatever other ends can afford, a node's edges send when the node sends, and no more often than they may.
    #[test]
    fn edges_of_a_node_are_in_step(period_us in 12_800i64..400_000, slower_us in 0i64..2_000_000, base in -9 * MS..9 * MS, seed in any::<u64>()) {
        let (period_ns, slower_ns) = (period_us * 1_000, (period_us + slower_us) * 1_000);
        let [mut node, mut edge] = [pacer(period_ns, seed), pacer(period_ns, seed)];
        node.align(at(base));
        edge.align(at(base));
        edge.limit(Span::from_nanos(slower_ns));
        let theirs = times(&mut edge, 20, 0);
        let trains = theirs[19][0] / period_ns + 2;
        let own = times(&mut node, trains as usize, 0);
        for train in &theirs {
            prop_assert!(own.contains(train), "{train:?} is no train of the node's");
        }
        let passed_ns = theirs[19][0] - theirs[0][0];
        prop_assert!((passed_ns - 19 * slower_ns).abs() <= period_ns + period_ns / 2, "20 trains in {passed_ns} ns");
    }

    /// Nodes that have the job's clock begin their trains together, each at an instant of its own within a cadence of the others.
    #[test]
    fn nodes_on_one_grid_begin_together(period_us in 12_800i64..400_000, own_ns in 0i64..800_000, seeds in any::<[u64; 2]>()) {
        let [mut one, mut other] = seeds.map(|seed| pacer(period_us * 1_000, seed));
        // The other was there before, on a grid of its own.
        let before = times(&mut other, 3, 0);
        one.align(at(0));
        other.align(at(own_ns));
        let now = at(before[2][15]);
        let starts = |pacer: &mut Pacer| [(); 4].map(|()| pacer.next_train(now).nanos_since_epoch());
        let [theirs, others] = [starts(&mut one), starts(&mut other)];
        for start in &theirs[1..3] {
            // Both jitter by a tenth of a cadence.
            let together = |other: &i64| (other - start - own_ns).abs() <= 160_000;
            prop_assert!(others.iter().any(together), "{theirs:?} and {others:?}");
        }
    }
}
