use proptest::prelude::*;
use rankscope_clock::Rng;
use rankscope_clock::simulate::SimClock;
use rankscope_time::{Rate, Span};

use super::*;

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;

/// A steered clock over a base that tells the truth, read in sandwiches of random width.
struct Rig {
    clock: SimClock,
    rng: Rng,
    series: Series,
    changes: Vec<Change>,
}

impl Rig {
    fn new(clock: SimClock, spacing_ns: i64, seed: u64) -> Self {
        Self { clock, rng: Rng::new(seed), series: Series::new(spacing_ns, 4096), changes: Vec::new() }
    }

    fn snapshot(&mut self, base_ns: i64) {
        let half_width_ns = 10 + self.rng.below(30);
        let off = self.rng.below(2 * half_width_ns + 1) as i64 - half_width_ns as i64;
        let other_ns = self.clock.local_ns(base_ns + off);
        self.changes.extend(self.series.push(Snapshot { base_ns, other_ns, half_width_ns }));
    }

    /// A stamp at `base_ns`, converted when the base clock shows `now_ns`: its error and what it claims to be known to.
    fn error_ns(&mut self, base_ns: i64, now_ns: i64) -> Result<(i64, i64), Unknown> {
        let stamp = self.clock.local_ns(base_ns);
        let reading = self.series.to_base(stamp, now_ns)?;
        Ok((reading.base_ns - base_ns, reading.uncertainty_ns as i64))
    }
}

fn steered(offset_ns: i64, ppb: i64) -> SimClock {
    SimClock::new(0, Span::from_nanos(offset_ns), Rate::from_ppb(ppb), 0.0, 1)
}

proptest! {
    #[test]
    fn a_steady_clock_is_converted_to_within_its_uncertainty(
        offset_ns in -5 * SECOND..5 * SECOND, ppb in -400_000i64..400_000, seed: u64, at in 100..2 * SECOND,
    ) {
        let mut rig = Rig::new(steered(offset_ns, ppb), 100 * MS, seed);
        (0..=200).for_each(|i| rig.snapshot(i * 10 * MS));
        let (error, claimed) = rig.error_ns(at, at).unwrap();
        prop_assert!(error.abs() <= claimed, "{error} of {claimed}");
        // Nine half widths of 39 ns (its own, and four each of excess and noise), and a tenth for a chord before that is shorter.
        prop_assert!(claimed <= 390, "{claimed}");
        prop_assert_eq!(&rig.changes, &[]);
    }

    #[test]
    fn a_slew_never_moves_a_stamp_beyond_its_uncertainty(
        from in 300 * MS..900 * MS, length in 200 * MS..SECOND, up: bool, seed: u64,
        ats in prop::collection::vec(100..2 * SECOND, 50), spacing in prop::sample::select(vec![MS, 10 * MS, 100 * MS]),
    ) {
        let rate = Rate::from_ppb(if up { 500_000 } else { -500_000 });
        let mut rig = Rig::new(steered(7, 20_000).with_slew(from, from + length, rate), spacing, seed);
        (0..=2 * SECOND / spacing).for_each(|i| rig.snapshot(i * spacing));
        for at in ats {
            let (error, claimed) = rig.error_ns(at, at).unwrap();
            prop_assert!(error.abs() <= claimed, "at {at}: {error} of {claimed}, slewed from {from} for {length}");
        }
        let steps = rig.changes.iter().filter(|change| matches!(change, Change::Step { .. })).count();
        prop_assert_eq!(steps, 0);
        prop_assert!(!rig.changes.is_empty());
    }

    #[test]
    fn a_step_is_reported_once_and_no_stamp_is_taken_across_it(
        step_at in 300 * MS..1_500 * MS, seed: u64, ats in prop::collection::vec(100..2 * SECOND, 50),
        size in prop_oneof![Just(SECOND), Just(-SECOND), Just(MS), Just(-MS), Just(-20 * SECOND)],
    ) {
        let mut rig = Rig::new(steered(-3, -30_000).with_step(step_at, Span::from_nanos(size)), 100 * MS, seed);
        for i in 0..=400 {
            rig.snapshot(i * 5 * MS);
            // Stamps are converted as they come: with the snapshot that follows them.
            for &at in ats.iter().filter(|&&at| at > (i - 1) * 5 * MS && at <= i * 5 * MS) {
                if let Ok((error, claimed)) = rig.error_ns(at, i * 5 * MS) {
                    prop_assert!(error.abs() <= claimed, "at {at}: {error} of {claimed}");
                } else {
                    prop_assert!((at - step_at).abs() <= 5 * MS + size.abs().min(5 * MS), "at {at}");
                }
            }
        }
        let steps: Vec<_> = rig.changes.iter().filter_map(|change| match change {
            Change::Step { base_ns, size_ns } => Some((*base_ns, *size_ns)),
            Change::Rate { .. } => None,
        }).collect();
        prop_assert_eq!(steps.len(), 1);
        prop_assert!((0..=5 * MS).contains(&(steps[0].0 - step_at)), "{:?}", steps[0]);
        prop_assert!((steps[0].1 - size).abs() < 1_000, "{:?}", steps[0]);
    }

    #[test]
    fn no_snapshots_make_it_panic(points in prop::collection::vec(any::<(i64, i64, u64)>(), 0..40), other: i64, now: i64) {
        let mut series = Series::new(100, 8);
        for (base_ns, other_ns, half_width_ns) in points {
            series.push(Snapshot { base_ns, other_ns, half_width_ns });
        }
        let _ = series.to_base(other, now);
        prop_assert!(series.runs().map(|run| run.len()).sum::<usize>() <= 8);
        series.forget();
        prop_assert!(series.runs().count() <= 1);
    }
}

#[test]
fn both_ends_of_a_slew_are_reported_as_changes_of_rate() {
    let slewed = steered(0, 0).with_slew(SECOND, 3 * SECOND, Rate::from_ppb(500_000));
    let mut rig = Rig::new(slewed, 100 * MS, 1);
    (0..=50).for_each(|i| rig.snapshot(i * 100 * MS));
    let by: Vec<i64> =
        rig.changes.iter().map(|change| if let Change::Rate { by_ppb, .. } = change { *by_ppb } else { 0 }).collect();
    assert_eq!(by.iter().filter(|by| (**by - 500_000).abs() < 2_000).count(), 1, "{by:?}");
    assert_eq!(by.iter().filter(|by| (**by + 500_000).abs() < 2_000).count(), 1, "{by:?}");
    assert_eq!(by.len(), 2, "{by:?}");
}

#[test]
fn snapshots_between_give_way_and_old_ones_leave() {
    let mut rig = Rig::new(steered(0, 0), 100 * MS, 2);
    (0..1_000).for_each(|i| rig.snapshot(i * MS));
    assert_eq!(rig.series.runs().next().unwrap().len(), 11);
    let mut small = Rig { series: Series::new(MS, 10), ..Rig::new(steered(0, 0), MS, 3) };
    (0..1_000).for_each(|i| small.snapshot(i * MS));
    assert_eq!(small.error_ns(5 * MS, SECOND), Err(Unknown::Before));
    assert_eq!(small.error_ns(2 * SECOND, SECOND), Err(Unknown::After));
    assert!(small.error_ns(995 * MS, SECOND).is_ok());
}

#[test]
fn a_time_shown_twice_is_taken_for_the_recent_one_or_refused() {
    let back = steered(0, 0).with_step(SECOND, Span::from_nanos(-500 * MS));
    let mut rig = Rig::new(back, 100 * MS, 4);
    (0..=20).for_each(|i| rig.snapshot(i * 100 * MS));
    // 600 ms was shown at 600 ms and again at 1.1 s.
    assert!(rig.error_ns(1_150 * MS, 1_200 * MS).unwrap().0.abs() < 100);
    assert_eq!(rig.series.to_base(650 * MS, 3 * SECOND), Err(Unknown::Twice));
    assert_eq!(rig.series.runs().count(), 2);
}
